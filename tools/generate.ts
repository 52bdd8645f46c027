// Writes every committed file that is made from the tables of the code; with --check it only compares.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openApiDocument } from '../contract/openapi/document.ts';
import { VERSION } from '../installation.mjs';
import { root } from './command.ts';
import { invariantsPage } from './guides/invariants.ts';
import { SECTIONS, withSections } from './guides/sections.ts';
import {
  CHECKSUMS_FILE,
  findChecksumProblems,
  readMigrationChecksums,
  withNewChecksums,
} from './migration-checksums.ts';
import { generatedSdk } from './sdk/generate-sdk.ts';

const generated: Readonly<Record<string, () => string>> = {
  'contract/openapi.json': () => formatted('contract/openapi.json', JSON.stringify(openApiDocument(VERSION))),
  ...generatedSdk(),
  ...Object.fromEntries(Object.keys(SECTIONS).map((file) => [file, () => withSections(file, committed(file) ?? '')])),
  'docs/invariants.md': () => invariantsPage(root),
  [CHECKSUMS_FILE]: () => withNewChecksums(committed(CHECKSUMS_FILE) ?? '', readMigrationChecksums(root)),
};

/** The text in the format of all files of the project. */
function formatted(file: string, text: string): string {
  const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');
  const { status, stdout, stderr } = spawnSync(process.execPath, [biome, 'format', `--stdin-file-path=${file}`], {
    cwd: root,
    encoding: 'utf8',
    input: text,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`${file} could not be formatted: ${stderr}`);
  return stdout;
}

function committed(file: string): string | undefined {
  try {
    return readFileSync(join(root, file), 'utf8');
  } catch {
    return undefined;
  }
}

const checksumProblems = findChecksumProblems(committed(CHECKSUMS_FILE) ?? '', readMigrationChecksums(root));
for (const problem of checksumProblems) console.error(problem);
if (checksumProblems.length > 0) process.exitCode = 1;

const differing = Object.entries(generated)
  .map(([file, write]) => ({ file, text: write() }))
  .filter(({ file, text }) => committed(file) !== text);

if (process.argv.includes('--check')) {
  for (const { file } of differing) console.error(`${file} is not what it would be now.`);
  if (differing.length > 0) {
    console.error('Mend it with: npm run generate');
    process.exitCode = 1;
  }
} else {
  for (const { file, text } of differing) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
    console.log(`wrote ${file}`);
  }
  if (differing.length === 0) console.log('Every generated file is current.');
}
