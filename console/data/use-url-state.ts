import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { navigate, useLocation } from './location.ts';

/**
 * Keeps state in the query of the URL, such as filters and the chosen tab, so that a view can be bookmarked and shared.
 * `defaults` names the parameters. Default values are left out of the URL, and all other parameters are kept.
 */
export function useUrlState<State extends Readonly<Record<string, string>>>(
  defaults: State,
): readonly [state: State, set: (changes: Partial<State>, options?: { readonly replace?: boolean }) => void] {
  const { path, query } = useLocation();
  const names = JSON.stringify(defaults);
  const text = query.toString();
  const state = useMemo(
    () =>
      Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, query.get(name) ?? value])) as State,
    [names, text],
  );
  const set = useCallback(
    (changes: Partial<State>, options: { readonly replace?: boolean } = {}) => {
      const next = new URLSearchParams(window.location.search);
      for (const [name, value] of Object.entries(changes)) {
        if (value === undefined || value === defaults[name]) next.delete(name);
        else next.set(name, value);
      }
      navigate(next.size === 0 ? path : `${path}?${next}`, options);
    },
    [names, path],
  );
  return [state, set];
}

/**
 * Calls `onAsked` if a link asks for a dialog of the screen: `?open=create`. The URL loses that parameter at once, so that Back and
 * a reload don't open the dialog again.
 */
export function useAskedDialog(onAsked: (name: string) => void): void {
  const { query } = useLocation();
  const name = query.get('open');
  useEffect(() => {
    if (name === null) return;
    const rest = new URLSearchParams(window.location.search);
    rest.delete('open');
    const { pathname } = window.location;
    navigate(rest.size === 0 ? pathname : `${pathname}?${rest}`, { replace: true });
    onAsked(name);
  }, [name]);
}

/**
 * Returns the text of a field whose value is stored elsewhere, such as in the URL. `onType` receives the text after a pause in
 * typing. Pass `isSame` if the stored value can differ from the typed text.
 */
export function useDebouncedText(
  value: string,
  onType: (value: string) => void,
  { pauseMilliseconds, isSame = same }: { readonly pauseMilliseconds: number; readonly isSame?: typeof same },
) {
  const [typed, setTyped] = useState(value);
  const applied = useRef(value);
  useEffect(() => {
    // The value that this field has just applied must not replace what the user has typed since.
    if (!isSame(applied.current, value)) setTyped(value);
    applied.current = value;
  }, [value]);
  useEffect(() => {
    if (isSame(typed, value)) return;
    const timer = window.setTimeout(() => {
      applied.current = typed;
      onType(typed);
    }, pauseMilliseconds);
    return () => window.clearTimeout(timer);
  }, [typed]);
  return [typed, setTyped] as const;
}

const same = (left: string, right: string): boolean => left === right;
