import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * The text of a field whose value is elsewhere, as in the URL: `onType` receives it after a pause in typing. `isSame` is for a text
 * that is kept in another form than it is typed.
 */
export function useDebouncedText(
  value: string,
  onType: (value: string) => void,
  { pauseMilliseconds, isSame = same }: { readonly pauseMilliseconds: number; readonly isSame?: typeof same },
) {
  const [typed, setTyped] = useState(value);
  const applied = useRef(value);
  useEffect(() => {
    // What the field itself has applied comes back while more is typed: that must stay.
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
