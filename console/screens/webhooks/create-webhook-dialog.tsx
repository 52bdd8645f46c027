import { useState } from 'preact/hooks';
import type { CreateWebhookBody } from '../../../sdk/client.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialogs/dialog.tsx';
import { SecretDialog } from '../../components/dialogs/secret-dialog.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { useAction } from '../../data/use-action.ts';
import { typesIn } from '../../format/webhooks.ts';
import { WebhookFields, type WebhookForm } from './webhook-fields.tsx';

/** Asks for a URL and what to send there, and shows the signing secret once. */
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
  const submit = async (event: Event) => {
    event.preventDefault();
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
    <Dialog title="Create a webhook" onClose={onClose} pending={create.pending}>
      <form onSubmit={submit}>
        <WebhookFields value={fields} onChange={setFields} />
        {create.error !== undefined && <ErrorRecord error={create.error} />}
        <footer class="dialog-actions">
          <Button type="submit" kind="main" pending={create.pending} disabled={fields.url === ''}>
            Create webhook
          </Button>
          <Button onClick={onClose} disabled={create.pending}>
            Cancel
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
