import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import type { Parameters } from '../../data/parameters.ts';

export function ProgramScreen({ parameters }: { readonly parameters: Parameters }) {
  return (
    <Page title="Program">
      <Empty title={parameters.program_id ?? ''}>This screen is under construction.</Empty>
    </Page>
  );
}
