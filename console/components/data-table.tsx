import { Columns3 } from 'lucide-preact';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { parseJson } from '../../sdk/generated/parse-json.ts';
import { navigate } from '../data/location.ts';
import { Button } from './button.tsx';
import { CheckField } from './field.tsx';

export type Column<Row> = {
  readonly title: string;
  /** Nothing (null, false or an empty text) if the row has no value. A column without values is hidden. */
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
  /** Set it if users can hide or show the column. It says whether the column is shown by default. */
  readonly optional?: 'shown' | 'hidden';
  /** Whether to cut a long text at the end of one line. The tooltip and the selected row show the whole text. */
  readonly oneLine?: true;
};

/**
 * A dense table. `j` and `k` move through the rows of a page, and Enter opens a row. On a phone each row becomes two lines, or
 * a block of names and values. `href` is the page that a row opens. Put the same link into the first column for people who use
 * Tab. The head stays below the top bar, and the browser keeps the user's choice of optional columns under `label`.
 */
export function DataTable<Row>({
  label,
  columns: all,
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
  const { columns, menu } = useColumns(label, all, rows);
  const box = useOverflow();
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  const hasTwoLines = columns.some(({ onPhone }) => onPhone !== undefined);
  const classOf = ({ align, wideOnly, onPhone, oneLine }: Column<Row>) => {
    const isWideOnly = hasTwoLines ? onPhone === undefined : wideOnly;
    return (
      [align === 'end' && 'end', isWideOnly && 'wide-only', onPhone && `phone-${onPhone}`, oneLine && 'one-line']
        .filter(Boolean)
        .join(' ') || undefined
    );
  };
  return (
    <div class={menu === undefined ? 'table-frame' : 'table-frame with-menu'}>
      {menu}
      <div ref={box} class={stale ? 'table-scroll stale' : 'table-scroll'}>
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
                  {columns.map((column) => {
                    const cell = column.cell(row);
                    const title = column.oneLine && typeof cell === 'string' ? cell : undefined;
                    return (
                      <td
                        key={column.title}
                        role="cell"
                        data-title={column.title}
                        class={classOf(column)}
                        title={title}
                      >
                        {cell}
                      </td>
                    );
                  })}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** Returns the columns to show, and the menu of the optional columns. Without optional columns there is no menu. */
function useColumns<Row>(list: string, all: readonly Column<Row>[], rows: readonly Row[]) {
  const [choice, setChoice] = useState(() => readColumnChoice(list));
  const choose = (next: typeof choice): void => {
    keepColumnChoice(list, next);
    setChoice(next);
  };
  const known = all.map((column, at) => {
    const isEmpty = at > 0 && rows.length > 0 && rows.every((row) => isNothing(column.cell(row)));
    const chosen =
      column.optional !== undefined && Object.hasOwn(choice, column.title) ? choice[column.title] : undefined;
    return { column, isEmpty, isShown: chosen ?? (column.optional !== 'hidden' && !isEmpty) };
  });
  const optional = known.filter(({ column }) => column.optional !== undefined);
  const menu =
    optional.length === 0 ? undefined : (
      <ColumnsMenu
        list={list}
        columns={optional.map(({ column: { title }, ...state }) => ({ title, ...state }))}
        onChange={(title, isShown) => choose({ ...choice, [title]: isShown })}
        onReset={Object.keys(choice).length === 0 ? undefined : () => choose({})}
      />
    );
  return { columns: known.filter(({ isShown }) => isShown).map(({ column }) => column), menu };
}

function isNothing(cell: ComponentChildren): boolean {
  return cell === null || cell === undefined || cell === false || cell === '';
}

/**
 * Marks the box of a table that is wider than its box. Such a box scrolls in both directions, so that the head stays visible. In
 * every other box the head sticks to the window, which a box that scrolls would prevent.
 */
function useOverflow() {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { current } = box;
    const table = current?.firstElementChild;
    if (current === null || !(table instanceof HTMLElement)) return;
    const measure = (): void => {
      const isWider = table.offsetWidth > current.clientWidth + 1;
      current.classList.toggle('overflows', isWider);
      if (isWider) current.tabIndex = 0;
      else current.removeAttribute('tabindex');
    };
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    observer.observe(table);
    measure();
    return () => observer.disconnect();
  });
  return box;
}

/** Opens the clicked row, unless the click was on a control in the row or has selected text. */
function openRow(event: MouseEvent, target: string): void {
  const on = event.target instanceof Element ? event.target.closest('a, button, input, summary') : null;
  if (on !== null || String(window.getSelection()) !== '' || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey) window.open(target, '_blank', 'noopener');
  else navigate(target);
}

/** A column in the menu. */
type MenuColumn = { readonly title: string; readonly isShown: boolean; readonly isEmpty: boolean };

/** The button in the head of a list that shows and hides its optional columns. */
function ColumnsMenu({
  list,
  columns,
  onChange,
  onReset,
}: {
  readonly list: string;
  readonly columns: readonly MenuColumn[];
  readonly onChange: (title: string, isShown: boolean) => void;
  /** Returns to the default columns. Undefined if they are shown. */
  readonly onReset: (() => void) | undefined;
}) {
  const menu = useRef<HTMLDetailsElement>(null);
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (!isOpen) return;
    const close = (event: Event): void => {
      const { current } = menu;
      const isEscape = event instanceof KeyboardEvent && event.key === 'Escape';
      const isOutside = event.target instanceof Node && !(current?.contains(event.target) ?? true);
      if (current === null || (event instanceof KeyboardEvent ? !isEscape : !isOutside)) return;
      current.open = false;
      if (isEscape) current.querySelector('summary')?.focus();
    };
    const types = ['pointerdown', 'focusin', 'keydown'] as const;
    for (const type of types) document.addEventListener(type, close);
    return () => {
      for (const type of types) document.removeEventListener(type, close);
    };
  }, [isOpen]);
  return (
    <div class="columns-bar">
      <details ref={menu} class="columns" onToggle={() => setOpen(menu.current?.open ?? false)}>
        <summary title="Columns" aria-label={`Columns of ${list}`}>
          <Columns3 aria-hidden="true" />
        </summary>
        {isOpen && (
          <fieldset class="columns-box" aria-label="Columns">
            {columns.map(({ title, isShown, isEmpty }) => (
              <CheckField
                key={title}
                label={
                  <>
                    {title}
                    {isEmpty && <span class="quiet"> (empty here)</span>}
                  </>
                }
                checked={isShown}
                onChange={(next) => onChange(title, next)}
              />
            ))}
            {onReset !== undefined && (
              <Button kind="quiet" onClick={onReset}>
                Reset
              </Button>
            )}
          </fieldset>
        )}
      </details>
    </div>
  );
}

/** The columns that the user has shown (true) or hidden (false) in a list, by title. */
type ColumnChoice = Readonly<Record<string, boolean>>;

const nameOf = (list: string): string => `console.columns.${list}`;

/** Returns the stored choice for a list, or none if the browser stores nothing or the stored text is not a choice. */
function readColumnChoice(list: string): ColumnChoice {
  try {
    const stored: unknown = parseJson(window.localStorage.getItem(nameOf(list)) ?? '{}');
    if (typeof stored !== 'object' || stored === null) return {};
    return Object.fromEntries(Object.entries(stored).filter(([, isShown]) => typeof isShown === 'boolean'));
  } catch {
    return {};
  }
}

/** Stores the choice for a list in this browser. An empty choice removes it. */
function keepColumnChoice(list: string, choice: ColumnChoice): void {
  try {
    if (Object.keys(choice).length === 0) window.localStorage.removeItem(nameOf(list));
    else window.localStorage.setItem(nameOf(list), JSON.stringify(choice));
  } catch {
    // Storage is blocked: the choice lasts until the screen is left.
  }
}
