import { useState } from 'preact/hooks';
import type {
  ReplayWebhookBody,
  RollWebhookSecretBody,
  UpdateWebhookBody,
  WebhookRecord,
} from '../../../sdk/client.ts';
import { ConfirmDialog, SecretDialog } from '../../components/dialogs/dialog.tsx';
import { SelectField } from '../../components/field.tsx';
import { PeriodPresets, TimeField } from '../../components/time-field.tsx';
import { hrefTo, navigate } from '../../data/location.ts';
import { useAction, useOpened } from '../../data/use-action.ts';
import { formatCount } from '../../format/amounts.ts';
import { nameOfWebhook } from '../../format/names.ts';
import { versionFor } from '../../format/versions.ts';
import { typesIn } from '../../format/webhooks.ts';
import { WebhookFields, type WebhookForm } from '../webhooks/create-webhook-dialog.tsx';

type Parts = { readonly record: WebhookRecord; readonly onClose: () => void };

/** Sends the events of a period again. */
export function ReplayDialog({ record, onClose }: Parts) {
  const [{ from, to }, setPeriod] = useState({ from: '', to: '' });
  const [only, setOnly] = useState<string>('failed');
  const replay = useAction((body: ReplayWebhookBody, api, options) =>
    api.webhooks.replay(record.webhook_id, body, options),
  );
  const isReversed = from !== '' && to !== '' && from >= to;
  const submit = async () => {
    if ((await replay.run({ from, to, only: only === 'all' ? 'all' : 'failed' })) === undefined) return;
    onClose();
  };
  return (
    <ConfirmDialog
      title={`Replay events to ${nameOfWebhook(record)}`}
      confirm="Replay events"
      pending={replay.pending}
      disabled={from === '' || to === '' || isReversed}
      error={replay.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <PeriodPresets onChoose={(period) => setPeriod(period)} />
      <TimeField label="Events from" name="from" value={from} onChange={(at) => setPeriod({ from: at, to })} required />
      <TimeField
        label="Until"
        name="to"
        value={to}
        onChange={(at) => setPeriod({ from, to: at })}
        required
        problem={isReversed ? 'The period ends before it begins.' : undefined}
        hint="Events at this time are not sent."
      />
      <SelectField
        label="Which events"
        name="only"
        value={only}
        onChange={setOnly}
        options={[
          ['failed', 'Undelivered only'],
          ['all', 'All, including delivered ones'],
        ]}
      />
    </ConfirmDialog>
  );
}

export function DisableDialog({ record, onClose }: Parts) {
  const change = useChange(record, onClose);
  return (
    <ConfirmDialog
      title={`Disable ${nameOfWebhook(record)}`}
      confirm="Disable webhook"
      kind="danger"
      pending={change.pending}
      error={change.error}
      onConfirm={() => change.apply({ status: 'disabled' })}
      onClose={onClose}
    >
      <p>
        Nothing is sent to <span class="url">{record.url}</span> until you enable it again. Events are kept in the
        meantime.
        {record.replay?.state === 'running' && ' The running replay is canceled.'}
      </p>
    </ConfirmDialog>
  );
}

/** Asks what to do with the missed events, and enables a webhook. */
export function EnableDialog({ record, onClose }: Parts) {
  const [resume, setResume] = useState<string>('backlog');
  const change = useChange(record, onClose);
  const { backlog } = record;
  return (
    <ConfirmDialog
      title={`Enable ${nameOfWebhook(record)}`}
      confirm="Enable webhook"
      pending={change.pending}
      error={change.error}
      onConfirm={() => change.apply({ status: 'enabled', resume: resume === 'now' ? 'now' : 'backlog' })}
      onClose={onClose}
    >
      <p>
        {backlog === 1 ? '1 event has' : `${formatCount(backlog)} events have`} come in since the last delivery,
        including types that it does not receive.
      </p>
      <SelectField
        label="Missed events"
        name="resume"
        value={resume}
        onChange={setResume}
        options={[
          ['backlog', 'Send'],
          ['now', 'Skip: send new events only'],
        ]}
      />
    </ConfirmDialog>
  );
}

function useChange(record: WebhookRecord, onClose: () => void) {
  // This operation needs no idempotency key: sending it twice changes nothing more.
  const { pending, error, run } = useAction((body: UpdateWebhookBody, api, { idempotencyKey: _, ...options }) =>
    api.webhooks.update(record.webhook_id, body, options),
  );
  const apply = async (body: UpdateWebhookBody) => {
    if ((await run(body)) === undefined) return;
    onClose();
  };
  return { pending, error, apply };
}

type ChangeParts = { readonly record: WebhookRecord; readonly onClose: () => void };

/** Changes where events are sent, and which events. */
export function EditDialog({ record, onClose }: ChangeParts) {
  const before: WebhookForm = {
    url: record.url,
    description: record.description ?? '',
    types: (record.types ?? []).join(' '),
    order: record.order,
  };
  const [fields, setFields] = useState(before);
  const opened = useOpened(record);
  // This operation needs no idempotency key: sending it twice changes nothing more.
  const change = useAction(async (body: UpdateWebhookBody, api, { idempotencyKey: _, ...options }) => {
    const now = await api.webhooks.get(record.webhook_id, options);
    return api.webhooks.update(record.webhook_id, body, { ...options, ifMatch: versionFor(body, opened, now) });
  });
  const changes = changesOf(before, fields);
  const submit = async () => {
    if ((await change.run(changes)) === undefined) return;
    onClose();
  };
  return (
    <ConfirmDialog
      title={`Edit ${nameOfWebhook(record)}`}
      confirm="Save"
      pending={change.pending}
      disabled={fields.url === '' || Object.keys(changes).length === 0}
      error={change.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <WebhookFields value={fields} onChange={setFields} />
    </ConfirmDialog>
  );
}

/** Returns the changed fields. An empty description or list of types is removed. */
function changesOf(before: WebhookForm, after: WebhookForm): UpdateWebhookBody {
  const types = typesIn(after.types);
  return {
    ...(after.url === before.url ? {} : { url: after.url }),
    ...(after.description === before.description ? {} : { description: after.description || null }),
    ...(types.join(' ') === before.types ? {} : { types: types.length === 0 ? null : [...types] }),
    ...(after.order === before.order ? {} : { order: after.order }),
  };
}

const HOUR_MILLISECONDS = 3_600_000;

/** How long the old secret also signs, in hours. */
const OVERLAPS = [
  ['24', 'For 24 hours'],
  ['1', 'For 1 hour'],
  ['0', 'No (it has leaked)'],
] as const;

/** Asks how long the old secret still signs, and shows the new secret once. */
export function RollSecretDialog({ record, onClose }: ChangeParts) {
  const [hours, setHours] = useState('24');
  // Must not change between tries, so that a second click after a lost response sends the same request.
  const [openedAt] = useState(() => Date.now());
  const name = nameOfWebhook(record);
  const roll = useAction((body: RollWebhookSecretBody, api, options) =>
    api.webhooks.rollSecret(record.webhook_id, body, options),
  );
  const submit = () =>
    void roll.run({ previous_until: new Date(openedAt + Number(hours) * HOUR_MILLISECONDS).toISOString() });
  if (roll.result !== undefined) {
    const { secret, secret_omitted: omitted } = roll.result;
    const title = `New secret for ${name}`;
    return <SecretDialog title={title} label="Signs every event" secret={secret} omitted={omitted} onClose={onClose} />;
  }
  return (
    <ConfirmDialog
      title={`Roll the secret of ${name}`}
      confirm="Roll secret"
      pending={roll.pending}
      error={roll.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <p>You get a new secret, shown once. Give it to the receiver while events are still signed with both secrets.</p>
      <SelectField
        label="Keep signing with the old secret"
        name="previous_until"
        value={hours}
        onChange={setHours}
        options={OVERLAPS}
      />
    </ConfirmDialog>
  );
}

export function DeleteDialog({ record, onClose }: ChangeParts) {
  const name = nameOfWebhook(record);
  const remove = useAction((webhookId: string, api, { idempotencyKey: _, ...options }) =>
    api.webhooks.delete(webhookId, options),
  );
  const submit = async () => {
    if ((await remove.run(record.webhook_id)) === undefined) return;
    navigate(hrefTo('/console/webhooks'));
  };
  return (
    <ConfirmDialog
      title={`Delete ${name}`}
      confirm="Delete webhook"
      kind="danger"
      pending={remove.pending}
      error={remove.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <p>
        The service stops sending events to <span class="url">{record.url}</span>, and waiting events are not delivered.
        This cannot be undone. To stop it for a while, disable it instead.
      </p>
    </ConfirmDialog>
  );
}
