import { SelectField, TextField } from '../../components/field.tsx';

/** The values of the form for a webhook. */
export type WebhookForm = {
  readonly url: string;
  readonly description: string;
  /** Types and groups, separated by spaces or commas; empty for all. */
  readonly types: string;
  readonly order: 'parallel' | 'strict';
};

/** The fields of a webhook that is created or changed. */
export function WebhookFields({
  value,
  onChange,
}: {
  readonly value: WebhookForm;
  readonly onChange: (value: WebhookForm) => void;
}) {
  const { url, description, types, order } = value;
  return (
    <>
      <TextField
        label="URL"
        type="url"
        value={url}
        onInput={(typed) => onChange({ ...value, url: typed })}
        required
        hint="Receives each event by POST."
      />
      <TextField
        label="Description"
        value={description}
        onInput={(typed) => onChange({ ...value, description: typed })}
        hint="Its name here, such as Order system. Optional."
      />
      <TextField
        label="Events"
        value={types}
        onInput={(typed) => onChange({ ...value, types: typed })}
        placeholder="transfer.* card.created"
        hint={
          <>
            <a href="/events">Types or groups</a>, separated by spaces; empty for all.
          </>
        }
      />
      <SelectField
        label="Order"
        value={order}
        onChange={(chosen) => onChange({ ...value, order: chosen === 'strict' ? 'strict' : 'parallel' })}
        options={[
          ['parallel', 'Parallel: several at once, fastest'],
          ['strict', 'Strict: one after another'],
        ]}
      />
    </>
  );
}
