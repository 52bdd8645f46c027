import { useEffect, useRef } from 'preact/hooks';
import { Dialog } from '../components/dialogs/dialog.tsx';
import { hrefTo, navigate } from '../data/location.ts';
import { ROUTES, type Route } from './routes.ts';

/** The keyboard shortcuts, except for `g` and a letter. */
const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['/', 'Search (or Ctrl-K)'],
  ['j k', 'Next and previous row. Once a row is selected, the arrow keys work too'],
  ['Enter', 'Open the row'],
  ['[ ]', 'Newer and older page'],
  ['r', 'Reply to a case'],
  ['a', 'Attach the proposed cases to an incident'],
  ['?', 'Show keyboard shortcuts'],
  ['Esc', 'Close a dialog, or leave a field'],
];

/** The longest time between `g` and its letter. */
const SEQUENCE_MILLISECONDS = 1_500;

/**
 * Handles the keyboard shortcuts. They are off in text fields and while a dialog is open. While the search is opening, `typed` is a
 * text, and each key is added to it.
 */
export function useKeyboard(
  routes: readonly Route[],
  { onSearch, onKeys }: { readonly onSearch: () => void; readonly onKeys: () => void },
  typed: { current: string | undefined },
): void {
  const began = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        onSearch();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target)) {
        // Some screens start with the focus in a field, where the shortcuts are off. Escape leaves the field.
        if (event.key === 'Escape') focusContent(event.target);
        return;
      }
      if (typed.current !== undefined && event.key.length === 1) {
        typed.current += event.key;
        event.preventDefault();
        return;
      }
      // Compare the times of the key presses, because a busy page handles them late.
      const isSecond = event.timeStamp - began.current < SEQUENCE_MILLISECONDS;
      began.current = Number.NEGATIVE_INFINITY;
      const route = isSecond ? routes.find(({ letter }) => letter === event.key) : undefined;
      if (route !== undefined) {
        navigate(hrefTo(route.path));
        return;
      }
      if (event.key === 'g') began.current = event.timeStamp;
      else if (event.key === '/') onSearch();
      else if (event.key === '?') onKeys();
      else if (event.key === 'j') moveRow(1);
      else if (event.key === 'k') moveRow(-1);
      else if (isArrow(event) && isRow(event.target)) moveRow(event.key === 'ArrowDown' ? 1 : -1);
      else if (event.key === 'Enter') openRow(event.target);
      else if (event.key === '[' || event.key === ']') turnPage(event.key === ']');
      else if (!pressShortcut(event.key)) return;
      if (event.key !== 'Enter' && event.key !== 'g') event.preventDefault();
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, [routes, onSearch, onKeys, typed]);
}

/** Returns the routes that have a letter after `g`. */
function routesWithLetter(routes: readonly Route[] = ROUTES): readonly Route[] {
  return routes.filter(({ letter }) => letter !== undefined);
}

function isTyping(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open]') !== null) return true;
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null;
}

/** Moves the focus from a field to the content of the screen. */
function focusContent(from: EventTarget | null): void {
  if (from instanceof Element) from.closest<HTMLElement>('main')?.focus({ preventScroll: true });
}

function isArrow({ key, shiftKey }: KeyboardEvent): boolean {
  return !shiftKey && (key === 'ArrowDown' || key === 'ArrowUp');
}

const ROW = 'main tr[data-row]';

function isRow(target: EventTarget | null): target is HTMLElement {
  return target instanceof HTMLElement && target.matches(ROW);
}

/** The page of the row that was opened last, by the path of its list. After "back", the selection starts there. */
const opened = new Map<string, string>();

/** Selects the next or the previous row: focuses it, and marks it as the current one for screen readers. */
function moveRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>(ROW)];
  const selected = document.activeElement?.closest<HTMLElement>(ROW) ?? rows.find((row) => row.ariaCurrent !== null);
  const last = opened.get(window.location.pathname);
  const at = selected === undefined ? -1 : rows.indexOf(selected);
  const before = rows.findIndex((row) => at === -1 && last !== undefined && row.dataset.row === last);
  const next =
    at !== -1
      ? Math.min(Math.max(at + step, 0), rows.length - 1)
      : before !== -1
        ? before
        : step === 1
          ? 0
          : rows.length - 1;
  for (const row of rows) row.removeAttribute('aria-current');
  rows[next]?.setAttribute('aria-current', 'true');
  rows[next]?.focus();
  rows[next]?.scrollIntoView({ block: 'nearest' });
}

function openRow(target: EventTarget | null): void {
  const path = target instanceof HTMLElement ? target.dataset.row : undefined;
  if (path === undefined || path === '') return;
  opened.set(window.location.pathname, path);
  navigate(path);
}

/** Presses the button or focuses the field that has this key. Returns whether it found one. */
function pressShortcut(key: string): boolean {
  const found = document.querySelector<HTMLElement>(`main [aria-keyshortcuts="${CSS.escape(key)}"]`);
  if (found instanceof HTMLButtonElement) found.click();
  else found?.focus();
  return found !== null;
}

function turnPage(isOlder: boolean): void {
  const buttons = document.querySelectorAll<HTMLButtonElement>('main .pager button');
  buttons[isOlder ? buttons.length - 1 : 0]?.click();
}

/** Lists all keyboard shortcuts of the console. */
export function KeysDialog({ routes, onClose }: { readonly routes: readonly Route[]; readonly onClose: () => void }) {
  const rows = [...KEYS, ...routesWithLetter(routes).map(({ letter, title }) => [`g ${letter}`, title] as const)];
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="keys">
        {rows.map(([keys, does]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
