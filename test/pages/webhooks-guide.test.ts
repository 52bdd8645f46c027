import { readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { useDirectory, useService } from '../harness/service.ts';
import { deadUrl } from '../sdk/canned-service.ts';
import { GuideRunner, missingIn, readListings } from './guide-runner.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const GUIDE = 'docs/webhooks.md';

const { path: folder } = await useDirectory();
const service = useService();
const runner = new GuideRunner(folder, {});
afterAll(() => runner.end());

/** What the guide calls localhost:3000. */
const PORT = new URL(await deadUrl()).port;

/** A text of the guide with the ports of this run. */
function here(text: string): string {
  return text.replaceAll('localhost:8080', new URL(service().url).host).replaceAll(/\b3000\b/g, PORT);
}

/** What stands for `…` in commands: the first webhook, its secret, and the event of the transfer. */
function withIds(command: string): string {
  const find = (pattern: RegExp, placeholder: string) => pattern.exec(runner.output)?.[1] ?? placeholder;
  return command
    .replaceAll('wh_…', find(/(wh_[0-9a-f]{32})/, 'wh_…'))
    .replaceAll('whsec_…', find(/(whsec_\S+)/, 'whsec_…'))
    .replaceAll('evt_…', find(/(evt_[0-9a-f]{32}) {2}transfer\.completed/, 'evt_…'));
}

/** A command of the guide with the programs of this run. */
function commandHere(command: string): string {
  return withIds(here(command))
    .replaceAll('npx transfer-service', `${process.execPath} ${join(ROOT, 'cli/main.ts')} --url ${service().url}`)
    .replaceAll('path/to/transfer-service', ROOT)
    .replaceAll(/(^| )node /g, `$1${process.execPath} `);
}

const RUNS_ON = /events listen|node receiver/;

test.each(readListings(readFileSync(join(ROOT, GUIDE), 'utf8')))(`${GUIDE}, line $line`, async (listing) => {
  if (listing.kind === 'file') {
    runner.save(listing.name, here(listing.text));
    return;
  }
  const shown = listing.shown.map(here);
  if (listing.kind === 'output') {
    // Settings, of which configuration.test.ts knows whether they exist.
    if (listing.shown.every((line) => /^[A-Z_]+=/.test(line))) return;
    await vi.waitFor(() => expect(missingIn(runner.output, shown)).toEqual([]), 120_000);
    return;
  }
  if (listing.command.startsWith('npm install ')) {
    // The packages of the project, instead of those of the registry.
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    return;
  }
  if (RUNS_ON.test(listing.command)) {
    const program = runner.start(commandHere(listing.command));
    await vi.waitFor(() => expect(missingIn(program.output, shown)).toEqual([]), 120_000);
    // The receiver prints nothing when it listens.
    if (listing.command.includes('receiver')) await untilListening();
    expect(program.child.exitCode, program.output).toBeNull();
    return;
  }
  const runOnce = async (): Promise<void> => {
    const program = runner.start(commandHere(listing.command));
    expect(await program.ended, program.output).toBe(0);
    expect(missingIn(program.output, shown), program.output).toEqual([]);
  };
  if (REPEATED.test(listing.command)) await vi.waitFor(runOnce, 120_000);
  else await runOnce();
});

/** Commands that only read: what was done a moment ago shows a moment later. */
const REPEATED = /webhooks (attempts|show)|events list/;

async function untilListening(): Promise<void> {
  await vi.waitFor(() => fetch(`http://localhost:${PORT}/`), 120_000);
}
