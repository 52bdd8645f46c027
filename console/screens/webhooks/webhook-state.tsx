import type { WebhookRecord } from '../../../sdk/client.ts';
import { Badge } from '../../components/badge.tsx';
import { reasonOf, statusOf } from '../../format/webhooks.ts';

/** The status of a webhook, and its reason. Deliveries follow actual time, even if the clock of a sandbox was moved. */
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
