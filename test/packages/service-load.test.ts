import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newFolder, programIn } from './started.ts';

// The start time of the command line depends on the machine and on the number of modules that it loads. These tests
// limit the modules.

const ROOT = join(import.meta.dirname, '..', '..');

/** A module that prints the process and the URL of every loaded module. */
const NOTE_MODULES = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  import { writeSync } from 'node:fs';
  registerHooks({
    load(url, context, next) {
      if (url.startsWith('file:')) writeSync(2, 'loaded ' + process.pid + ' ' + url + '\\n');
      return next(url, context);
    },
  });
`)}`;

/**
 * Returns the number of processes and the modules that a command line loads. Module paths are relative to the last
 * node_modules or to the clone.
 */
function load(program: string, ...commandLine: string[]) {
  const script = '"$0" "$@" 2>&1 >/dev/null || true';
  const output = execFileSync('sh', ['-c', script, process.execPath, program, ...commandLine], {
    encoding: 'utf8',
    // No service listens there, and the command has loaded everything before it finds that out.
    env: { PATH: process.env.PATH, NODE_OPTIONS: `--import=${NOTE_MODULES}`, PORT: '9' },
  });
  const lines = [...output.matchAll(/^loaded ([0-9]+) file:\/\/(\S+)$/gm)];
  const modules = [...new Set(lines.map(([, , path = '']) => path))].map((path) =>
    path.replace(/^.*\/node_modules\//, '').replace(`${ROOT}/`, ''),
  );
  return { processes: new Set(lines.map(([, id]) => id)).size, modules };
}

const COMMANDS = ['--version', '--help', 'cards list', 'start --help'];

/**
 * The modules that a command may load: no part of the service, no error messages, and no package except the one that parses
 * command lines.
 */
const MAY_LOAD = /^(?:installation\.mjs$|(?:cli|sdk|domain|tools)\/|(?:node_modules\/)?commander\/)/;

/**
 * The maximum number of modules that a command may load from a clone. Each group of commands is a module. The largest
 * command loads 94 modules.
 */
const MAX_MODULES = 96;

test.each(COMMANDS)('the command line of a clone loads few modules for %s', async (line) => {
  const { processes, modules } = load(join(ROOT, 'cli', 'transfer-service.mjs'), ...line.split(' '));
  expect(processes).toBe(1);
  expect(modules.length).toBeGreaterThan(20);
  expect(modules.length).toBeLessThanOrEqual(MAX_MODULES);
  expect(modules.filter((path) => !MAY_LOAD.test(path))).toEqual([]);
});

test.each(COMMANDS)('the command line of the package loads four files for %s', async (line) => {
  const folder = await newFolder();
  const { processes, modules } = load(programIn(folder), ...line.split(' '));
  expect(processes).toBe(1);
  const bundle = ['cli/chunks/shared.js', 'cli/main.js', 'installation.mjs'].map((path) => `dist/${path}`);
  const files = ['cli/transfer-service.mjs', ...bundle].map((path) => `transfer-service/${path}`);
  expect(modules.toSorted()).toEqual(files);
  // A bundle names the modules that it contains.
  const inside = files.flatMap((path) =>
    [...readFileSync(join(folder, 'node_modules', path), 'utf8').matchAll(/^\/\/ (\S+\.[cm]?[jt]s)$/gm)].map(
      ([, module = '']) => module,
    ),
  );
  expect(inside).toContain('cli/program.ts');
  expect(inside.filter((path) => !MAY_LOAD.test(path))).toEqual([]);
});
