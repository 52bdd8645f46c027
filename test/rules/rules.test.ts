import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inspectImports } from '../../tools/imports.ts';
import { inspect } from '../../tools/tidy.ts';
import { type Example, importExamples, tidyExamples } from './examples.ts';
import { lintExamples } from './lint-examples.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const BIOME = join(ROOT, 'node_modules', '@biomejs', 'biome', 'bin', 'biome');

type Files = Readonly<Record<string, string>>;

const all = (examples: readonly Example[]): Files =>
  Object.assign({}, ...examples.flatMap(({ broken, clean }) => [broken, clean]));

/** Writes the files as a separate project with this project's settings. */
function layOut(files: Files): string {
  const folder = mkdtempSync(join(tmpdir(), 'transfer-service-rules-'));
  for (const path of ['biome.json', '.gitignore', 'tools/lint']) {
    cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** Returns Biome's reports as `file:line: sentence`. */
function lint(folder: string): readonly string[] {
  const run = spawnSync(process.execPath, [BIOME, 'lint', '--reporter=github', '--max-diagnostics=none'], {
    cwd: folder,
    encoding: 'utf8',
  });
  // Biome reports an unreadable plugin only as a notice.
  if (/ errored: /.test(run.stdout)) throw new Error(run.stdout);
  return [...run.stdout.matchAll(/^::(?:error|warning) title=(.*?),file=(.*?),line=(\d+),.*?::(.*)$/gm)].map(
    ([, rule = '', file = '', line, sentence]) =>
      `${file.replace(/^.*transfer-service-rules-[^/]+\//, '')}:${line}: ${rule === 'plugin' ? sentence : rule}`,
  );
}

let linted: readonly string[] = [];
let imports: Awaited<ReturnType<typeof inspectImports>> = { modules: 0, problems: [] };
const folders: string[] = [];

beforeAll(async () => {
  const [toLint, toCruise] = [layOut(all(lintExamples)), layOut(all(importExamples))];
  folders.push(toLint, toCruise);
  linted = lint(toLint);
  imports = await inspectImports(toCruise);
});

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const about = (files: Files, problems: readonly string[]) =>
  problems.filter((problem) => Object.keys(files).some((path) => problem.startsWith(path))).sort();

const beginnings = (problems: readonly string[], says: readonly string[]) =>
  problems.map((problem, index) => problem.slice(0, says[index]?.length));

describe.each([
  ...lintExamples.map((example) => ({ ...example, check: () => linted })),
  ...importExamples.map((example) => ({ ...example, check: () => imports.problems })),
])('$rule', ({ broken, clean, says, check }) => {
  it('is reported if it is broken', () => {
    const problems = about(broken, check());
    expect(problems).toHaveLength(says.length);
    expect(beginnings(problems, [...says].sort())).toEqual([...says].sort());
  });

  it('is not reported for the most similar allowed text', () => {
    expect(about(clean, check())).toEqual([]);
  });
});

const asFiles = (files: Files) => Object.entries(files).map(([path, text]) => ({ path, text }));

describe.each(tidyExamples)('$rule', ({ broken, clean, says }) => {
  it('is reported if it is broken', () => {
    const problems = inspect(asFiles(broken));
    expect(beginnings(problems, says)).toEqual(says);
  });

  it('is not reported for the most similar allowed text', () => {
    expect(inspect(asFiles(clean))).toEqual([]);
  });
});

describe('the programs', () => {
  const run = (program: string, folder: string) =>
    spawnSync(process.execPath, [join(ROOT, program), folder], { encoding: 'utf8' });

  it('fail if the parser reads too little to find anything', () => {
    const folder = layOut({ 'domain/card.ts': 'export {};\n' });
    folders.push(folder);
    const { status, stdout } = run('tools/imports.ts', folder);
    expect(stdout).toBe('Only 1 modules were read; expected at least 400.\n');
    expect(status).toBe(1);
  });

  it('print a line for each problem and fail', () => {
    const folder = layOut({ 'domain/card.ts': "import '../server/store/card.ts';\nexport class Card {}\n" });
    folders.push(folder);
    expect(run('tools/imports.ts', folder)).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^domain\/card\.ts -> /),
    });
    expect(run('tools/tidy.ts', folder)).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^domain\/card\.ts:2: Card is exported/),
    });
  });

  it('accept correct files', () => {
    const folder = layOut({ 'domain/card.ts': '/** A card. */\nexport class Card {}\n' });
    folders.push(folder);
    expect(run('tools/tidy.ts', folder)).toMatchObject({ status: 0, stdout: '' });
  });
});

/**
 * Writes that the service makes even if a required standby is missing. No response depends on them, and a second run
 * changes nothing. For example, they write leases, outcomes of deliveries, the error log, times of use and breakers.
 */
const WRITES_WITHOUT_GUARD = [
  'server/background/delivery/leases.ts',
  'server/background/delivery/outcome-writer.ts',
  'server/background/jobs/relay-events.ts',
  'server/background/jobs/retention.ts',
  'server/background/processors/carry-out.ts',
  'server/background/processors/open-processors.ts',
  'server/store/connection/database.ts',
  'server/store/events/read-events.ts',
  'server/store/figures.ts',
  'server/store/ledger-mode.ts',
  'server/subjects/cards/erase-card-holder.ts',
  'server/subjects/errors/error-storage.ts',
  'server/subjects/keys/authenticate.ts',
  'server/subjects/overview/overview.ts',
  'server/subjects/sessions/authenticate-session.ts',
  'server/subjects/webhooks/vault.ts',
];

it('every write passes the guard for a required standby, with a few listed exceptions', () => {
  const found = globSync('server/**/*.ts', { cwd: ROOT }).filter(
    (file) =>
      !file.endsWith('.test.ts') &&
      /\b(writeUnguarded|inOnePacket|underLock)\(/.test(readFileSync(join(ROOT, file), 'utf8')),
  );
  expect(found.sort()).toEqual(WRITES_WITHOUT_GUARD);
});
