import type { ComponentChildren } from 'preact';
import { navigate } from '../data/location.ts';

export type Column<Row> = {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** `end` aligns the digits of amounts and counts. */
  readonly align?: 'end';
  /** Whether narrow screens hide it. */
  readonly wideOnly?: boolean;
  /**
   * Where a phone shows the column. If any column has this, each row has two lines, with the title and the value above
   * the notes, and columns without it are hidden.
   */
  readonly onPhone?: 'title' | 'value' | 'note';
};

/**
 * A dense table. `j` and `k` move through the rows of a page, and Enter opens a row. On a phone each row becomes two lines, or
 * a block of names and values. `href` is the page that a row opens. Put the same link into the first column for people who use
 * Tab.
 */
export function DataTable<Row>({
  label,
  columns,
  rows,
  rowKey,
  href,
  stale = false,
  empty,
}: {
  /** The name of the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  readonly href?: ((row: Row) => string | undefined) | undefined;
  readonly stale?: boolean;
  /** Shown instead of a table without rows. */
  readonly empty?: ComponentChildren;
}) {
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  const hasTwoLines = columns.some(({ onPhone }) => onPhone !== undefined);
  const classOf = ({ align, wideOnly, onPhone }: Column<Row>) => {
    const isWideOnly = hasTwoLines ? onPhone === undefined : wideOnly;
    return (
      [align === 'end' && 'end', isWideOnly && 'wide-only', onPhone && `phone-${onPhone}`].filter(Boolean).join(' ') ||
      undefined
    );
  };
  return (
    <div class={stale ? 'table-scroll stale' : 'table-scroll'}>
      <table class={hasTwoLines ? 'table two-lines' : 'table'} aria-label={label} role="table">
        <thead>
          <tr role="row">
            {columns.map((column) => (
              <th key={column.title} scope="col" role="columnheader" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const target = href?.(row);
            return (
              <tr
                key={rowKey(row)}
                role="row"
                tabIndex={-1}
                data-row={target ?? ''}
                class={target === undefined ? undefined : 'opens'}
                onClick={target === undefined ? undefined : (event) => openRow(event, target)}
              >
                {columns.map((column) => (
                  <td key={column.title} role="cell" data-title={column.title} class={classOf(column)}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Opens the clicked row, unless the click was on a control in the row or has selected text. */
function openRow(event: MouseEvent, target: string): void {
  const on = event.target instanceof Element ? event.target.closest('a, button, input, summary') : null;
  if (on !== null || String(window.getSelection()) !== '' || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey) window.open(target, '_blank', 'noopener');
  else navigate(target);
}
