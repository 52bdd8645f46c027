import { render } from 'preact';
import { App } from './app/app.tsx';
import { followLinks } from './app/follow-links.ts';
import { findRoute, preload } from './app/routes.ts';
import { applyTheme } from './app/theme.ts';

applyTheme();
followLinks();
// Loaded while the session is read.
const found = findRoute(window.location.pathname.replace(/(.)\/+$/, '$1'));
if (found !== undefined) preload(found.route);
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
