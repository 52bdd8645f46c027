// npm run mutants -- [--only name,…] [--beside 2] [--out file]: is every seeded mistake caught by some test?
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { applyMutant, copySource } from './copy.ts';
import type { Mutant, Witness } from './mutant.ts';
import { MUTANTS } from './mutants.ts';
import { runWitness } from './run-witness.ts';

/** `survived` is a gap in the tests, `broken` an error in the table of mutants. */
export type MutantOutcome = {
  readonly mutant: string;
  readonly mistake: string;
  readonly outcome: 'caught' | 'survived' | 'broken';
  /** The test that caught it, or why it could not be judged. */
  readonly by: string;
  readonly seconds: number;
};

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { only: text, beside: { ...text, default: '2' }, out: text } });
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => interruption.abort());

process.exitCode = await run(choose(values.only?.split(',')));

function choose(names: readonly string[] | undefined): readonly Mutant[] {
  const unknown = names?.find((name) => !MUTANTS.some((mutant) => mutant.name === name));
  if (unknown === undefined) return MUTANTS.filter(({ name }) => names?.includes(name) ?? true);
  process.stderr.write(`There is no mutant '${unknown}'; there are: ${MUTANTS.map(({ name }) => name).join(', ')}.\n`);
  process.exit(2);
}

async function run(mutants: readonly Mutant[]): Promise<number> {
  say(`${mutants.length} mutants. First the unchanged source, which every test must pass.`);
  const spoilt = await inTurn(witnessesOf(mutants), checkUnchanged);
  if (spoilt.some((problem) => problem !== undefined)) {
    for (const problem of spoilt) if (problem !== undefined) say(problem);
    say('The mutants were not run: a test that fails without them would catch each of them.');
    return 1;
  }
  const outcomes = await inTurn(mutants, async (mutant) => {
    const outcome = await judge(mutant);
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

/** Each witness once. */
function witnessesOf(mutants: readonly Mutant[]): readonly Witness[] {
  const all = mutants.flatMap(({ witnesses }) => witnesses);
  return [...new Map(all.map((witness) => [`${witness.file} ${witness.only ?? ''}`, witness])).values()];
}

/** Works on the items, `--beside` at a time; begins nothing after Ctrl-C. */
async function inTurn<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length && !interruption.signal.aborted) {
      const at = next;
      next += 1;
      results[at] = await work(items[at] as Item);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Number(values.beside)) }, worker));
  return results.filter((result) => result !== undefined);
}

async function checkUnchanged(witness: Witness): Promise<string | undefined> {
  const copy = await copySource();
  try {
    const verdict = await runWitness(copy.path, witness, interruption.signal);
    if (verdict.is === 'passed') say(`passes    ${witness.file} ${witness.only ?? ''}: ${verdict.tests} tests`);
    if (verdict.is === 'failed') return `${witness.file} fails without any mutant: ${verdict.test}`;
    return verdict.is === 'broken' ? `${witness.file} does not run:\n${verdict.output}` : undefined;
  } finally {
    await copy.remove();
  }
}

async function judge(mutant: Mutant): Promise<MutantOutcome> {
  const started = performance.now();
  const end = (outcome: MutantOutcome['outcome'], by: string): MutantOutcome => {
    const seconds = Math.round((performance.now() - started) / 1000);
    return { mutant: mutant.name, mistake: mutant.mistake, outcome, by, seconds };
  };
  const copy = await copySource();
  try {
    await applyMutant(copy.path, mutant);
    for (const witness of mutant.witnesses) {
      const verdict = await runWitness(copy.path, witness, interruption.signal);
      if (verdict.is === 'failed') return end('caught', `${witness.file}: ${verdict.test}`);
      if (verdict.is === 'broken') return end('broken', `${witness.file} did not run:\n${verdict.output}`);
    }
    return end('survived', mutant.witnesses.map(({ file }) => file).join(', '));
  } catch (error) {
    return end('broken', String(error));
  } finally {
    await copy.remove();
  }
}
