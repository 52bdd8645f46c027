import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';

export function OverviewScreen() {
  return (
    <Page title="Overview">
      <Empty title="Nothing here yet">This screen is under construction.</Empty>
    </Page>
  );
}
