import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { newFolder } from './started.ts';

// How quickly the command line starts depends on the machine, and on what it loads, which is what these tests limit.

const ROOT = join(import.meta.dirname, '..', '..');

/** Prints the process and the address of every module that is loaded. */
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

/** What a command line loads: in how many processes, and which modules, below the last node_modules or the clone. */
function load(program: string, ...commandLine: string[]) {
  const script = '"$0" "$@" 2>&1 >/dev/null || true';
  const output = execFileSync('sh', ['-c', script, process.execPath, program, ...commandLine], {
    encoding: 'utf8',
    // No service listens there; the command has loaded everything when it finds out.
    env: { PATH: process.env.PATH, NODE_OPTIONS: `--import=${NOTE_MODULES}`, PORT: '9' },
  });
  const lines = [...output.matchAll(/^loaded ([0-9]+) file:\/\/(\S+)$/gm)];
  const modules = [...new Set(lines.map(([, , path = '']) => path))].map((path) =>
    path.replace(/^.*\/node_modules\//, '').replace(`${ROOT}/`, ''),
  );
  return { processes: new Set(lines.map(([, id]) => id)).size, modules };
}

/** The most modules that a command may load; 73 are loaded by the largest. */
const MAX_MODULES = 90;

describe.each([
  ['the package', async () => join(await newFolder(), 'node_modules', '.bin', 'transfer-service'), MAX_MODULES],
  // Besides: what installs the dependencies.
  ['a clone', async () => join(ROOT, 'cli', 'transfer-service.mjs'), MAX_MODULES + 2],
])('the command line of %s', (_, find, maxModules) => {
  test.each(['--version', '--help', 'cards list', 'start --help'])('loads little for %s', async (line) => {
    const { processes, modules } = load(await find(), ...line.split(' '));
    expect(processes).toBe(1);
    expect(modules.length).toBeGreaterThan(20);
    expect(modules.length).toBeLessThanOrEqual(maxModules);
    // Nothing of the service, none of the texts of errors, and no package but the one that reads command lines.
    expect(modules.filter((path) => /(?:^|\/)(?:server|contract)\/|typebox|fastify|pino/.test(path))).toEqual([]);
    const packages = modules.filter((path) => !/^(?:transfer-service|cli|sdk|domain|setup)\//.test(path));
    expect(packages.every((path) => path.startsWith('commander/'))).toBe(true);
  });
});
