import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';

export function SwitchScreen() {
  return (
    <Page title="Switch">
      <Empty title="Nothing here yet">This screen is under construction.</Empty>
    </Page>
  );
}
