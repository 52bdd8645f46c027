import type { ComponentChildren } from 'preact';
import { Button } from './button.tsx';

/** The filters of a list, in a row. Their values belong in the URL: `useUrlState`. */
export function Filters({
  children,
  onClear,
}: {
  readonly children: ComponentChildren;
  /** Takes all filters away; undefined while there is none. */
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
