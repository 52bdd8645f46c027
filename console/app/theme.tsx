import { useState } from 'preact/hooks';

/** The colors: the system's, or always light or dark. */
type Theme = 'system' | 'light' | 'dark';

const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

const NAME = 'console.theme';

/** Returns the stored choice, or `system` if the browser stores nothing. */
function readTheme(): Theme {
  try {
    const stored = window.localStorage.getItem(NAME);
    return THEMES.find((theme) => theme === stored) ?? 'system';
  } catch {
    return 'system';
  }
}

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

const THEME_TEXTS = { system: 'System theme', light: 'Light theme', dark: 'Dark theme' } as const;

export function ThemeButton() {
  const [theme, setTheme] = useState(readTheme);
  const next = () => {
    const following = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
    applyTheme(following);
    setTheme(following);
  };
  return (
    <button
      class="icon-button theme"
      type="button"
      aria-label={`${THEME_TEXTS[theme]}; change`}
      title={THEME_TEXTS[theme]}
      onClick={next}
    >
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {theme === 'light' && (
          <path d="M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v2m0 10v2M1 8h2m10 0h2M3 3l1.5 1.5m7 7L13 13m0-10-1.500 1.500m-7 7L3 13" />
        )}
        {theme === 'dark' && <path d="M13.500 9.500A6 6 0 0 1 6.500 2.500a6 6 0 1 0 7 7z" />}
        {theme === 'system' && <path d="M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zm0 0v12m0-10 4.600 0M8 7h5.800M8 10h5.500" />}
      </svg>
    </button>
  );
}
