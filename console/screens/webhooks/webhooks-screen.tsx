import { useState } from 'preact/hooks';
import type { WebhookRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Empty } from '../../components/empty.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Loading } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { usePages } from '../../data/use-pages.ts';
import { formatCount } from '../../format/amounts.ts';
import { pathOf } from '../../format/ids.ts';
import { CreateWebhookDialog } from './create-webhook-dialog.tsx';

const POLL_MILLISECONDS = 5_000;

/** The webhooks of the card program: where its events are sent, and how that goes. */
export function WebhooksScreen() {
  const { can } = useSession();
  const [isCreating, setCreating] = useState(false);
  const webhooks = usePages((api, options, cursor) => api.webhooks.list({ limit: 50, cursor }, options), {
    pollMilliseconds: POLL_MILLISECONDS,
  });
  return (
    <Page
      title="Webhooks"
      lead="Where the events of this card program are sent."
      actions={
        can('create_webhook') && (
          <Button kind="main" onClick={() => setCreating(true)}>
            Create a webhook
          </Button>
        )
      }
    >
      {webhooks.error !== undefined && <ErrorRecord error={webhooks.error} stale={webhooks.isLoaded} />}
      {!webhooks.isLoaded && webhooks.error === undefined && <Loading />}
      {webhooks.isLoaded && (
        <DataTable
          label="Webhooks"
          rows={webhooks.rows}
          rowKey={(webhook) => webhook.webhook_id}
          href={hrefOf}
          stale={webhooks.stale && webhooks.error !== undefined}
          columns={COLUMNS}
          empty={
            <Empty title="This card program has no webhook">
              {can('create_webhook')
                ? 'Create one to have events sent to a URL, or read them from the list of events.'
                : 'Events can also be read from the list of events.'}
            </Empty>
          }
        />
      )}
      <Pager {...webhooks.pager} />
      {isCreating && <CreateWebhookDialog onClose={() => setCreating(false)} onDone={webhooks.reload} />}
    </Page>
  );
}

function hrefOf({ webhook_id }: WebhookRecord): string {
  return hrefTo(pathOf(webhook_id, 'webhook') ?? '');
}

const COLUMNS: readonly Column<WebhookRecord>[] = [
  {
    title: 'URL',
    cell: (webhook) => (
      <div>
        <a href={hrefOf(webhook)} class="url">
          {webhook.url}
        </a>
        {webhook.description !== null && <div class="quiet">{webhook.description}</div>}
      </div>
    ),
  },
  { title: 'State', cell: ({ status }) => <Badge>{status}</Badge> },
  { title: 'Sends', cell: ({ types }) => (types === null ? 'all events' : types.join(', ')), wideOnly: true },
  { title: 'Waiting', cell: ({ backlog }) => formatCount(backlog), align: 'end' },
  { title: 'Given up', cell: ({ dead }) => formatCount(dead), align: 'end' },
  { title: 'Failing since', cell: ({ failing_since }) => <Moment at={failing_since} distance /> },
  { title: 'Last delivery', cell: ({ last_success_at }) => <Moment at={last_success_at} distance /> },
];
