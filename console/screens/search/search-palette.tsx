import type { ComponentType } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from '../../components/dialogs/dialog.tsx';
import { Field } from '../../components/field.tsx';
import type { KnownScreen } from './commands.ts';
import type { PaletteParts } from './palette-options.tsx';
import { openSearch, problemOf } from './search.ts';
import './search.css';

const LABEL = 'Search, or open a screen or an action';

/** The options, once their code is loaded. The field works before. */
let loaded: ComponentType<PaletteParts> | undefined;

function usePaletteOptions(): ComponentType<PaletteParts> | undefined {
  const [, setCount] = useState(0);
  useEffect(() => {
    if (loaded !== undefined) return;
    import('./palette-options.tsx').then(
      ({ PaletteOptions }) => {
        loaded = PaletteOptions;
        setCount((count) => count + 1);
      },
      // Without the options, Enter still opens the search.
      () => undefined,
    );
  }, []);
  return loaded;
}

/**
 * The search that `/` and Ctrl-K open everywhere. While the user types, it lists records, screens and actions. The arrow keys select
 * one, and Enter opens it. Enter without a selection opens all results.
 */
export function SearchPalette({
  screens,
  typed,
  onClose,
}: {
  readonly screens: readonly KnownScreen[];
  /** The text that was typed before the palette was loaded. */
  readonly typed: { current: string | undefined };
  readonly onClose: () => void;
}) {
  const [text, setText] = useState(() => typed.current ?? '');
  useLayoutEffect(() => {
    typed.current = undefined;
  }, [typed]);
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const [first, setFirst] = useState<string | undefined>(undefined);
  const listId = useId();
  const box = useRef<HTMLDivElement>(null);
  const Options = usePaletteOptions();
  const problem = problemOf(text);
  const active = chosen ?? first;
  const optionsOf = () => [...(box.current?.querySelectorAll<HTMLElement>('[role="option"]') ?? [])];
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const options = optionsOf();
    const at = options.findIndex(({ id }) => id === active);
    const next =
      options[Math.min(at === -1 && step === -1 ? options.length - 1 : Math.max(at + step, 0), options.length - 1)];
    setChosen(next?.id);
    next?.scrollIntoView({ block: 'nearest' });
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const option = optionsOf().find(({ id }) => id === active);
    if (option !== undefined) option.click();
    else if (problem === undefined && text.trim() !== '') {
      onClose();
      openSearch(text);
    }
  };
  return (
    <Dialog title="Search" onClose={onClose}>
      <div ref={box} class="palette">
        <form onSubmit={submit}>
          <Field
            label={LABEL}
            problem={problem}
            hint="A name, an id, a card, an amount with a name or a time (Priya 75, 75 yesterday 14:00), or: stop loads."
          >
            {({ id, 'aria-describedby': describedBy }) => (
              <input
                id={id}
                type="text"
                role="combobox"
                aria-autocomplete="list"
                aria-expanded={Options !== undefined}
                aria-controls={listId}
                aria-activedescendant={active}
                aria-describedby={describedBy}
                aria-invalid={problem !== undefined}
                autoComplete="off"
                spellcheck={false}
                value={text}
                onKeyDown={move}
                onInput={(event) => {
                  setText(event.currentTarget.value);
                  setChosen(undefined);
                }}
              />
            )}
          </Field>
        </form>
        {Options !== undefined && (
          <Options
            listId={listId}
            text={problem === undefined ? text.trim() : ''}
            screens={screens}
            active={active}
            onFirst={setFirst}
            onOpen={onClose}
          />
        )}
      </div>
    </Dialog>
  );
}
