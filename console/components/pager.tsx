import { Button } from './button.tsx';

/** Goes to the next and the previous page of a list: see `usePages`. */
export function Pager({
  page,
  count,
  hasNext,
  loading = false,
  onPrevious,
  onNext,
}: {
  /** The number of the page, from 1. */
  readonly page: number;
  /** The rows on this page. */
  readonly count: number;
  readonly hasNext: boolean;
  readonly loading?: boolean;
  readonly onPrevious: () => void;
  readonly onNext: () => void;
}) {
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
