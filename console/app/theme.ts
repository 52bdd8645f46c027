/** The colours: those of the system, or always light or dark. */
export type Theme = 'system' | 'light' | 'dark';

export const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

const NAME = 'console.theme';

/** The stored choice; `system` where nothing can be stored. */
export function readTheme(): Theme {
  try {
    const stored = window.localStorage.getItem(NAME);
    return THEMES.find((theme) => theme === stored) ?? 'system';
  } catch {
    return 'system';
  }
}

/** Shows a theme, and remembers it. */
export function applyTheme(theme: Theme = readTheme()): void {
  const { dataset } = document.documentElement;
  if (theme === 'system') delete dataset.theme;
  else dataset.theme = theme;
  try {
    window.localStorage.setItem(NAME, theme);
  } catch {
    // Storage is blocked: the choice lasts until the page is closed.
  }
}
