import { useState } from 'preact/hooks';
import type { CreateWebhookBody } from '../../../sdk/client.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { SecretDialog } from '../../components/secret-dialog.tsx';
import { useAction } from '../../data/use-action.ts';

/** Asks for a URL and what to send there, and shows the secret that signs once. */
export function CreateWebhookDialog({
  onClose,
  onDone,
}: {
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [url, setUrl] = useState('');
  const [description, setDescription] = useState('');
  const [types, setTypes] = useState('');
  const [order, setOrder] = useState('parallel');
  const create = useAction((body: CreateWebhookBody, api, options) => api.webhooks.create(body, options));
  const submit = async (event: Event) => {
    event.preventDefault();
    const named = types.split(/[\s,]+/).filter((type) => type !== '');
    const made = await create.run({
      url,
      order: order === 'strict' ? 'strict' : 'parallel',
      ...(description === '' ? {} : { description }),
      ...(named.length === 0 ? {} : { types: named }),
    });
    if (made !== undefined) onDone();
  };
  if (create.result !== undefined) {
    const { secret, secret_omitted: omitted } = create.result;
    const title = 'The secret of the webhook';
    return (
      <SecretDialog title={title} label="It signs every event" secret={secret} omitted={omitted} onClose={onClose} />
    );
  }
  return (
    <Dialog title="Create a webhook" onClose={onClose}>
      <form onSubmit={submit}>
        <TextField
          label="URL"
          type="url"
          value={url}
          onInput={setUrl}
          required
          autoFocus
          hint="Gets each event by POST."
        />
        <TextField
          label="Description"
          value={description}
          onInput={setDescription}
          hint="What it is for; may be empty."
        />
        <TextField
          label="Events"
          value={types}
          onInput={setTypes}
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
          onChange={setOrder}
          options={[
            ['parallel', 'parallel: several at once, the fastest'],
            ['strict', 'strict: one after the other'],
          ]}
        />
        {create.error !== undefined && <ErrorRecord error={create.error} />}
        <footer class="dialog-actions">
          <Button type="submit" kind="main" pending={create.pending} disabled={url === ''}>
            Create the webhook
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </footer>
      </form>
    </Dialog>
  );
}
