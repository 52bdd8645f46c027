import { join } from 'node:path';
import { root } from './command.ts';
import { licenseProblems } from './supply-chain/licenses.ts';
import { type Lockfile, readLockfile, readManifest } from './supply-chain/packages.ts';
import { pinProblems } from './supply-chain/pins.ts';

// Checks offline that the pinned packages are installed and that their licenses are allowed. A step of `npm test`.

/** People copy this example and install its packages. We do not distribute them. */
const EXAMPLE = join(root, 'examples', 'increase-card-push');

/** The project, and the folders with a separate lockfile: only tests need their packages, or the folder is an example. */
const DIRECTORIES = [
  root,
  EXAMPLE,
  join(root, 'test', 'console'),
  join(root, 'test', 'packages', 'tools'),
  join(root, 'tools', 'verify', 'clients'),
];

const problems = DIRECTORIES.flatMap((directory) => {
  const lockfile = readLockfile(directory);
  const judged = directory === EXAMPLE ? asDevelopment(lockfile) : lockfile;
  return [...pinProblems(readManifest(directory), lockfile), ...licenseProblems(directory, judged)];
});
for (const problem of problems) console.log(problem);
if (problems.length > 0) process.exitCode = 1;

function asDevelopment({ packages, ...lockfile }: Lockfile): Lockfile {
  const marked = Object.entries(packages).map(([path, locked]) => [path, { ...locked, dev: true }] as const);
  return { ...lockfile, packages: Object.fromEntries(marked) };
}
