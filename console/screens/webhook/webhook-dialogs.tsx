import { useState } from 'preact/hooks';
import type { ReplayWebhookBody, UpdateWebhookBody, WebhookRecord } from '../../../sdk/client.ts';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { useAction } from '../../data/use-action.ts';
import { formatCount } from '../../format/amounts.ts';
import { nameOfWebhook } from '../../format/names.ts';
import { toIso } from '../../format/times.ts';

type Parts = { readonly record: WebhookRecord; readonly onClose: () => void };

/** Sends the events of a period again. */
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
      title={`Replay events to ${nameOfWebhook(record)}`}
      confirm="Replay events"
      pending={replay.pending}
      disabled={begin === undefined || end === undefined || isReversed}
      error={replay.error}
      onConfirm={submit}
      onClose={onClose}
    >
      <TextField label="Events from" type="datetime-local" value={from} onInput={setFrom} required />
      <TextField
        label="Until"
        type="datetime-local"
        value={to}
        onInput={setTo}
        required
        problem={isReversed ? 'The period ends before it begins.' : undefined}
        hint="In your time zone; events at this time are not sent."
      />
      <SelectField
        label="Which events"
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
