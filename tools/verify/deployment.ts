// Checks the systemd unit with systemd's own tools, and builds the container image. Part of `npm run verify`.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportMissing, root } from '../command.ts';

const UNIT = 'ops/systemd/transfer-service.service';
const COMMAND = 'ops/systemd/transfer-service-command';
const CONTAINERFILE = 'ops/container/Containerfile';

/** The maximum exposure, on systemd's scale from 0 to 10. systemd calls services up to 2.5 well protected. */
const MAX_EXPOSURE = 2.5;

const directory = mkdtempSync(join(tmpdir(), 'transfer-service-deployment-'));
try {
  verifyUnit();
  verifyCommand();
  buildImage();
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function run(program: string, words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const env = { ...process.env, ...environment };
  return spawnSync(program, words, { cwd: root, env, encoding: 'utf8', maxBuffer: 100_000_000 });
}

function report(isRight: boolean, what: string, why = ''): void {
  if (isRight) {
    console.log(`ok      ${what}`);
    return;
  }
  console.error(`FAILED  ${what}${why === '' ? '' : `:\n${why.trim()}`}`);
  process.exitCode = 1;
}

function verifyUnit(): void {
  if (run('systemd-analyze', ['--version']).status !== 0) {
    reportMissing(`systemd-analyze cannot be run, so ${UNIT} was not checked. It needs systemd 250 or later.`);
    return;
  }
  const security = run('systemd-analyze', ['security', '--offline=true', UNIT]);
  const exposure = Number(/Overall exposure level for \S+: ([0-9.]+)/.exec(security.stdout)?.[1] ?? Number.NaN);
  report(exposure < MAX_EXPOSURE, `${UNIT} has an exposure of ${exposure}`, security.stderr);
  // Includes the lines for secrets. The program is not installed here, so another one replaces it.
  const text = readFileSync(join(root, UNIT), 'utf8').replaceAll(/^#(LoadCredential|Environment)=/gm, '$1=');
  const file = join(directory, 'transfer-service.service');
  writeFileSync(file, text.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`));
  const verified = run('systemd-analyze', ['verify', file]);
  const problems = verified.stderr.split('\n').filter((line) => line.includes('transfer-service.service'));
  report(verified.status === 0 && problems.length === 0, `systemd accepts ${UNIT}`, verified.stderr);
}

/** Replaces systemd-run with a program that prints its arguments. systemd is not used. */
function verifyCommand(): void {
  const programs = join(directory, 'bin');
  mkdirSync(programs);
  writeFileSync(join(programs, 'systemd-run'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
  const path = `${programs}:${process.env.PATH ?? ''}`;
  const { stdout, stderr } = run(join(root, COMMAND), ['operator-key', 'create', '--name', 'a name'], { PATH: path });
  const unit = readFileSync(join(root, UNIT), 'utf8');
  const words = stdout.split('\n');
  const [, program = ''] = /^ExecStart=(\S+) start$/m.exec(unit) ?? [];
  const ends = [program, 'operator-key', 'create', '--name', 'a name', ''];
  const same = ['DynamicUser=yes', 'User=transfer-service', 'StateDirectory=transfer-service', 'UMask=0077'];
  const isRight =
    words.slice(-ends.length).join('\n') === ends.join('\n') &&
    same.every((line) => unit.includes(`\n${line}\n`) && words.includes(`--property=${line}`));
  report(isRight, `${COMMAND} gives a command the user and the directory of the unit`, stdout + stderr);
}

function buildImage(): void {
  if (run('buildah', ['--version']).status !== 0) {
    reportMissing(
      `buildah cannot be run, so ${CONTAINERFILE} was not built. Install it (on Debian: apt-get install buildah).`,
    );
    return;
  }
  const { BUILD_BASE, BASE } = process.env;
  const bases = Object.entries({ BUILD_BASE, BASE }).flatMap(([name, image]) =>
    image === undefined ? [] : ['--build-arg', `${name}=${image}`],
  );
  const image = ['--isolation', 'chroot', '--format', 'docker', '-t', 'localhost/transfer-service-verification'];
  const built = run('buildah', ['bud', '--layers=false', ...image, '-f', CONTAINERFILE, ...bases, '.'], {
    // This driver also works inside a container.
    STORAGE_DRIVER: process.env.STORAGE_DRIVER ?? 'vfs',
  });
  const lines = built.stderr.trim().split('\n').slice(-5).join('\n');
  report(
    built.status === 0,
    `${CONTAINERFILE} is built`,
    `${lines}\nIf no registry can be reached, set BUILD_BASE and BASE to images on this machine.`,
  );
}
