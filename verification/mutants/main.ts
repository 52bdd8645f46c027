// npm run mutants -- [--only name,… | --selection] [--parallel 2] [--out file]: checks that a test catches every seeded mistake.
// --selection runs only the mutants that npm run verify has time for.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import makeTemplates from '../../test/harness/ledger-templates.ts';
import { applyEdits, type Copy, copySource } from './copy.ts';
import type { Witness } from './mutant.ts';
import { MUTANTS, type NamedMutant } from './mutants.ts';
import { type Portion, runTests } from './run-witness.ts';
import { SELECTION } from './selection.ts';

/** `survived` is a gap in the tests, `broken` an error in the table of mutants. */
export type MutantOutcome = {
  readonly mutant: string;
  readonly mistake: string;
  readonly outcome: 'caught' | 'survived' | 'broken';
  /** The test that caught the mutant, or the reason why the mutant could not be judged. */
  readonly by: string;
  readonly seconds: number;
};

const text = { type: 'string' } as const;
const { values } = parseArgs({
  options: { only: text, selection: { type: 'boolean' }, parallel: { ...text, default: '2' }, out: text },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => interruption.abort());

const names = values.selection === true ? SELECTION : values.only?.split(',');
const unknown = names?.find((name) => !MUTANTS.some((mutant) => mutant.name === name));
if (unknown === undefined) {
  // All copies share the ledger templates, because creating them takes longer than most witnesses.
  const removeTemplates = makeTemplates();
  try {
    process.exitCode = await run(MUTANTS.filter(({ name }) => names?.includes(name) ?? true));
  } finally {
    await removeTemplates?.();
  }
} else {
  process.stderr.write(`There is no mutant '${unknown}'; there are: ${MUTANTS.map(({ name }) => name).join(', ')}.\n`);
  process.exitCode = 2;
}

async function run(mutants: readonly NamedMutant[]): Promise<number> {
  say(`${mutants.length} mutants. First, every test must pass on the unchanged source.`);
  const failures = await inTurn(portionsOf(mutants.flatMap(({ witnesses }) => witnesses)), checkUnchanged);
  if (failures.some((problem) => problem !== undefined)) {
    for (const problem of failures) if (problem !== undefined) say(problem);
    say('The mutants did not run: a test that fails without them would seem to catch each of them.');
    return 1;
  }
  const outcomes = await inTurn(mutants, async (mutant, copy) => {
    const outcome = await judge(mutant, copy);
    say(`${outcome.outcome.padEnd(8)}  ${outcome.mutant.padEnd(38)} ${outcome.seconds} s  ${outcome.by}`);
    return outcome;
  });
  if (interruption.signal.aborted) return 130;
  const file = resolve(values.out ?? `data/mutants/${new Date().toISOString().replaceAll(':', '-')}.json`);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(outcomes, undefined, 2)}\n`);
  const open = outcomes.filter(({ outcome }) => outcome !== 'caught');
  say(`\n${outcomes.length - open.length} of ${outcomes.length} caught. ${file}`);
  for (const { mutant, outcome, mistake } of open) say(`${outcome}: ${mutant}: ${mistake}`);
  return open.length === 0 ? 0 : 1;
}

/** Returns each witness once, in two groups: files that run completely, and files of which only some tests run. */
function portionsOf(witnesses: readonly Witness[]): readonly Portion[] {
  const whole = new Set(witnesses.filter(({ only }) => only === undefined).map(({ file }) => file));
  const narrow = witnesses.filter(({ file }) => !whole.has(file));
  const names = new Set(narrow.map(({ only }) => only));
  const portions = [
    { files: [...whole] },
    { files: [...new Set(narrow.map(({ file }) => file))], only: [...names].join('|') },
  ];
  return portions.filter(({ files }) => files.length > 0);
}

/** Works on the items, `--parallel` at a time, each with a copy of the source. Begins nothing after Ctrl-C. */
async function inTurn<Item, Result>(
  items: readonly Item[],
  work: (item: Item, copy: Copy) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    const copy = await copySource();
    try {
      while (next < items.length && !interruption.signal.aborted) {
        const at = next;
        next += 1;
        results[at] = await work(items[at] as Item, copy);
      }
    } finally {
      await copy.remove();
    }
  };
  await Promise.all(Array.from({ length: Math.min(items.length, Math.max(1, Number(values.parallel))) }, worker));
  return results.filter((result) => result !== undefined);
}

async function checkUnchanged(portion: Portion, { path }: Copy): Promise<string | undefined> {
  const verdict = await runTests({ path, makesLedgers: false }, portion, interruption.signal);
  if (verdict.is === 'passed') say(`passes    ${portion.files.length} files: ${verdict.tests} tests`);
  if (verdict.is === 'failed') return `This fails without any mutant: ${verdict.test}`;
  return verdict.is === 'broken' ? `Some of the tests do not run:\n${verdict.output}` : undefined;
}

async function judge(mutant: NamedMutant, { path }: Copy): Promise<MutantOutcome> {
  const started = performance.now();
  const end = (outcome: MutantOutcome['outcome'], by: string): MutantOutcome => {
    const seconds = Math.round((performance.now() - started) / 1000);
    return { mutant: mutant.name, mistake: mutant.mistake, outcome, by, seconds };
  };
  let undo: (() => Promise<void>) | undefined;
  try {
    const applied = await applyEdits(path, mutant.edits);
    undo = applied.undo;
    const makesLedgers = applied.files.some((file) => file.startsWith('server/store/migrations/'));
    for (const { file, only } of mutant.witnesses) {
      const verdict = await runTests({ path, makesLedgers }, { files: [file], only }, interruption.signal);
      if (verdict.is === 'failed') return end('caught', `${file}: ${verdict.test}`);
      if (verdict.is === 'broken') return end('broken', `${file} did not run:\n${verdict.output}`);
    }
    return end('survived', mutant.witnesses.map(({ file }) => file).join(', '));
  } catch (error) {
    return end('broken', String(error));
  } finally {
    await undo?.();
  }
}
