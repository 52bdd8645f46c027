import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';

export function AuditScreen() {
  return (
    <Page title="Audit">
      <Empty title="Nothing here yet">This screen is under construction.</Empty>
    </Page>
  );
}
