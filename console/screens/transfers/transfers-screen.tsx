import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';

export function TransfersScreen() {
  return (
    <Page title="Transfers">
      <Empty title="Nothing here yet">This screen is under construction.</Empty>
    </Page>
  );
}
