import type { ResolveCaseBody } from '../../../sdk/client.ts';
import { ConfirmDialog } from '../../components/dialogs/dialog.tsx';
import { ResolutionFields, useResolution } from '../../components/support/resolution-fields.tsx';
import { useAction } from '../../data/use-action.ts';
import type { ShownCase } from './use-case.ts';

type Parts = {
  readonly record: ShownCase;
  /** Receives what was done, in words. */
  readonly onDone: (text: string) => void;
  readonly onClose: () => void;
};

/** Asks for the findings and the outcome. */
export function ResolveDialog({ record: { case_id: id, incident_id: incidentId }, onDone, onClose }: Parts) {
  const { fields, setFields, body } = useResolution();
  const resolve = useAction((sent: ResolveCaseBody, api, options) => api.cases.resolve(id, sent, options), {
    operation: `resolve_case ${id}`,
  });
  const confirm = async () => {
    if (body !== undefined && (await resolve.run(body)) !== undefined) onDone('Resolved. The caller is told.');
  };
  return (
    <ConfirmDialog
      title="Resolve the case"
      confirm="Resolve the case"
      pending={resolve.pending}
      disabled={body === undefined}
      error={resolve.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      {incidentId !== null && <p>It belongs to an incident, and would be resolved with it.</p>}
      <ResolutionFields fields={fields} onChange={setFields} />
    </ConfirmDialog>
  );
}

/** Asks before a case is closed. */
export function CloseDialog({ record: { case_id: id, status }, onDone, onClose }: Parts) {
  const close = useAction((_: { readonly id: string }, api, options) => api.cases.close(id, options));
  const confirm = async () => {
    if ((await close.run({ id })) !== undefined) onDone('Closed.');
  };
  return (
    <ConfirmDialog
      title="Close the case"
      confirm="Close the case"
      kind="danger"
      pending={close.pending}
      error={close.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>
        {status === 'resolved' ? '' : 'It was not resolved. '}Nobody can write in it any more; this cannot be undone.
      </p>
    </ConfirmDialog>
  );
}
