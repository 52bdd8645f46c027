import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';

export function CardsScreen() {
  return (
    <Page title="Cards">
      <Empty title="Nothing here yet">This screen is under construction.</Empty>
    </Page>
  );
}
