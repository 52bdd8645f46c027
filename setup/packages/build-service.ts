// Builds dist/, from which the package of the service runs: node setup/run.mjs setup/packages/build-service.ts, which
// `npm pack` does. dist/ has the folders of a clone, so everything that is found by its place is found there too.
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../command.ts';
import { readManifest } from '../supply-chain/packages.ts';

/** Files that are no code and that the service reads, or a reader of its messages: they are copied. */
const COPIED = [
  'server/store/migrations/*.sql',
  'contract/openapi.json',
  'docs/**/*.{md,svg,png}',
  'CHANGELOG.md',
  'ops/{proxies,systemd}/*',
  'ops/{alerts,prometheus}.yml',
  'ops/grafana.json',
];

/** Packages that Vite puts into the files of the console; their licences must come along. */
const BUNDLED_IN_CONSOLE = ['preact', 'uplot'];

const target = join(root, 'dist');
const draft = join(root, `dist.${process.pid}`);

function run(script: string, ...commandLine: string[]): void {
  const { status } = spawnSync(process.execPath, [join(root, script), ...commandLine], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${script} failed.`);
}

function copy(path: string): void {
  mkdirSync(dirname(join(draft, path)), { recursive: true });
  cpSync(join(root, path), join(draft, path), { recursive: true });
}

/** What the code reads of the package: its version, and that its files are modules. */
function writeManifest(): void {
  const { name, version } = readManifest(root);
  writeFileSync(join(draft, 'package.json'), `${JSON.stringify({ name, version, type: 'module' }, null, 2)}\n`);
}

/** The texts of the licences that must be passed on with the console. */
function writeLicenses(): void {
  const texts = BUNDLED_IN_CONSOLE.map((name) => {
    const folder = join(root, 'node_modules', name);
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    if (file === undefined) throw new Error(`${name} has no file with its licence.`);
    const { version } = readManifest(folder);
    return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
  });
  const opening = 'The files in assets/ contain these packages.\n';
  writeFileSync(join(draft, 'console', 'built', 'licenses.txt'), [opening, ...texts].join('\n\n'));
}

try {
  // Types are what `npm run check` checks; here they would only take time.
  run(
    'node_modules/typescript/bin/tsc',
    '--noCheck',
    '--project',
    'setup/packages/tsconfig.service.json',
    '--outDir',
    draft,
  );
  run('setup/console/build.ts');
  for (const path of globSync(COPIED, { cwd: root }).sort()) copy(path);
  copy('console/built');
  writeManifest();
  writeLicenses();
  rmSync(target, { recursive: true, force: true });
  renameSync(draft, target);
} finally {
  rmSync(draft, { recursive: true, force: true });
}
