import { render } from 'preact';
import { App } from './app/app.tsx';
import { findRoute, preload } from './app/routes.ts';
import { applyTheme } from './app/theme.tsx';
import { removeOldForms } from './data/kept-forms.ts';
import { navigate } from './data/location.ts';

applyTheme();
removeOldForms();
followLinks();
// The code of the first screen loads while the session is read.
const found = findRoute(window.location.pathname.replace(/(.)\/+$/, '$1'));
if (found !== undefined) preload(found.route);
const root = document.getElementById('app');
if (root !== null) render(<App />, root);

/** Opens links to screens without reloading the page. The browser handles all other links, and clicks with a modifier key. */
function followLinks(): void {
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (link === null || link.target !== '' || link.hasAttribute('download')) return;
    const url = new URL(link.href, window.location.href);
    if (url.origin !== window.location.origin || url.hash !== '' || findRoute(url.pathname) === undefined) return;
    event.preventDefault();
    navigate(url.pathname + url.search);
  });
}
