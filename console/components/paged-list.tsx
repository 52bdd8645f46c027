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
  children,
}: {
  readonly pages: Pages<Row>;
  /** Whether an error has a "Try again" button. */
  readonly canRetry?: boolean;
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
      <Pager {...pager} />
    </>
  );
}

/** Shows one page of a list as a table: `<PagedTable pages={usePages(…)} label="Cards" columns={COLUMNS} … />`. */
export function PagedTable<Row>({
  pages,
  canRetry = false,
  ...table
}: Omit<ComponentProps<typeof DataTable<Row>>, 'rows' | 'stale'> & {
  readonly pages: Pages<Row>;
  readonly canRetry?: boolean;
}) {
  return (
    <PagedList pages={pages} canRetry={canRetry}>
      {(rows, stale) => <DataTable {...table} rows={rows} stale={stale} />}
    </PagedList>
  );
}

function Pager({ page, count, hasNext, loading, onPrevious, onNext }: Pages<unknown>['pager']) {
  if (page === 1 && !hasNext) return null;
  return (
    <nav class="pager" aria-label="Pages">
      <Button onClick={onPrevious} disabled={page === 1 || loading}>
        Newer
      </Button>
      <span role="status">
        Page {page}, {count} {count === 1 ? 'row' : 'rows'}
      </span>
      <Button onClick={onNext} disabled={!hasNext || loading}>
        Older
      </Button>
    </nav>
  );
}
