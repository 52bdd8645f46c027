import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';

export function ExplainScreen() {
  return (
    <Page title="Explain">
      <Empty title="Nothing here yet">This screen is under construction.</Empty>
    </Page>
  );
}
