import { hrefTo, useLocation } from '../data/location.ts';
import { GROUPS, preload, type Route } from './routes.ts';

/** The screens that the caller may open, by group. */
export function Navigation({ routes, isOpen }: { readonly routes: readonly Route[]; readonly isOpen: boolean }) {
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
                    {route.name ?? route.title}
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

/** Whether a path belongs to a screen in the navigation: one transfer belongs to the transfers. */
function isWithin(screen: string, path: string): boolean {
  if (screen === path) return true;
  if (screen === '/console') return false;
  if (path.startsWith('/console/request/')) return screen === '/console/errors';
  return path.startsWith(`${screen}/`) || path.startsWith(`${screen.replace(/s$/, '')}/`);
}
