import { Monitor, Moon, Sun } from 'lucide-preact';
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

const ICONS = { system: Monitor, light: Sun, dark: Moon } as const;

const THEME_TEXTS = { system: 'System theme', light: 'Light theme', dark: 'Dark theme' } as const;

export function ThemeButton() {
  const [theme, setTheme] = useState(readTheme);
  const next = () => {
    const following = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
    applyTheme(following);
    setTheme(following);
  };
  const Icon = ICONS[theme];
  return (
    <button
      class="icon-button theme"
      type="button"
      aria-label={`${THEME_TEXTS[theme]}; change`}
      title={THEME_TEXTS[theme]}
      onClick={next}
    >
      <Icon />
    </button>
  );
}
