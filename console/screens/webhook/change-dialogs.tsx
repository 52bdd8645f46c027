import { useState } from 'preact/hooks';
import type { RollWebhookSecretBody, UpdateWebhookBody, WebhookRecord } from '../../../sdk/client.ts';
import { ConfirmDialog, SecretDialog } from '../../components/dialogs/dialog.tsx';
import { SelectField } from '../../components/field.tsx';
import { hrefTo, navigate } from '../../data/location.ts';
import { useAction, useOpened } from '../../data/use-action.ts';
import { nameOfWebhook } from '../../format/names.ts';
import { versionFor } from '../../format/versions.ts';
import { typesIn } from '../../format/webhooks.ts';
import { WebhookFields, type WebhookForm } from '../webhooks/create-webhook-dialog.tsx';

type Parts = { readonly record: WebhookRecord; readonly onClose: () => void };

/** Changes where events are sent, and which events. */
export function EditDialog({ record, onClose }: Parts) {
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
export function RollSecretDialog({ record, onClose }: Parts) {
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
    const title = `New secret of ${name}`;
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
      <SelectField label="Keep signing with the old secret" value={hours} onChange={setHours} options={OVERLAPS} />
    </ConfirmDialog>
  );
}

export function DeleteDialog({ record, onClose }: Parts) {
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
