import { render } from 'preact';
import { App } from './app/app.tsx';
import { followLinks } from './app/follow-links.ts';
import { applyTheme } from './app/theme.ts';

applyTheme();
followLinks();
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
