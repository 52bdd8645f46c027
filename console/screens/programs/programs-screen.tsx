import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';

export function ProgramsScreen() {
  return (
    <Page title="Programs and funding">
      <Empty title="Nothing here yet">This screen is under construction.</Empty>
    </Page>
  );
}
