import { join } from 'node:path';
import { root } from './command.ts';
import { licenseProblems } from './supply-chain/licenses.ts';
import { readLockfile, readManifest } from './supply-chain/packages.ts';
import { pinProblems } from './supply-chain/pins.ts';

// Checks that the pinned packages are installed, and that their licences are allowed: a step of `npm test`, offline.

/** The project, and what has a lockfile of its own because only tests need it. */
const DIRECTORIES = [
  root,
  join(root, 'test', 'console'),
  join(root, 'test', 'packages', 'tools'),
  join(root, 'tools', 'verify', 'clients'),
];

const problems = DIRECTORIES.flatMap((directory) => {
  const lockfile = readLockfile(directory);
  return [...pinProblems(readManifest(directory), lockfile), ...licenseProblems(directory, lockfile)];
});
for (const problem of problems) console.log(problem);
if (problems.length > 0) process.exitCode = 1;
