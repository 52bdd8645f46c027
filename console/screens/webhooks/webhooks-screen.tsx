import { useState } from 'preact/hooks';
import type { WebhookRecord } from '../../../sdk/client.ts';
import { Button, WhoMay } from '../../components/button.tsx';
import type { Column } from '../../components/data-table.tsx';
import { Empty } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page } from '../../components/page.tsx';
import { PagedTable } from '../../components/paged-list.tsx';
import { WebhookState } from '../../components/webhook-state.tsx';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { usePages } from '../../data/use-pages.ts';
import { useAskedDialog } from '../../data/use-url-state.ts';
import { formatCount } from '../../format/amounts.ts';
import { pathOf } from '../../format/ids.ts';
import { nameOfWebhook } from '../../format/names.ts';
import { CreateWebhookDialog } from './create-webhook-dialog.tsx';

const POLL_MILLISECONDS = 5_000;

/** Lists the webhooks of the card program, with their URLs and whether their deliveries succeed. */
export function WebhooksScreen() {
  const { can } = useSession();
  const [isCreating, setCreating] = useState(false);
  useAskedDialog((asked) => setCreating(asked === 'create' && can('create_webhook')));
  const webhooks = usePages((api, options, cursor) => api.webhooks.list({ limit: 50, cursor }, options), {
    pollMilliseconds: POLL_MILLISECONDS,
  });
  return (
    <Page
      title="Webhooks"
      lead="URLs that receive this card program's events."
      actions={
        can('create_webhook') && (
          <Button kind="main" onClick={() => setCreating(true)}>
            Create a webhook
          </Button>
        )
      }
    >
      <PagedTable
        pages={webhooks}
        label="Webhooks"
        rowKey={(webhook) => webhook.webhook_id}
        href={hrefOf}
        columns={COLUMNS}
        empty={
          <Empty title="No webhooks yet">
            {can('create_webhook') && 'Create one to have events sent to a URL. '}
            <a href="/guides/events">Events can also be read from a list.</a>
          </Empty>
        }
      />
      <WhoMay operation="create_webhook" to="create a webhook" />
      {isCreating && <CreateWebhookDialog onClose={() => setCreating(false)} onDone={webhooks.reload} />}
    </Page>
  );
}

function hrefOf({ webhook_id }: WebhookRecord): string {
  return hrefTo(pathOf(webhook_id, 'webhook') ?? '');
}

const COLUMNS: readonly Column<WebhookRecord>[] = [
  {
    title: 'Webhook',
    onPhone: 'title',
    cell: (webhook) => (
      <div>
        <a href={hrefOf(webhook)} class="url" title={webhook.webhook_id}>
          {nameOfWebhook(webhook)}
        </a>
        {webhook.description !== null && <div class="quiet url">{webhook.url}</div>}
      </div>
    ),
  },
  { title: 'State', onPhone: 'note', cell: (webhook) => <WebhookState webhook={webhook} /> },
  {
    title: 'Sends',
    optional: 'shown',
    cell: ({ types }) => (types === null ? <span class="unbroken">all events</span> : types.join(', ')),
  },
  { title: 'Waiting', align: 'end', optional: 'shown', cell: ({ backlog }) => formatCount(backlog) },
  { title: 'Undelivered', align: 'end', optional: 'shown', cell: ({ dead }) => formatCount(dead) },
  {
    title: 'Last delivery',
    onPhone: 'value',
    cell: ({ last_success_at }) =>
      last_success_at === null ? (
        <span class="quiet unbroken">nothing sent yet</span>
      ) : (
        <Moment at={last_success_at} short actual />
      ),
  },
];
