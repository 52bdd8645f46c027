// How Vite bundles the console, for the build and for the dev server.
import { join } from 'node:path';
import type { InlineConfig } from 'vite';
import { root } from '../command.ts';

export const VITE_OPTIONS: InlineConfig = {
  configFile: false,
  root: join(root, 'console'),
  base: '/console/',
  publicDir: false,
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2023',
    // The Content-Security-Policy allows no data: URLs.
    assetsInlineLimit: 0,
    // One stylesheet: screens open without a second request.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    emptyOutDir: true,
    // The modules that nearly every list needs form one file. So do the dialogs of incidents, and the screens that lead to each
    // other. Each file costs a request, and small files compress badly.
    rolldownOptions: {
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            {
              name: 'lists',
              test: /console\/(?:components\/(?:badge|columns-menu|data-table|filters|money|paged-list)|data\/(?:kept-columns|use-pages|use-url-state))\./,
            },
            {
              name: 'incidents',
              test: /console\/components\/support\/(?:incident-dialog|resolution)\./,
            },
            { name: 'support', test: /console\/screens\/(?:cases?|incidents?)\// },
            { name: 'settlement', test: /console\/screens\/(?:processors|settlement)\// },
            { name: 'webhooks', test: /console\/screens\/(?:webhooks?|failed-webhooks)\// },
            { name: 'transfers', test: /console\/screens\/transfers?\// },
            {
              name: 'programs',
              test: /console\/screens\/(?:cards?|day|programs?)\/|format\/(?:day|limits)\.|components\/dialogs\/limits-dialog\./,
            },
            { name: 'search', test: /console\/screens\/search\/(?!search-palette|search\.ts|when)/ },
            { name: 'errors', test: /console\/screens\/(?:errors|request|explain)\// },
          ],
        },
      },
    },
  },
};
