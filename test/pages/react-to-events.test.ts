import { readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { useDirectory, useService } from '../harness/service.ts';
import { deadUrl } from '../sdk/canned-service.ts';
import { GuideRunner, missingIn, readListings } from './guide-runner.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const GUIDE = 'docs/react-to-events.md';

const { path: folder } = await useDirectory();
const service = useService();
const runner = new GuideRunner(folder, { TRANSFER_SERVICE_WEBHOOK_SECRET: '' });
afterAll(() => runner.end());

/** What the guide calls localhost:8080, localhost:3000 and localhost:3001. */
const PORTS = new Map(
  await Promise.all(['3000', '3001'].map(async (port) => [port, new URL(await deadUrl()).port] as const)),
);

/** A text of the guide with the ports, the programs and the secret of this run. */
function here(text: string): string {
  const [, secret = 'whsec_…'] = /Webhook secret: (whsec_\S+)/.exec(runner.output) ?? [];
  let result = text.replaceAll('localhost:8080', new URL(service().url).host).replaceAll('whsec_…', secret);
  for (const [port, own] of PORTS) result = result.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), own);
  return result
    .replaceAll('npx transfer-service', `${process.execPath} ${join(ROOT, 'cli/main.ts')} --url ${service().url}`)
    .replaceAll('path/to/transfer-service', ROOT)
    .replaceAll(/(^| )node /g, `$1${process.execPath} `);
}

const RUNS_ON = /events (listen|tail)|\bnode /;

test.each(readListings(readFileSync(join(ROOT, GUIDE), 'utf8')))(`${GUIDE}, line $line`, async (listing) => {
  if (listing.kind === 'file') {
    runner.save(listing.name, here(listing.text));
    return;
  }
  if (listing.kind === 'command' && listing.command.startsWith('npm install ')) {
    // The packages of the project, instead of those of the registry.
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    return;
  }
  if (listing.kind === 'output') {
    await vi.waitFor(() => expect(missingIn(runner.output, listing.shown.map(here))).toEqual([]), 120_000);
    return;
  }
  const program = runner.start(here(listing.command));
  if (RUNS_ON.test(listing.command)) {
    await vi.waitFor(() => expect(missingIn(program.output, listing.shown.map(here))).toEqual([]), 120_000);
    expect(program.child.exitCode, program.output).toBeNull();
    return;
  }
  expect(await program.ended, program.output).toBe(0);
  expect(missingIn(program.output, listing.shown.map(here)), program.output).toEqual([]);
});
