import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import type { Parameters } from '../../data/parameters.ts';

export function CardScreen({ parameters }: { readonly parameters: Parameters }) {
  return (
    <Page title="Card">
      <Empty title={parameters.card_id ?? ''}>This screen is under construction.</Empty>
    </Page>
  );
}
