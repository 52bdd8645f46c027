import { writeFileSync } from 'node:fs';
import { root } from './command.ts';
import { billOfMaterials } from './supply-chain/bill.ts';
import { readLockfile, readManifest, runningPackages } from './supply-chain/packages.ts';

// npm run --silent bill-of-materials [-- <file>]: writes CycloneDX 1.6 as JSON to standard output or to a file. It reads only
// package.json, package-lock.json and the imports of the code. It uses no network, and the document is the same every time.

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that closes early, such as `| head`, is not an error.
  if (error.code !== 'EPIPE') throw error;
});

const [file] = process.argv.slice(2);
const lockfile = readLockfile(root);
const text = `${JSON.stringify(billOfMaterials(readManifest(root), lockfile, runningPackages(root, lockfile)), null, 2)}\n`;
if (file === undefined) process.stdout.write(text);
else writeFileSync(file, text);
