import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';

export function KeysScreen() {
  return (
    <Page title="Keys and sessions">
      <Empty title="Nothing here yet">This screen is under construction.</Empty>
    </Page>
  );
}
