import type { WebhookRecord } from '../../sdk/client.ts';
import { reasonOf, statusOf } from '../format/webhooks.ts';
import { Badge } from './badge.tsx';

/** Shows the status of a webhook and its reason. Deliveries use the real time, even if a sandbox's clock was moved. */
export function WebhookState({ webhook }: { readonly webhook: WebhookRecord }) {
  const status = statusOf(webhook);
  const reason = reasonOf(webhook, Date.now());
  return (
    <span class="webhook-state">
      <Badge tone={status === 'failing' ? 'waiting' : undefined}>{status}</Badge>
      {reason !== undefined && <span>{status === 'failing' ? `: ${reason}` : ` ${reason}`}</span>}
    </span>
  );
}
