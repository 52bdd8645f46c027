// Installs or updates the packages of the examples for their tests. `npm run verify` calls it. To call it by hand: `node
// tools/fetch-example-packages.mjs`. The packages have a separate lockfile, so `npm start` never downloads them. Plain
// JavaScript, like install.mjs.
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from '../cli/install.mjs';
import { SetupProblem } from '../cli/service-node.mjs';

const examples = join(resolve(dirname(fileURLToPath(import.meta.url)), '..'), 'examples');

try {
  const subject = { what: 'the packages of the example increase-card-push', withNode: false };
  await ensureInstalled(join(examples, 'increase-card-push'), { child: undefined, received: undefined }, subject);
} catch (error) {
  if (!(error instanceof SetupProblem)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}
