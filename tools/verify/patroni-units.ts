import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../command.ts';
import { reportMissing } from './reports.ts';

/** Where Debian's packages put their units. */
const UNITS = '/lib/systemd/system';

/** Checks the drop-ins of ops/patroni with systemd's own tool, over the units of Debian's packages. */
export function checkUnits(): void {
  for (const name of ['etcd', 'patroni'] as const) checkUnit(name);
}

function checkUnit(name: 'etcd' | 'patroni'): void {
  const dropIn = `ops/patroni/${name}.service.conf`;
  const unit = `${name}.service`;
  if (!existsSync(join(UNITS, unit)) || spawnSync('systemd-analyze', ['--version']).status !== 0) {
    reportMissing(`${dropIn} was not checked: it needs systemd-analyze and Debian's ${unit}.`);
    return;
  }
  const directory = mkdtempSync(join(tmpdir(), 'transfer-service-units-'));
  try {
    cpSync(join(UNITS, unit), join(directory, unit));
    mkdirSync(join(directory, `${unit}.d`));
    cpSync(join(root, dropIn), join(directory, `${unit}.d`, 'ledger.conf'));
    const env = { ...process.env, SYSTEMD_UNIT_PATH: `${directory}:` };
    const words = ['verify', '--man=no', join(directory, unit)];
    const { stderr } = spawnSync('systemd-analyze', words, { env, encoding: 'utf8' });
    const problems = stderr.split('\n').filter((line) => line.includes('ledger.conf'));
    if (problems.length > 0) throw new Error(`${dropIn}:\n${problems.join('\n')}`);
    console.log(`ok      ${dropIn} is understood`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
