import { useState } from 'preact/hooks';
import type { WebhookRecord } from '../../../sdk/client.ts';
import { Button } from '../../components/button.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Empty } from '../../components/empty.tsx';
import { ErrorRecord } from '../../components/error-record.tsx';
import { Loading } from '../../components/loaded.tsx';
import { Moment } from '../../components/moment.tsx';
import { Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { WhoMay } from '../../components/who-may.tsx';
import { hrefTo } from '../../data/location.ts';
import { useSession } from '../../data/session.ts';
import { usePages } from '../../data/use-pages.ts';
import { formatCount } from '../../format/amounts.ts';
import { pathOf } from '../../format/ids.ts';
import { nameOfWebhook } from '../../format/names.ts';
import { CreateWebhookDialog } from './create-webhook-dialog.tsx';
import { WebhookState } from './webhook-state.tsx';

const POLL_MILLISECONDS = 5_000;

/** The webhooks of the card program: where its events are sent, and whether that works. */
export function WebhooksScreen() {
  const { can } = useSession();
  const [isCreating, setCreating] = useState(false);
  const webhooks = usePages((api, options, cursor) => api.webhooks.list({ limit: 50, cursor }, options), {
    pollMilliseconds: POLL_MILLISECONDS,
  });
  return (
    <Page
      title="Webhooks"
      lead="Where this card program's events are sent."
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
            <Empty title="No webhooks yet">
              {can('create_webhook')
                ? 'Create one to have events sent to a URL, or read them from the list of events.'
                : 'Events can also be read from the list of events.'}
            </Empty>
          }
        />
      )}
      <Pager {...webhooks.pager} />
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
  { title: 'Sends', cell: ({ types }) => (types === null ? 'all events' : types.join(', ')) },
  { title: 'Waiting', align: 'end', cell: ({ backlog }) => formatCount(backlog) },
  { title: 'Undelivered', align: 'end', cell: ({ dead }) => formatCount(dead) },
  {
    title: 'Last delivery',
    onPhone: 'value',
    cell: ({ last_success_at }) =>
      last_success_at === null ? <span class="quiet">none yet</span> : <Moment at={last_success_at} distance actual />,
  },
];
