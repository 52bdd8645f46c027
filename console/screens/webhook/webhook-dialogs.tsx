import { useState } from 'preact/hooks';
import type { ReplayWebhookBody, UpdateWebhookBody, WebhookRecord } from '../../../sdk/client.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { useAction } from '../../data/use-action.ts';
import { formatCount } from '../../format/amounts.ts';
import { toIso } from '../../format/times.ts';

type Parts = { readonly record: WebhookRecord; readonly onClose: () => void };

/** Asks for a period whose events are sent again. */
export function ReplayDialog({ record, onClose }: Parts) {
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  const [only, setOnly] = useState<string>('failed');
  const replay = useAction((body: ReplayWebhookBody, api, options) =>
    api.webhooks.replay(record.webhook_id, body, options),
  );
  const [begin, end] = [toIso(from), toIso(to)];
  const isReversed = begin !== undefined && end !== undefined && begin >= end;
  const submit = async () => {
    if (begin === undefined || end === undefined) return;
    if ((await replay.run({ from: begin, to: end, only: only === 'all' ? 'all' : 'failed' })) === undefined) return;
    onClose();
  };
  return (
    <ConfirmDialog
      title="Replay a period"
      confirm="Replay"
      pending={replay.pending}
      disabled={begin === undefined || end === undefined || isReversed}
      error={replay.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <TextField label="Events from" type="datetime-local" value={from} onInput={setFrom} required autoFocus />
      <TextField
        label="To"
        type="datetime-local"
        value={to}
        onInput={setTo}
        required
        problem={isReversed ? 'The period ends before it begins.' : undefined}
        hint="In your time zone; events at this time are no longer sent."
      />
      <SelectField
        label="Which"
        value={only}
        onChange={setOnly}
        options={[
          ['failed', 'those that were given up'],
          ['all', 'all, also those that were delivered'],
        ]}
      />
    </ConfirmDialog>
  );
}

/** Asks before nothing is sent any more. */
export function DisableDialog({ record, onClose }: Parts) {
  const change = useChange(record, onClose);
  return (
    <ConfirmDialog
      title="Disable the webhook"
      confirm="Disable it"
      kind="danger"
      pending={change.pending}
      error={change.error}
      onConfirm={() => change.apply({ status: 'disabled' })}
      onClose={onClose}
    >
      <p>
        Nothing is sent to <span class="url">{record.url}</span> until it is enabled again. Events are kept meanwhile.
        {record.replay?.state === 'running' && ' The replay that is running is canceled.'}
      </p>
    </ConfirmDialog>
  );
}

/** Asks what becomes of the events that have come in the meantime. */
export function EnableDialog({ record, onClose }: Parts) {
  const [resume, setResume] = useState<string>('backlog');
  const change = useChange(record, onClose);
  return (
    <ConfirmDialog
      title="Enable the webhook"
      confirm="Enable it"
      pending={change.pending}
      error={change.error}
      onConfirm={() => change.apply({ status: 'enabled', resume: resume === 'now' ? 'now' : 'backlog' })}
      onClose={onClose}
    >
      <p>
        {formatCount(record.backlog)} events have come since its position, including those that it does not ask for.
      </p>
      <SelectField
        label="Events of the meantime"
        value={resume}
        onChange={setResume}
        options={[
          ['backlog', 'are sent'],
          ['now', 'are given up: only new ones are sent'],
        ]}
      />
    </ConfirmDialog>
  );
}

function useChange(record: WebhookRecord, onClose: () => void) {
  // A change of a webhook takes no idempotency key: sent twice, it changes nothing more.
  const { pending, error, run } = useAction((body: UpdateWebhookBody, api, { idempotencyKey: _, ...options }) =>
    api.webhooks.update(record.webhook_id, body, options),
  );
  const apply = async (body: UpdateWebhookBody) => {
    if ((await run(body)) === undefined) return;
    onClose();
  };
  return { pending, error, apply };
}
