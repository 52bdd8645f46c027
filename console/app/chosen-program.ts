import { useEffect } from 'preact/hooks';
import { navigate, useLocation } from '../data/location.ts';
import { useName } from '../data/names.ts';
import type { ChosenProgram } from '../data/program.ts';
import { useSession } from '../data/session.ts';
import { findRoute, ROUTES, type Route } from './routes.ts';

const NAME = 'console.program';

/**
 * The path that the page was opened with. Only the link that opened the page can lack the program, because the
 * console's own links contain it.
 */
const FIRST_PATH = window.location.pathname;

/** Returns the program chosen last in this tab, or else in this browser. */
function remembered(): string | undefined {
  try {
    return window.sessionStorage.getItem(NAME) ?? window.localStorage.getItem(NAME) ?? undefined;
  } catch {
    return undefined;
  }
}

function remember(programId: string | undefined): void {
  try {
    for (const storage of [window.sessionStorage, window.localStorage]) {
      if (programId === undefined) storage.removeItem(NAME);
      else storage.setItem(NAME, programId);
    }
  } catch {
    // Storage is blocked: the choice is kept in the URL only.
  }
}

/** Chooses a program without leaving the screen. The URL contains the program, so a copied link opens the same one. */
export function chooseProgram(programId: string, options: { readonly replace?: boolean } = {}): void {
  remember(programId);
  const query = new URLSearchParams(window.location.search);
  query.set('program', programId);
  navigate(`${window.location.pathname}?${query}`, options);
}

/** Switches to another program. If the screen shows one record of the old program, opens the list of such records instead. */
export function goToProgram(programId: string): void {
  const { route, parameters } = findRoute(window.location.pathname) ?? {};
  if (parameters?.program_id !== undefined) {
    remember(programId);
    navigate(`/console/programs/${encodeURIComponent(programId)}?program=${encodeURIComponent(programId)}`);
    return;
  }
  // A screen that chooses the program of its record also shows only one program.
  const isOfOne = route !== undefined && (route.ofProgram || route.choosesProgram === true) && isAboutOne(route);
  const list = isOfOne ? (listOf(route) ?? (route.ofProgram ? undefined : ROUTES[0])) : undefined;
  if (list === undefined) chooseProgram(programId);
  else {
    remember(programId);
    navigate(`${list.path}?program=${encodeURIComponent(programId)}`);
  }
}

/** Whether a screen shows one record, which belongs to one program. */
export function isAboutOne({ path }: Route): boolean {
  return path.includes(':');
}

/** Returns the list for a screen about one record: the transfers for a transfer. */
function listOf({ path }: Route): Route | undefined {
  const [, , subject = ''] = path.split('/');
  return ROUTES.find((route) => [`/console/${subject}`, `/console/${subject}s`].includes(route.path));
}

/**
 * Returns the program to show. A key bound to a program always shows that program. With a key for all programs, the program comes
 * from the screen if the screen is about a program, or else from the URL, or else from the last choice. The choice is remembered
 * and put into the URL. `isGuess` is true if a link to one record names no program: the record may belong to another program.
 */
export function useChosenProgram(): ChosenProgram & { readonly isGuess: boolean } {
  const { allPrograms, programId: own, can } = useSession();
  const { path, query } = useLocation();
  const { route, parameters } = findRoute(path) ?? {};
  const inUrl = query.get('program') || undefined;
  const last = allPrograms ? remembered() : undefined;
  const ofScreen = allPrograms ? parameters?.program_id : undefined;
  const isLink = path === FIRST_PATH && inUrl === undefined && route?.ofProgram === true && isAboutOne(route);
  const isGuess = isLink && allPrograms && can('search');
  const chosen = allPrograms ? (ofScreen ?? inUrl ?? last) : undefined;
  const { name, isMissing } = useName('program', chosen);
  // If the caller can't read programs, assume that this one exists.
  const isThere = name !== undefined || !can('list_programs');
  const isForgotten = isMissing && ofScreen === undefined && chosen === last;
  useEffect(() => {
    if (chosen === undefined || isGuess) return;
    if (isForgotten) {
      // The remembered program belongs to a different ledger that was once served at this address.
      remember(undefined);
      putIntoUrl(undefined);
      return;
    }
    if (isThere && chosen !== last) remember(chosen);
    if (inUrl !== chosen && (isThere || ofScreen === undefined)) putIntoUrl(chosen);
  }, [chosen, last, ofScreen, inUrl, isThere, isGuess, isForgotten, path]);
  const isNone = isMissing && (isForgotten || ofScreen !== undefined);
  const programId = (isNone ? (isForgotten ? undefined : (inUrl ?? last)) : chosen) ?? own ?? undefined;
  return { programId, isKnown: programId !== undefined, choose: allPrograms ? chooseInPlace : stay, isGuess };
}

const chooseInPlace = (programId: string): void => chooseProgram(programId, { replace: true });
const stay = (): void => undefined;

export function putIntoUrl(programId: string | undefined): void {
  const next = new URLSearchParams(window.location.search);
  if (programId === undefined) next.delete('program');
  else next.set('program', programId);
  navigate(next.size === 0 ? window.location.pathname : `${window.location.pathname}?${next}`, { replace: true });
}
