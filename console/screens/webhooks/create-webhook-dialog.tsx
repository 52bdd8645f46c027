import { useState } from 'preact/hooks';
import type { CreateWebhookBody } from '../../../sdk/client.ts';
import { ConfirmDialog, SecretDialog } from '../../components/dialogs/dialog.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { useAction } from '../../data/use-action.ts';
import { typesIn } from '../../format/webhooks.ts';

/** Asks for a URL and the events to send there, and shows the signing secret once. */
export function CreateWebhookDialog({
  onClose,
  onDone,
}: {
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [fields, setFields] = useState<WebhookForm>({ url: '', description: '', types: '', order: 'parallel' });
  const create = useAction((body: CreateWebhookBody, api, options) => api.webhooks.create(body, options), {
    operation: 'create_webhook',
  });
  const submit = async () => {
    const { url, description, order } = fields;
    const types = typesIn(fields.types);
    const made = await create.run({
      url,
      order,
      ...(description === '' ? {} : { description }),
      ...(types.length === 0 ? {} : { types: [...types] }),
    });
    if (made !== undefined) onDone();
  };
  if (create.result !== undefined) {
    const { secret, secret_omitted: omitted } = create.result;
    const title = 'Signing secret';
    return <SecretDialog title={title} label="Signs every event" secret={secret} omitted={omitted} onClose={onClose} />;
  }
  return (
    <ConfirmDialog
      title="Create a webhook"
      confirm="Create webhook"
      pending={create.pending}
      disabled={fields.url === ''}
      error={create.error}
      onConfirm={() => void submit()}
      onClose={onClose}
    >
      <WebhookFields value={fields} onChange={setFields} />
    </ConfirmDialog>
  );
}

export type WebhookForm = {
  readonly url: string;
  readonly description: string;
  /** Types and groups, separated by spaces or commas. Empty for all. */
  readonly types: string;
  readonly order: 'parallel' | 'strict';
};

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
        name="url"
        type="url"
        value={url}
        onInput={(typed) => onChange({ ...value, url: typed })}
        required
        hint="Receives each event by POST."
      />
      <TextField
        label="Description"
        name="description"
        value={description}
        onInput={(typed) => onChange({ ...value, description: typed })}
        hint="Optional. The name that the console shows, such as Order system."
      />
      <TextField
        label="Events"
        name="types"
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
        name="order"
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
