import { useState } from 'preact/hooks';
import type { IncidentRecord, ResolveCaseBody, ResolveIncidentBody } from '../../../sdk/client.ts';
import { useAction } from '../../data/use-action.ts';
import { OUTCOMES } from '../../format/support/cases.ts';
import { ConfirmDialog } from '../dialogs/dialog.tsx';
import { AreaField, SelectField } from '../field.tsx';

type Fields = { readonly text: string; readonly outcome: string };

/** Returns the fields of a resolution, and the body of the request once all of them are filled in. */
export function useResolution() {
  const [fields, setFields] = useState<Fields>({ text: '', outcome: '' });
  const text = fields.text.trim();
  const outcome = (Object.keys(OUTCOMES) as ResolveCaseBody['outcome'][]).find((known) => known === fields.outcome);
  const body: ResolveCaseBody | undefined = text === '' || outcome === undefined ? undefined : { text, outcome };
  return { fields, setFields, body };
}

/** Asks for the findings and the outcome. */
export function ResolutionFields({
  fields,
  onChange,
}: {
  readonly fields: Fields;
  readonly onChange: (fields: Fields) => void;
}) {
  return (
    <>
      <AreaField
        label="What was found and done"
        name="text"
        value={fields.text}
        onInput={(text) => onChange({ ...fields, text })}
        isProse
        hint="The caller can read it. Plain text."
      />
      <SelectField
        label="Outcome"
        name="outcome"
        value={fields.outcome}
        onChange={(outcome) => onChange({ ...fields, outcome })}
        options={[['', 'Choose the outcome'], ...Object.entries(OUTCOMES)]}
      />
    </>
  );
}

/** Ends an incident, which resolves all its cases. */
export function EndIncidentDialog({
  incident: { incident_id: id, title },
  onDone,
  onClose,
}: {
  readonly incident: Pick<IncidentRecord, 'incident_id' | 'title'>;
  readonly onDone: (text: string) => void;
  readonly onClose: () => void;
}) {
  const { fields, setFields, body } = useResolution();
  const resolve = useAction((sent: ResolveIncidentBody, api, options) => api.incidents.resolve(id, sent, options), {
    operation: `resolve_incident ${id}`,
  });
  const confirm = async () => {
    if (body !== undefined && (await resolve.run(body)) !== undefined)
      onDone(`Ended: ${title}. The affected callers are notified.`);
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
      <p>All its open cases are resolved with this text, and each caller is notified.</p>
      <ResolutionFields fields={fields} onChange={setFields} />
    </ConfirmDialog>
  );
}
