import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';

export function SearchScreen() {
  return (
    <Page title="Search">
      <Empty title="Nothing here yet">This screen is under construction.</Empty>
    </Page>
  );
}
