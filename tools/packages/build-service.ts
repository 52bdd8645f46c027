// Builds dist/, the content of the service's package: node tools/run.mjs tools/packages/build-service.ts. `npm pack` runs it.
// Files that the code finds by their path from the root of a clone have the same path in dist/.
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../command.ts';
import { BUILT, readBuild } from '../console/stamp.ts';
import { readManifest } from '../supply-chain/packages.ts';
import { bundlePrograms, noticesFor } from './bundle.ts';

/** Files that are copied instead of bundled, because the service or people read them. */
const COPIED = [
  'installation.mjs',
  'server/store/migrations/*.sql',
  'contract/openapi.json',
  'contract/processors/adapter-openapi.json',
  'docs/**/*.{md,svg,png}',
  'CHANGELOG.md',
  'examples/*/*.{mjs,json}',
  'ops/{patroni,proxies,systemd}/*',
  'ops/{alerts,prometheus}.yml',
  'ops/grafana.json',
];

const target = join(root, 'dist');
const draft = join(root, `dist.${process.pid}`);

function buildConsole(): void {
  const script = join(root, 'tools/console/build.ts');
  const { status } = spawnSync(process.execPath, [script], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error('The console cannot be built.');
}

function copy(path: string): void {
  mkdirSync(dirname(join(draft, path)), { recursive: true });
  cpSync(join(root, path), join(draft, path), { recursive: true });
}

function writeManifest(): void {
  const { name, version } = readManifest(root);
  writeFileSync(join(draft, 'package.json'), `${JSON.stringify({ name, version, type: 'module' }, null, 2)}\n`);
}

try {
  const packages = await bundlePrograms(draft);
  buildConsole();
  for (const path of globSync(COPIED, { cwd: root }).sort()) copy(path);
  copy(BUILT);
  writeManifest();
  writeFileSync(join(draft, 'licenses.txt'), noticesFor([...packages, ...readBuild(root).packages]));
  rmSync(target, { recursive: true, force: true });
  renameSync(draft, target);
} finally {
  rmSync(draft, { recursive: true, force: true });
}
