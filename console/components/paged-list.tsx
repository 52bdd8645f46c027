import type { ComponentChildren, ComponentProps } from 'preact';
import type { Pages } from '../data/use-pages.ts';
import { Button } from './button.tsx';
import { DataTable } from './data-table.tsx';
import { ErrorRecord } from './error-record.tsx';
import { Loading } from './loaded.tsx';

/**
 * Shows one page of a list that `usePages` reads: the error above any older rows, the rows as `children` renders them, and the
 * pager. `<PagedTable>` renders them as a table.
 */
export function PagedList<Row>({
  pages: { rows, isLoaded, error, loading, stale, reload, pager },
  canRetry = false,
  turns,
  children,
}: {
  readonly pages: Pages<Row>;
  /** Whether an error has a "Try again" button. */
  readonly canRetry?: boolean;
  readonly turns?: Turns;
  readonly children: (rows: readonly Row[], stale: boolean) => ComponentChildren;
}) {
  return (
    <>
      {error !== undefined && (
        <ErrorRecord error={error} stale={isLoaded}>
          {canRetry && <Button onClick={reload}>Try again</Button>}
        </ErrorRecord>
      )}
      {/* Without a call there is nothing to wait for. */}
      {!isLoaded && loading && error === undefined && <Loading />}
      {isLoaded && children(rows, stale)}
      <Pager {...pager} turns={turns} />
    </>
  );
}

/** Shows one page of a list as a table: `<PagedTable pages={usePages(…)} label="Cards" columns={COLUMNS} … />`. */
export function PagedTable<Row>({
  pages,
  canRetry = false,
  turns,
  ...table
}: Omit<ComponentProps<typeof DataTable<Row>>, 'rows' | 'stale'> & {
  readonly pages: Pages<Row>;
  readonly canRetry?: boolean;
  readonly turns?: Turns;
}) {
  return (
    <PagedList pages={pages} canRetry={canRetry} turns={turns}>
      {(rows, stale) => <DataTable {...table} rows={rows} stale={stale} />}
    </PagedList>
  );
}

/** The buttons of the pager. A list that is not in the order of time needs others than the default ones. */
type Turns = readonly [previous: string, next: string] | undefined;

function Pager({
  page,
  count,
  hasNext,
  loading,
  turns: [previous, next] = ['Newer', 'Older'],
  onPrevious,
  onNext,
}: Pages<unknown>['pager'] & { readonly turns: Turns }) {
  if (page === 1 && !hasNext) return null;
  return (
    <nav class="pager" aria-label="Pages">
      <Button onClick={onPrevious} disabled={page === 1 || loading}>
        {previous}
      </Button>
      <span role="status">
        Page {page}, {count} {count === 1 ? 'row' : 'rows'}
      </span>
      <Button onClick={onNext} disabled={!hasNext || loading}>
        {next}
      </Button>
    </nav>
  );
}
