import { Columns3 } from 'lucide-preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { CheckField } from './field.tsx';

/** A column in the menu. */
export type MenuColumn = { readonly title: string; readonly isShown: boolean; readonly isEmpty: boolean };

/** The button in the head of a list that shows and hides its optional columns. */
export function ColumnsMenu({
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
