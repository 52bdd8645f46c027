import { CircleUserRound, Menu, Search } from 'lucide-preact';
import { hrefTo } from '../data/location.ts';
import { useSession } from '../data/session.ts';
import { ProgramChooser } from './program-chooser.tsx';
import { ThemeButton } from './theme.tsx';

const SEARCH = 'Search by name, id, card or amount';

/** The bar above every screen, with the search, the card program, the signed-in caller and the theme. */
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
  const { mode, name, role, caller, personId } = useSession();
  const who = caller === 'sandbox' ? 'No key' : (name ?? (personId === null ? 'A key' : 'A person'));
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
        <Menu />
      </button>
      <a class="brand" href={hrefTo('/console')}>
        Transfer Service
      </a>
      <span class={`mode ${mode}`}>{mode}</span>
      <button class="search-button" type="button" aria-label={SEARCH} onClick={onSearch}>
        <Search />
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
        <CircleUserRound />
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
