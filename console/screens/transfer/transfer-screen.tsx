import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import type { Parameters } from '../../data/parameters.ts';

export function TransferScreen({ parameters }: { readonly parameters: Parameters }) {
  return (
    <Page title="Transfer">
      <Empty title={parameters.transfer_id ?? ''}>This screen is under construction.</Empty>
    </Page>
  );
}
