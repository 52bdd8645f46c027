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
    // The modules and icons that nearly every list needs form one file, because each file costs a request and small files compress badly.
    // Screens do not share files with other screens. Otherwise, opening one would load all, and exceed the budget of a screen.
    rolldownOptions: {
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            {
              name: 'lists',
              test: /console\/(?:components\/(?:badge|data-table|details|money|paged-list)|data\/(?:use-pages|use-url-state))\.|\/icons\/(?:circle-(?:check|slash|x)|clock|columns-3)\./,
            },
          ],
        },
      },
    },
  },
};
