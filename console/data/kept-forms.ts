import { useLayoutEffect, useState } from 'preact/hooks';
import { parseJson } from '../../sdk/generated/parse-json.ts';
import { hasCardNumber, hasKey } from '../format/card-numbers.ts';
import { useSession } from './session.ts';

/** The values of the open forms of a screen, while the user signs in again on another page. */
type Kept = {
  readonly path: string;
  readonly personId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly values: Readonly<Record<string, unknown>>;
};

const NAME = 'console.forms';
/** Enough for a password and a second factor. Later, the user may no longer remember what the form was about. */
const MAX_AGE_MILLISECONDS = 10 * 60_000;

/** The current value of each mounted `useKeptState`, by name. */
const shown = new Map<string, unknown>();
let returned: (Omit<Kept, 'values'> & { readonly values: Map<string, unknown> }) | undefined;

/**
 * Stores the values of the open forms in this tab, before its user leaves the screen to sign in again. Stores nothing if no person
 * is signed in, because values return only to the same person.
 */
export function keepForms(personId: string | null): void {
  if (personId === null) return;
  const values = Object.fromEntries(shown);
  const kept: Kept = { path: window.location.pathname, personId, at: Date.now(), values };
  try {
    window.sessionStorage.setItem(NAME, JSON.stringify(kept, withoutSecrets));
  } catch {
    // Storage is blocked: the forms open empty.
  }
}

/** Empties fields that contain a card number, a key or a secret, in case a user pasted one into the wrong field. */
function withoutSecrets(_name: string, value: unknown): unknown {
  return typeof value === 'string' && (hasCardNumber(value) || hasKey(value)) ? '' : value;
}

/** Removes values whose user did not come back in time. Call it when the console starts, even if no one is signed in. */
export function removeOldForms(): void {
  try {
    const text = window.sessionStorage.getItem(NAME);
    if (text !== null && isOld(parseJson(text) as Kept)) window.sessionStorage.removeItem(NAME);
  } catch {
    // Storage is blocked: nothing was stored.
  }
}

function isOld({ at }: Pick<Kept, 'at'>): boolean {
  return Date.now() - at > MAX_AGE_MILLISECONDS;
}

/** Takes the stored values out of the browser. Call it when someone has signed in, before the screen is shown. */
export function takeKeptForms(): void {
  try {
    const text = window.sessionStorage.getItem(NAME);
    if (text === null) return;
    window.sessionStorage.removeItem(NAME);
    const kept = parseJson(text) as Kept;
    returned = { ...kept, values: new Map(Object.entries(kept.values)) };
  } catch {
    // Storage is blocked: the forms open empty.
  }
}

/**
 * A state that survives signing in again: `useState` for forms whose request can be refused with `sign_in_again`, and for the
 * choice of the open form. When the same person is back on the screen within 10 minutes, it starts with the kept value, once.
 * The name is unique on its screen. The state must be JSON, without secrets.
 */
export function useKeptState<State>(name: string, initial: State): readonly [State, (next: State) => void] {
  const { personId } = useSession();
  const [value, setValue] = useState(() => {
    const kept = takeValue(name, personId);
    return kept === undefined ? initial : (kept as State);
  });
  useLayoutEffect(() => {
    shown.set(name, value);
    return () => void shown.delete(name);
  }, [name, value]);
  return [value, setValue];
}

function takeValue(name: string, personId: string | null): unknown {
  if (returned === undefined || personId === null || returned.personId !== personId) return undefined;
  if (returned.path !== window.location.pathname || isOld(returned)) return undefined;
  const value = returned.values.get(name);
  returned.values.delete(name);
  return value;
}
