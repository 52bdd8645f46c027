// Installs or updates packages that only tests need: the packages of the example, or earlier versions of Node and TypeScript for
// the packages' tests. Usage: `node tools/fetch-packages.mjs <example|tools>`. They have separate lockfiles, so `npm start` never
// downloads them. Plain JavaScript, like install.mjs.
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureInstalled } from '../cli/install.mjs';
import { SetupProblem } from '../cli/service-node.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');

const SUBJECTS = {
  example: {
    directory: join(root, 'examples', 'increase-card-push'),
    what: 'the packages of the example increase-card-push',
  },
  tools: {
    directory: join(root, 'test', 'packages', 'tools'),
    what: 'earlier versions of Node for the tests of the packages',
  },
};

const { directory, what } = SUBJECTS[process.argv[2]];
try {
  await ensureInstalled(directory, { child: undefined, received: undefined }, { what, withNode: false });
} catch (error) {
  if (!(error instanceof SetupProblem)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}
