// What the tests of the packages run with, there and current: earlier versions of Node and of TypeScript, as users have
// them. `npm test` calls it, and `node tools/packages/fetch-tools.mjs` does by hand. They have a lockfile of their own,
// so that `npm start` never downloads them. Plain JavaScript, as install.mjs is.
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SetupProblem } from '../../cli/service-node.mjs';
import { ensureInstalled } from '../install.mjs';

const tools = join(resolve(dirname(fileURLToPath(import.meta.url)), '..', '..'), 'test', 'packages', 'tools');

try {
  const subject = { what: 'earlier versions of Node for the tests of the packages', withNode: false };
  await ensureInstalled(tools, { child: undefined, received: undefined }, subject);
} catch (error) {
  if (!(error instanceof SetupProblem)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}
