import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';

export function ErrorsScreen() {
  return (
    <Page title="Errors">
      <Empty title="Nothing here yet">This screen is under construction.</Empty>
    </Page>
  );
}
