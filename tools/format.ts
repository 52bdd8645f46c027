import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const biome = join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');
const paths = process.argv.slice(2);
const { status } = spawnSync(process.execPath, [biome, 'check', '--write', ...(paths.length > 0 ? paths : ['.'])], {
  cwd: root,
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
