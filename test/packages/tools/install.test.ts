import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directoryForTest } from '../../harness/service.ts';

const INSTALL = join(import.meta.dirname, '../../../cli/install.mjs');

test('an install reports its progress in a log', async () => {
  const folder = await directoryForTest();
  mkdirSync(join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package-lock.json'), '{"packages":{}}');
  // A stand-in for npm that ends after its caller has reported twice that it is waiting. It reads the size of the log,
  // because watchFile also reports a file that does not exist yet.
  const npm = join(folder, 'npm-cli.js');
  writeFileSync(
    npm,
    `require('node:fs').watchFile('enough', { interval: 20 }, ({ size }) => { if (size > 0) process.exit(0); });`,
  );
  const program = `import { ensureInstalled } from ${JSON.stringify(INSTALL)};
    await ensureInstalled(${JSON.stringify(folder)}, {}, { what: 'the parts', withNode: false, sayEveryMilliseconds: 20 });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...process.env, npm_execpath: npm },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (/(Still.*\n){2}/.test(said)) writeFileSync(join(folder, 'enough'), 'yes');
  });
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0);
  expect(said).toMatch(
    /^Installing the parts \(needed once\)\.\n(Still installing the parts \(\d+ s\)\.\n){2,}Installed the parts in \d+ s\.\n$/,
  );
});
