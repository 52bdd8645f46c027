import { useState } from 'preact/hooks';
import { hrefTo } from '../data/location.ts';
import { useSession } from '../data/session.ts';
import { ProgramChooser } from './program-chooser.tsx';
import { applyTheme, readTheme, THEMES } from './theme.ts';

const SEARCH = 'Search by name, id, card or amount';

/** The bar above every screen: search, the card program, who is signed in, the theme. */
export function TopBar({
  onSearch,
  onKeys,
  onCaller,
  onNavigation,
  isNavigationOpen,
}: {
  readonly onSearch: () => void;
  readonly onKeys: () => void;
  readonly onCaller: () => void;
  readonly onNavigation: () => void;
  readonly isNavigationOpen: boolean;
}) {
  const { mode, name, role, caller } = useSession();
  const who = caller === 'sandbox' ? 'No key' : (name ?? 'A key');
  return (
    <header class="top">
      <button
        class="icon-button menu"
        type="button"
        aria-expanded={isNavigationOpen}
        aria-controls="navigation"
        aria-label="Screens"
        onClick={onNavigation}
      >
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M2 4h12M2 8h12M2 12h12" />
        </svg>
      </button>
      <a class="brand" href={hrefTo('/console')}>
        Transfer Service
      </a>
      <span class={`mode ${mode}`}>{mode}</span>
      <button class="search-button" type="button" aria-label={SEARCH} onClick={onSearch}>
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zm3.7-1.3L14 14" />
        </svg>
        <span>{SEARCH}</span>
        <span class="key" aria-hidden="true">
          /
        </span>
      </button>
      <ProgramChooser />
      <button class="caller" type="button" onClick={onCaller}>
        <span class="hidden">Signed in: </span>
        <span class="caller-name">{who}</span>
        {role !== null && <small>{role}</small>}
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.500 14c.6-2.700 2.800-4 5.500-4s4.900 1.300 5.500 4" />
        </svg>
      </button>
      <ThemeButton />
      <button
        class="icon-button keys-button"
        type="button"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        onClick={onKeys}
      >
        <span class="key" aria-hidden="true">
          ?
        </span>
      </button>
    </header>
  );
}

const THEME_TEXTS = { system: 'System theme', light: 'Light theme', dark: 'Dark theme' } as const;

/** Switches to the next theme. */
function ThemeButton() {
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
