import { useState } from 'preact/hooks';
import type { ProcessorAttemptRecord, ResolveAttemptBody } from '../../../sdk/client.ts';
import { useAction } from '../../data/use-action.ts';
import { effectOf, nameOfKind, orderOf, type Resolution, resolvedText } from '../../format/operators/processors.ts';
import { ApprovalNotice } from '../approval.tsx';
import { AreaField, SelectField } from '../field.tsx';
import { Moment } from '../moment.tsx';
import { ConfirmDialog } from './dialog.tsx';

/** Asks what the processor did, and shows what that does to the money, before it ends an attempt. */
export function ResolveDialog({
  attempt,
  onDone,
  onClose,
}: {
  readonly attempt: ProcessorAttemptRecord;
  /** Receives a sentence that says what was done. */
  readonly onDone: (text: string) => void;
  readonly onClose: () => void;
}) {
  const { attempt_id: id, connector_id: connector, unknown_since: since, processor_reference: reference } = attempt;
  const [chosen, setChosen] = useState('');
  const [note, setNote] = useState('');
  const outcome = (['executed', 'not_executed'] as const).find((known) => known === chosen);
  const isReady = outcome !== undefined && note.trim() !== '';
  const resolve = useAction((body: ResolveAttemptBody, api, options) => api.attempts.resolve(id, body, options), {
    operation: `resolve_attempt ${id}`,
  });
  const confirm = async () => {
    if (outcome === undefined) return;
    const resolved = await resolve.run({ outcome, note: note.trim() });
    if (resolved !== undefined) onDone(resolvedText(resolved));
  };
  const order = orderOf(attempt);
  return (
    <ConfirmDialog
      title={`Resolve the ${order}`}
      confirm={confirmText(attempt, outcome)}
      kind="danger"
      pending={resolve.pending}
      disabled={!isReady}
      error={resolve.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>
        Ask the processor behind {connector} first. The order has the attempt id <code>{id}</code>
        {reference !== null && (
          <>
            , and by its own reference <code>{reference}</code>
          </>
        )}
        .
        {since !== null && (
          <>
            {' '}
            The outcome has been unknown since <Moment at={since} />.
          </>
        )}
      </p>
      <ApprovalNotice operation="resolve_attempt" />
      <SelectField
        label="What the processor did"
        name="outcome"
        value={chosen}
        onChange={setChosen}
        options={[
          ['', 'Choose its answer'],
          ['executed', 'It carried out the order'],
          ['not_executed', 'It did not carry out the order, and will not'],
        ]}
      />
      <dl class="details">
        <div>
          <dt>If it did</dt>
          <dd>{effectOf(attempt, 'executed')}</dd>
        </div>
        <div>
          <dt>If it did not</dt>
          <dd>{effectOf(attempt, 'not_executed')}</dd>
        </div>
      </dl>
      <p>Neither outcome can be undone.</p>
      <AreaField
        label="How you know"
        name="note"
        value={note}
        onInput={setNote}
        isProse
        rows={3}
        hint="Who you asked, and their answer. For operators and the audit log."
      />
    </ConfirmDialog>
  );
}

function confirmText(attempt: ProcessorAttemptRecord, outcome: Resolution | undefined): string {
  if (outcome === undefined) return 'Resolve';
  return `${outcome === 'executed' ? 'Complete' : 'Fail'} the ${nameOfKind(attempt.kind)}`;
}
