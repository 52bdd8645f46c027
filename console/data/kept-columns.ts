import { parseJson } from '../../sdk/generated/parse-json.ts';

/** The columns that the user has shown (true) or hidden (false) in a list, by title. */
export type ColumnChoice = Readonly<Record<string, boolean>>;

const nameOf = (list: string): string => `console.columns.${list}`;

/** Returns the stored choice for a list, or none if the browser stores nothing or the stored text is not a choice. */
export function readColumnChoice(list: string): ColumnChoice {
  try {
    const stored: unknown = parseJson(window.localStorage.getItem(nameOf(list)) ?? '{}');
    if (typeof stored !== 'object' || stored === null) return {};
    return Object.fromEntries(Object.entries(stored).filter(([, isShown]) => typeof isShown === 'boolean'));
  } catch {
    return {};
  }
}

/** Stores the choice for a list in this browser. An empty choice removes it. */
export function keepColumnChoice(list: string, choice: ColumnChoice): void {
  try {
    if (Object.keys(choice).length === 0) window.localStorage.removeItem(nameOf(list));
    else window.localStorage.setItem(nameOf(list), JSON.stringify(choice));
  } catch {
    // Storage is blocked: the choice lasts until the screen is left.
  }
}
