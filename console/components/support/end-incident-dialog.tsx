import type { IncidentRecord, ResolveIncidentBody } from '../../../sdk/client.ts';
import { useAction } from '../../data/use-action.ts';
import { ConfirmDialog } from '../dialogs/dialog.tsx';
import { ResolutionFields, useResolution } from './resolution-fields.tsx';

/** Ends an incident, and with it all its cases. */
export function EndIncidentDialog({
  incident: { incident_id: id, title },
  onDone,
  onClose,
}: {
  readonly incident: Pick<IncidentRecord, 'incident_id' | 'title'>;
  /** Receives what was done, in words. */
  readonly onDone: (text: string) => void;
  readonly onClose: () => void;
}) {
  const { fields, setFields, body } = useResolution();
  const resolve = useAction((sent: ResolveIncidentBody, api, options) => api.incidents.resolve(id, sent, options), {
    operation: `resolve_incident ${id}`,
  });
  const confirm = async () => {
    if (body !== undefined && (await resolve.run(body)) !== undefined) onDone(`Ended: ${title}. Its callers are told.`);
  };
  return (
    <ConfirmDialog
      title={`End “${title}”`}
      confirm="End the incident"
      pending={resolve.pending}
      disabled={body === undefined}
      error={resolve.error}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <p>All its open cases are resolved with this text, and each caller is told.</p>
      <ResolutionFields fields={fields} onChange={setFields} />
    </ConfirmDialog>
  );
}
