import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { GUIDES } from '../../server/pages/guides/guide-list.ts';
import { useOwnService } from '../harness/service.ts';
import { userEnvironment } from '../packages/packed.ts';
import { deadUrl } from '../sdk/canned-service.ts';
import { exemptionOf } from './exemptions.ts';
import { GuideRunner, missingIn, readListings } from './guide-runner.ts';
import { type ReaderFolder, readerFolder } from './reader-folder.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** The time limit of a command, in milliseconds. No command takes that long, even on one slow core. */
const PATIENCE = 120_000;

/** Settings for a guide that needs more than a sandbox and the packages. */
export type Trial = {
  /** The file with the text, if the guide is not a served page. */
  readonly file?: string;
  /** Whether a command of the guide starts the service. Otherwise a sandbox is already running. */
  readonly startsService?: boolean;
  /** Whether to use npm's npx, which takes half a second longer per command. */
  readonly usesNpm?: boolean;
  /** Settings of the sandbox that is already running. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Settings of the reader's shell. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Matches additional commands that keep running while the guide continues. */
  readonly runsOn?: RegExp;
  /** Matches commands that end with an exit code other than 0. */
  readonly fails?: RegExp;
  /** Returns the id that replaces `…` in a command, if it is not the last printed id of its kind. */
  readonly fillIn?: (command: string, output: string) => string;
  /** Called before the first command, with the folder, the service's URL and its data directory. */
  readonly prepare?: (folder: string, url: string, dataDirectory: string) => Promise<void> | void;
};

/** A version of Node that runs TypeScript directly. The reader's Node may be older. */
const NEWER_NODE = createRequire(import.meta.url).resolve(`node-linux-${process.arch}/bin/node`);

const RUNS_ON =
  /transfer-service start|events (listen|tail)|node (\S+-)?(receiver|server|webhook|listener)|node (follow|stream-events)/;

/** Matches commands that only read. They may not show a recent change immediately, so they are repeated. */
const READS =
  /^(?!.* -(d|X) )curl |transfer-service (\S+ )?(list|show|get|inspect|attempts|search|count|statement|holds|status)\b/;

/**
 * Follows a guide as a reader would: saves its files, runs its commands in order, and compares the output with the
 * guide.
 */
export function followGuide(slug: string, trial: Trial = {}): void {
  const file = trial.file ?? GUIDES.find((guide) => guide.slug === slug)?.file ?? `docs/${slug}.md`;
  const text = readFileSync(join(ROOT, file), 'utf8');
  const service =
    trial.startsService === true ? undefined : useOwnService('A guide assumes a new sandbox.', trial.settings);
  const ports = new Map<string, string>();
  let folder: ReaderFolder | undefined;
  let runner: GuideRunner | undefined;

  beforeAll(async () => {
    folder = await readerFolder(text.includes('@transfer-service/sdk'));
    for (const port of ['8080', '8081', '3000', '3001', '9464']) ports.set(port, new URL(await deadUrl()).port);
    if (service !== undefined) ports.set('8080', new URL(service().url).port);
    const environment = userEnvironment({ PORT: ports.get('8080') ?? '', ...trial.environment });
    if (trial.usesNpm !== true) environment.PATH = `${folder.quickNpx}${delimiter}${environment.PATH}`;
    await trial.prepare?.(folder.path, `http://127.0.0.1:${ports.get('8080')}`, service?.().directory ?? '');
    runner = new GuideRunner(folder.path, environment);
  });
  afterAll(async () => {
    await runner?.end('SIGTERM');
    await folder?.remove();
  });

  /** Returns text from the guide with the ports of this run. */
  const here = (shown: string): string =>
    [...ports].reduce((result, [port, own]) => result.replaceAll(new RegExp(`\\b${port}\\b`, 'g'), own), shown);

  const listings = readListings(text);
  test.each(listings)(`${file}, line $line`, async (listing) => {
    if (runner === undefined || folder === undefined) throw new Error('there is no folder to follow the guide in');
    if (listing.kind === 'file') return runner.save(listing.name, here(listing.text));
    const shown = listing.shown.map(here);
    const all = runner;
    if (listing.kind === 'output') {
      // The listing shows settings. test/rules and server/foundation/configuration check that they exist.
      if (listing.shown.every((line) => /^[A-Z_]+=/.test(line))) return;
      // The guide shows no output for these commands. Each has an exemption (coverage.test.ts).
      if (listing.shown.every((line) => /^(npx|npm) /.test(line))) return;
      if (exemptionOf(slug, listing.shown.join('\n')) !== undefined) return;
      return vi.waitFor(() => expect(missingIn(all.output, shown)).toEqual([]), PATIENCE);
    }
    if (exemptionOf(slug, listing.command) !== undefined) return;
    if (listing.command.startsWith('npm install ')) return expectInstalled(listing.command, folder.path);
    const command = here(fillIn(listing.command, all.output, trial)).replace(
      /(^| )node (?=\S+\.mts$)/,
      `$1${NEWER_NODE} `,
    );
    if (RUNS_ON.test(listing.command) || trial.runsOn?.test(listing.command) === true) {
      const program = all.start(command);
      await vi.waitFor(() => expect(missingIn(program.output, shown)).toEqual([]), PATIENCE);
      if (/node (receiver|first-webhook|listener)/.test(command)) await untilListening(ports.get('3000') ?? '');
      expect(program.child.exitCode, program.output).toBeNull();
      return;
    }
    const run = async (): Promise<void> => {
      const program = all.start(command);
      const exitCode = await program.ended;
      expect(exitCode === 0, program.output).toBe(trial.fails?.test(listing.command) !== true);
      expect(missingIn(program.output, shown), program.output).toEqual([]);
    };
    if (READS.test(listing.command)) await vi.waitFor(run, { timeout: PATIENCE, interval: 200 });
    else await run();
  });
}

/** Fills in the ids that the reader has seen: the last id of each kind, unless the trial chooses another. */
function fillIn(command: string, output: string, { fillIn: own }: Trial): string {
  const filled = own?.(command, output) ?? command;
  return filled.replaceAll(/\b([a-z]+)_…/g, (placeholder, kind: string) => {
    const pattern = kind === 'whsec' || kind === 'ts' ? `${kind}_[A-Za-z0-9+/=_]+` : `${kind}_[0-9a-f]{32}`;
    return [...output.matchAll(new RegExp(pattern, 'g'))].at(-1)?.[0] ?? placeholder;
  });
}

/**
 * Checks that the reader's folder has the packages that a guide installs. The packages come from this clone's tarballs.
 */
function expectInstalled(command: string, folder: string): void {
  const names = command
    .split(/\s+/)
    .slice(2)
    .filter((word) => !word.startsWith('-'));
  for (const name of names) {
    const [, packed] = /(?:^|\/)(transfer-service(?:-sdk)?)-\d.*\.tgz$/.exec(name) ?? [];
    const module = packed === undefined ? name : packed.endsWith('-sdk') ? '@transfer-service/sdk' : packed;
    expect(() => createRequire(join(folder, 'x.js')).resolve(`${module}/package.json`), name).not.toThrow();
  }
}

async function untilListening(port: string): Promise<void> {
  await vi.waitFor(() => fetch(`http://localhost:${port}/`), PATIENCE);
}
