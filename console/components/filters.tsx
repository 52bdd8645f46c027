import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';

/** The filters of a list, in a row. Their values belong in the URL: `useUrlState`. */
export function Filters({
  children,
  onClear,
}: {
  readonly children: ComponentChildren;
  /** Clears all filters; undefined while none is set. */
  readonly onClear?: (() => void) | undefined;
}) {
  return (
    <search class="filters">
      {children}
      {onClear !== undefined && (
        <Button kind="quiet" onClick={onClear}>
          Clear filters
        </Button>
      )}
    </search>
  );
}
