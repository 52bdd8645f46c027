// Installs or updates the earlier versions of Node and TypeScript for the packages' tests. `npm test` calls it. To call it by
// hand: `node tools/packages/fetch-tools.mjs`. They have a separate lockfile, so `npm start` never downloads them. Plain
// JavaScript, like install.mjs.
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from '../../cli/install.mjs';
import { SetupProblem } from '../../cli/service-node.mjs';

const tools = join(resolve(dirname(fileURLToPath(import.meta.url)), '..', '..'), 'test', 'packages', 'tools');

try {
  const subject = { what: 'earlier versions of Node for the tests of the packages', withNode: false };
  await ensureInstalled(tools, { child: undefined, received: undefined }, subject);
} catch (error) {
  if (!(error instanceof SetupProblem)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}
