import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import type { Parameters } from '../../data/parameters.ts';

export function WebhookScreen({ parameters }: { readonly parameters: Parameters }) {
  return (
    <Page title="Webhook">
      <Empty title={parameters.webhook_id ?? ''}>This screen is under construction.</Empty>
    </Page>
  );
}
