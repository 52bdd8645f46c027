import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';

export function SandboxScreen() {
  return (
    <Page title="Sandbox">
      <Empty title="Nothing here yet">This screen is under construction.</Empty>
    </Page>
  );
}
