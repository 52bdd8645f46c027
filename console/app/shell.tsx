import { CircleUserRound, Menu, Search } from 'lucide-preact';
import { Component, type ComponentChildren } from 'preact';
import { useCallback, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { later, usePreload } from '../components/later.tsx';
import { Empty, Loading } from '../components/loaded.tsx';
import { StoppedSetting } from '../components/name.tsx';
import { Page } from '../components/page.tsx';
import { ClockContext, useAhead, useClockAhead, useNow } from '../data/clock.ts';
import { hrefTo, navigate, type Parameters, type Screen, useLocation, workedCase } from '../data/location.ts';
import { NameContext, useNameBook } from '../data/names.ts';
import { PendingApprovalsContext, usePendingApprovals } from '../data/pending-approvals.ts';
import { ProgramContext } from '../data/program.ts';
import { useSession } from '../data/session.ts';
import { useOperation } from '../data/use-operation.ts';
import { pathOf, shortId } from '../format/ids.ts';
import { settingKey } from '../format/operators/switch.ts';
import { formatDuration, formatMoment } from '../format/times.ts';
import { useChosenProgram } from './chosen-program.ts';
import { KeysDialog, useKeyboard } from './keyboard.tsx';
import { ProgramChooser, ProgramPrompt } from './program-chooser.tsx';
import { findRoute, GROUPS, preload, ROUTES, type Route } from './routes.ts';
import { ThemeButton } from './theme.tsx';

const SearchPalette = later(async () => (await import('../screens/search/search-palette.tsx')).SearchPalette);
const CallerDialog = later(async () => (await import('./caller-dialog.tsx')).CallerDialog);
const DIALOGS = [SearchPalette, CallerDialog];

/** Provides names, the sandbox clock, the waiting approvals and the chosen program to the whole console. */
export function Shell() {
  return (
    <NameContext.Provider value={useNameBook()}>
      <ClockContext.Provider value={useClockAhead()}>
        <PendingApprovalsContext.Provider value={usePendingApprovals()}>
          <Frame />
        </PendingApprovalsContext.Provider>
      </ClockContext.Provider>
    </NameContext.Provider>
  );
}

function Frame() {
  const session = useSession();
  const { path } = useLocation();
  const program = useChosenProgram();
  const [open, setOpen] = useState<'nothing' | 'search' | 'keys' | 'caller' | 'navigation'>('nothing');
  const { mode, scopes } = session;
  const allowed = useMemo(() => ROUTES.filter((route) => mayOpen(route, session)), [mode, scopes]);
  // The keys that are pressed before the code of the search is loaded. Undefined unless it is opening.
  const typed = useRef<string | undefined>(undefined);
  const close = useCallback(() => {
    typed.current = undefined;
    setOpen('nothing');
  }, []);
  const showSearch = useCallback(() => {
    typed.current = '';
    setOpen('search');
  }, []);
  const showKeys = useCallback(() => setOpen('keys'), []);
  useKeyboard(allowed, { onSearch: showSearch, onKeys: showKeys }, typed);
  // Must run before the paint. A later effect could close a dialog that was just opened on the new screen.
  useLayoutEffect(close, [path]);
  useFocusOnContent(path);
  usePreload(DIALOGS);
  return (
    <ProgramContext.Provider value={program}>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <TopBar
        onSearch={showSearch}
        onKeys={showKeys}
        onCaller={() => setOpen('caller')}
        onNavigation={() => setOpen(open === 'navigation' ? 'nothing' : 'navigation')}
        isNavigationOpen={open === 'navigation'}
      />
      <div class="frame">
        <Navigation routes={allowed} isOpen={open === 'navigation'} />
        <main id="content" tabIndex={-1}>
          <ClockBanner />
          <SwitchBanner />
          <CaseBanner />
          {/* Two programs can have records with the same id. The key contains the program, so that no data of the old program stays on the screen. */}
          <ErrorBoundary key={findRoute(path)?.route.choosesProgram ? path : `${path} ${program.programId}`}>
            <Content path={path} allowed={allowed} isGuess={program.isGuess} />
          </ErrorBoundary>
        </main>
      </div>
      {open === 'search' && <SearchPalette screens={allowed} typed={typed} onClose={close} />}
      {open === 'caller' && <CallerDialog onClose={close} />}
      {open === 'keys' && <KeysDialog routes={allowed} onClose={close} />}
    </ProgramContext.Provider>
  );
}

/**
 * Moves the focus to the content when the screen changes, so that Tab and screen readers continue there. If the new screen has
 * focused one of its fields, the focus stays.
 */
function useFocusOnContent(path: string): void {
  const shown = useRef(path);
  useLayoutEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    const content = document.getElementById('content');
    const { activeElement } = document;
    if (activeElement instanceof HTMLInputElement && content?.contains(activeElement)) return;
    content?.focus({ preventScroll: true });
  }, [path]);
}

function mayOpen({ scope, sandboxOnly }: Route, { mode, has }: ReturnType<typeof useSession>): boolean {
  return (scope === undefined || has(scope)) && (sandboxOnly !== true || mode === 'sandbox');
}

/** Shows the screen for a path, or says what to do if there is none. */
function Content({
  path,
  allowed,
  isGuess,
}: {
  readonly path: string;
  readonly allowed: readonly Route[];
  readonly isGuess: boolean;
}) {
  const found = findRoute(path);
  const ahead = useAhead();
  const first = allowed.find(({ group }) => group !== undefined && group !== 'Build');
  const isHome = path === '/console' && found !== undefined && !allowed.includes(found.route);
  useEffect(() => {
    // Callers who can't see the overview start on the first screen that they can open.
    if (isHome && first !== undefined) navigate(hrefTo(first.path), { replace: true });
  }, [isHome, first]);
  if (isHome) return null;
  if (found === undefined) {
    return (
      <Page title="Not found">
        <Empty title="There is no screen at this address">Press / to search, or choose a screen.</Empty>
      </Page>
    );
  }
  const { route, parameters } = found;
  if (!allowed.includes(route)) {
    return (
      <Page title={route.title}>
        <Empty title="Your key has no access to this screen">
          {route.scope === undefined
            ? 'It exists only in a sandbox.'
            : `Ask an administrator for a key with the scope ${route.scope}.`}
        </Empty>
      </Page>
    );
  }
  return (
    <ClockContext.Provider value={route.hasActualTimes === true ? 0 : ahead}>
      <ProgramPrompt route={route} parameters={parameters} isGuess={isGuess}>
        <LoadedScreen route={route} parameters={parameters} />
      </ProgramPrompt>
    </ClockContext.Provider>
  );
}

const loaded = new Map<Route, Screen>();

function LoadedScreen({ route, parameters }: { readonly route: Route; readonly parameters: Parameters }) {
  const [, setCount] = useState(0);
  const [failure, setFailure] = useState<unknown>(undefined);
  const Known = loaded.get(route);
  useEffect(() => {
    if (Known !== undefined) return;
    route.load().then((screen) => {
      loaded.set(route, screen);
      setCount((count) => count + 1);
    }, setFailure);
  }, [route, Known]);
  if (failure !== undefined) {
    console.error(failure);
    return (
      <Page title={route.title}>
        <Empty title="This screen could not be loaded">
          <p>The service cannot be reached, or has been updated since this page was opened.</p>
          <Button onClick={() => window.location.reload()}>Reload the page</Button>
        </Empty>
      </Page>
    );
  }
  return Known === undefined ? <Loading /> : <Known parameters={parameters} />;
}

/** Appears on every screen while the sandbox clock is moved, and says which clock the times on the screen follow. */
function ClockBanner() {
  const ahead = useAhead();
  const now = useNow();
  const { path } = useLocation();
  const { can } = useSession();
  if (ahead === 0) return null;
  const isActual = findRoute(path)?.route.hasActualTimes === true;
  return (
    <div class="banner clock">
      <p>
        <b>This sandbox's clock is {formatDuration(ahead)} ahead</b>: it is{' '}
        {formatMoment(new Date(now).toISOString()).replace(/:\d\d$/, '')} there.{' '}
        {isActual && 'Times on this screen are actual times. '}
        {can('move_clock') && <a href={hrefTo('/console/sandbox')}>Move it back</a>}
      </p>
    </div>
  );
}

const SWITCH_POLL_MILLISECONDS = 5_000;
const MAX_SETTINGS = 3;

/** Shows on every screen what the switch has stopped, and why. */
function SwitchBanner() {
  const { can } = useSession();
  const { data } = useOperation(can('get_switch') ? (api, options) => api.switch.get(options) : undefined, {
    isOwn: true,
    pollMilliseconds: SWITCH_POLL_MILLISECONDS,
  });
  const disabled = (data?.data ?? []).filter((entry) => entry.disabled);
  if (disabled.length === 0) return null;
  return (
    <div class="banner" role="status">
      {disabled.slice(0, MAX_SETTINGS).map((setting) => (
        <p key={settingKey(setting)}>
          <StoppedSetting setting={setting} />. <a href={hrefTo('/console/switch')}>Open the switch</a>
        </p>
      ))}
      {disabled.length > MAX_SETTINGS && <p>And {disabled.length - MAX_SETTINGS} more.</p>}
    </div>
  );
}

/** Appears on screens that support opened from a case. The audit log records the case with each action there. */
function CaseBanner() {
  const { path, query } = useLocation();
  const caseId = workedCase(query);
  if (caseId === undefined) return null;
  const caseHref = hrefTo(pathOf(caseId) ?? '');
  if (caseHref.startsWith(path)) return null;
  const without = new URLSearchParams(query);
  without.delete('case');
  return (
    <div class="banner case">
      <p>
        You are working on <a href={caseHref}>the case {shortId(caseId)}</a>. The audit log records it with each of your
        actions. <a href={without.size === 0 ? path : `${path}?${without}`}>Leave the case</a>
      </p>
    </div>
  );
}

/** Lists the screens that the caller can open, by group. */
function Navigation({ routes, isOpen }: { readonly routes: readonly Route[]; readonly isOpen: boolean }) {
  const { path } = useLocation();
  const groups = GROUPS.map((group) => ({ group, inside: routes.filter((route) => route.group === group) }));
  return (
    <nav id="navigation" class={isOpen ? 'navigation open' : 'navigation'} aria-label="Screens">
      {groups
        .filter(({ inside }) => inside.length > 0)
        .map(({ group, inside }) => (
          <div key={group}>
            <h2 id={`group-${group}`}>{group}</h2>
            <ul aria-labelledby={`group-${group}`}>
              {inside.map((route) => (
                <li key={route.path}>
                  <a
                    href={hrefTo(route.path)}
                    aria-current={isWithin(route.path, path) ? 'page' : undefined}
                    onPointerEnter={() => preload(route)}
                  >
                    {route.icon !== undefined && <route.icon />}
                    <span>{route.name ?? route.title}</span>
                    {route.path === '/console/approvals' && <PendingApprovals />}
                    {route.letter !== undefined && (
                      <span class="key" aria-hidden="true">
                        g {route.letter}
                      </span>
                    )}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      <div class="elsewhere">
        <a href="/guides">Guides</a>
        <a href="/docs">API reference</a>
        <a href="/errors">Error codes</a>
        <a href="/events">Events</a>
      </div>
    </nav>
  );
}

/** Shows how many requests are waiting for an approval. Only callers who may read approvals see this count. */
function PendingApprovals() {
  const { data } = useContext(PendingApprovalsContext);
  if (data === undefined || data.count === 0) return null;
  return (
    <span class="count">
      {data.count}
      {data.hasMore && '+'}
      <span class="hidden"> waiting</span>
    </span>
  );
}

/**
 * Whether a path belongs to a screen in the navigation. The path of a transfer, for example, belongs to the list of transfers.
 */
function isWithin(screen: string, path: string): boolean {
  if (screen === path) return true;
  if (screen === '/console') return false;
  if (path.startsWith('/console/request/')) return screen === '/console/errors';
  return path.startsWith(`${screen}/`) || path.startsWith(`${screen.replace(/s$/, '')}/`);
}

type State = { readonly error: Error | undefined };

/** Shows an error message instead of an empty page if a screen throws. The rest of the console keeps working. */
class ErrorBoundary extends Component<{ readonly children: ComponentChildren }, State> {
  override state: State = { error: undefined };

  static override getDerivedStateFromError(thrown: unknown): State {
    return { error: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }

  override render({ children }: { readonly children: ComponentChildren }, { error }: State) {
    if (error === undefined) return children;
    return (
      <Page title="This screen failed">
        <div class="error-record" role="alert">
          <p class="error-message">{error.message}</p>
          <p>
            The console failed, not the service, so no money moved. Reload the page. If it fails again, tell support
            what you did.
          </p>
          <p class="error-facts">
            <Button onClick={() => window.location.reload()}>Reload</Button>
          </p>
        </div>
      </Page>
    );
  }
}

const SEARCH = 'Search by name, id, card or amount';

/** The bar above every screen, with the search, the card program, the signed-in caller and the theme. */
function TopBar({
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
