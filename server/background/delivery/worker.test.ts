import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const folder = import.meta.dirname;

/** A program that prints every file that is loaded together with the modules in its arguments. */
const LOADED = `
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
  for (const name of process.argv.slice(1)) await import(name);
  process.stdout.write(JSON.stringify(loaded));`;

// The first webhook starts the thread, and its first event waits for the thread's imports. Request schemas would make up three
// quarters of these imports.
test('loads no schemas in the delivery thread, so that the first event is sent soon', async () => {
  const worker = readFileSync(resolve(folder, 'worker.ts'), 'utf8');
  const imported = [...worker.matchAll(/^import \{.+from '(\..+)';$/gm)].map(([, name = '']) => resolve(folder, name));
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', LOADED, ...imported]);
  const loaded: readonly string[] = JSON.parse(stdout);
  expect(loaded.filter((url) => url.endsWith('/delivery/deliverer.ts'))).toHaveLength(1);
  expect(loaded.filter((url) => url.includes('/node_modules/typebox/'))).toEqual([]);
}, 60_000);
