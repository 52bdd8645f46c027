#!/usr/bin/env node
// The command line: from TypeScript in a clone, from dist/ in the package.
import { existsSync } from 'node:fs';
import nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';

if (existsSync(new URL('./bootstrap.mjs', import.meta.url))) {
  const { runCommandLine } = await import('./bootstrap.mjs');
  await runCommandLine();
} else if (Number.parseInt(process.versions.node, 10) < 20) {
  process.stderr.write(`Node 20 or later is needed, and this is ${process.versions.node}.\n`);
  process.exitCode = 1;
} else {
  // The compile cache is next to the code, so only people who may change the code may change the cache. The service inherits
  // it. There is no cache on Node 20 or in a folder that is not writable.
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../dist/.compile-cache', import.meta.url));
  nodeModule.enableCompileCache?.(process.env.NODE_COMPILE_CACHE);
  await import('../dist/cli/main.js');
}
