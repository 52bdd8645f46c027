import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import type { Parameters } from '../../data/parameters.ts';

export function RequestScreen({ parameters }: { readonly parameters: Parameters }) {
  return (
    <Page title="Request">
      <Empty title={parameters.request_id ?? ''}>This screen is under construction.</Empty>
    </Page>
  );
}
