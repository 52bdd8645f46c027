import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';

export type Place = { readonly path: string; readonly query: URLSearchParams };

const listeners = new Set<() => void>();

function here(): Place {
  const { pathname, search } = window.location;
  return { path: pathname.replace(/(.)\/+$/, '$1'), query: new URLSearchParams(search) };
}

function notify(): void {
  for (const listener of listeners) listener();
}

window.addEventListener('popstate', notify);

/**
 * Goes to a path of the console, with its query. `replace` adds no entry to the history: use it for filters while they are
 * typed.
 */
export function navigate(url: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  const { pathname, search } = window.location;
  if (url === pathname + search) return;
  if (replace) window.history.replaceState(null, '', url);
  else window.history.pushState(null, '', url);
  // A different screen starts at the top. A change of filters keeps the scroll position.
  if (window.location.pathname !== pathname) window.scrollTo(0, 0);
  notify();
}

function isSame(one: Place, other: Place): boolean {
  return one.path === other.path && one.query.toString() === other.query.toString();
}

/** Returns the current location, and renders again when it changes. */
export function useLocation(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const update = () => setPlace((place) => (isSame(place, here()) ? place : here()));
    listeners.add(update);
    // The effects of children run first and may already have navigated, so read the location again.
    update();
    return () => void listeners.delete(update);
  }, []);
  return place;
}

/** Returns the case that support is working on. All links keep it in the query. */
export function workedCase(query = new URLSearchParams(window.location.search)): string | undefined {
  const id = query.get('case') ?? '';
  return /^case_[0-9a-f]{32}$/.test(id) ? id : undefined;
}

/** Puts the case that support is working on into the URL, so that links keep it and the audit log records it. */
export function workOn(caseId: string): void {
  const query = new URLSearchParams(window.location.search);
  query.set('case', caseId);
  navigate(`${window.location.pathname}?${query}`, { replace: true });
}

const OF_CASES = /^\/console\/cases?(?:\/|$)/;

/** Returns a link to a path of the console. It keeps the chosen program and the case that support is working on. */
export function hrefTo(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const [plain = path, own = ''] = path.split('?');
  const parameters = new URLSearchParams(own);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') parameters.set(name, value);
  const program = new URLSearchParams(window.location.search).get('program');
  if (program !== null && !parameters.has('program')) parameters.set('program', program);
  const caseId = workedCase();
  if (caseId !== undefined && !OF_CASES.test(plain)) parameters.set('case', caseId);
  return parameters.size === 0 ? plain : `${plain}?${parameters}`;
}

/** The values of the parameters in a path, by name. */
export type Parameters = Readonly<Record<string, string>>;

/** A screen receives the parameters of its path, and reads everything else with hooks. */
export type Screen = ComponentType<{ readonly parameters: Parameters }>;
