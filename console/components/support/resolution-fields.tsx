import { useState } from 'preact/hooks';
import type { ResolveCaseBody } from '../../../sdk/client.ts';
import { OUTCOMES } from '../../format/support/cases.ts';
import { AreaField, SelectField } from '../field.tsx';

type Fields = { readonly text: string; readonly outcome: string };

/** The resolution of a case or an incident: its fields, and the body of the request once both are filled in. */
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
        value={fields.text}
        onInput={(text) => onChange({ ...fields, text })}
        isProse
        hint="The caller reads it. Plain text."
      />
      <SelectField
        label="Outcome"
        value={fields.outcome}
        onChange={(outcome) => onChange({ ...fields, outcome })}
        options={[['', 'Choose the outcome'], ...Object.entries(OUTCOMES)]}
      />
    </>
  );
}
