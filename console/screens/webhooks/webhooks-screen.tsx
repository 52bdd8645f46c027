import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';

export function WebhooksScreen() {
  return (
    <Page title="Webhooks">
      <Empty title="Nothing here yet">This screen is under construction.</Empty>
    </Page>
  );
}
