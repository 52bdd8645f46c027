import { inWords, short, whole } from '../figures.ts';
import { examineBooks } from '../ledger/books.ts';
import { Fill } from '../ledger/fill.ts';
import { createLedger, dropLedger, type Ledger, type Served, serve } from '../ledger/ledger.ts';
import { measureReads, READS, type ReadLatencies } from '../ledger/reads.ts';
import type { Traffic } from '../load/traffic.ts';
import { MANY_CONNECTIONS, measureTransfers, type Run, warmUp } from '../measure.ts';
import type { Outcome } from '../outcome.ts';
import { interleave } from '../rounds/interleave.ts';
import { describe } from '../rounds/run-rounds.ts';
import type { Stage } from '../stage.ts';
import { compare, figures, medianOf } from './compare.ts';

const NAMES = ['empty', 'filled', 'every card'] as const;

export type StoredLedger = {
  readonly runs: Readonly<Record<(typeof NAMES)[number], readonly Run[]>>;
  readonly reads: Readonly<Record<'empty' | 'filled', ReadLatencies>>;
  readonly filledBytes: number;
};

/**
 * Measures the rate on a ledger with millions of transfers and a million cards, and on an empty one. Every run has a new process
 * on both sides. The empty ledger is new each time, so that its transfers do not fill it.
 */
export async function measureStoredLedger(stage: Stage): Promise<StoredLedger> {
  const { options } = stage;
  const { cards } = options.stored;
  const filled = await fillLedger(stage);
  const reads: Partial<Record<'empty' | 'filled', ReadLatencies>> = {};
  const contents = {
    empty: async () => {
      const empty = await createLedger(stage);
      const run = await runOn(stage, empty, {}, async (service) => {
        reads.empty ??= await measureReads(stage, service);
      });
      await examineBooks(stage.server, empty.database, empty.acknowledged);
      await dropLedger(stage, empty);
      return run;
    },
    filled: () =>
      runOn(stage, filled, {}, async (service) => {
        reads.filled ??= await measureReads(stage, service);
      }),
    'every card': () => runOn(stage, filled, { cards }),
  };
  const runs = await interleave(options.rounds, NAMES, async (name, round) => {
    const run = await contents[name]();
    stage.say(`  round ${round + 1}  ${name.padEnd(16)} ${describe(run)}`);
    return run;
  });
  const size = await stage.server.query(filled.database, 'select pg_database_size(current_database()) as bytes');
  await examineBooks(stage.server, filled.database, filled.acknowledged);
  await dropLedger(stage, filled);
  if (reads.empty === undefined || reads.filled === undefined) throw new Error('the reads were not measured');
  return {
    runs,
    reads: { empty: reads.empty, filled: reads.filled },
    filledBytes: Number(size.rows[0]?.bytes),
  };
}

async function fillLedger(stage: Stage): Promise<Ledger> {
  const { transfers, cards } = stage.options.stored;
  const filled = await createLedger(stage);
  const fill = new Fill(stage, filled);
  const begun = performance.now();
  const report = (what: string): void =>
    stage.say(`  ${what} stored after ${whole((performance.now() - begun) / 1000)} s`);
  await fill.addCards();
  report(`${inWords(cards)} cards`);
  await fill.fillUpTo(transfers);
  report(`${inWords(transfers)} transfers`);
  return filled;
}

async function runOn(
  stage: Stage,
  ledger: Ledger,
  change: Partial<Traffic> = {},
  andThen: (service: Served) => Promise<void> = async () => undefined,
): Promise<Run> {
  const service = await serve(stage, ledger);
  const traffic = { ...service.traffic, ...change };
  await warmUp(stage, ledger, traffic, MANY_CONNECTIONS);
  const run = await measureTransfers(stage, { ledger, service }, traffic, MANY_CONNECTIONS);
  await andThen(service);
  await service.stop();
  return run;
}

/** Row 10, which has two targets: the rate on a filled ledger, compared with an empty one. */
export function storedLedgerRows({ options }: Stage, { runs, reads, filledBytes }: StoredLedger): readonly Outcome[] {
  const { cards, transfers } = options.stored;
  const row = (
    [name, reference]: readonly ['filled', 'empty'] | readonly ['every card', 'filled'],
    title: string,
    least: number,
    notes: readonly string[],
  ): Outcome => {
    const { ratio, ratios, own, other } = compare(figures(runs[name], 'rate'), figures(runs[reference], 'rate'));
    return {
      row: 10,
      title,
      measured: `${whole(medianOf(runs[name], 'rate'))}/s`,
      against: `${whole(medianOf(runs[reference], 'rate'))}/s`,
      value: ratio,
      unit: '',
      target: { at: 'least', value: least },
      aim: null,
      runs: { ratio: ratios, 'measured, per second': own, 'against, per second': other },
      notes,
    };
  };
  return [
    row(['filled', 'empty'], `${inWords(transfers)} transfers and ${inWords(cards)} cards stored, against none`, 0.9, [
      `The filled ledger took ${short(filledBytes / 1024 ** 3)} GiB of disk.`,
      ...READS.map(
        (name) => `${name}: ${short(reads.filled[name])} ms, empty ${short(reads.empty[name])} ms (median).`,
      ),
    ]),
    row(
      ['every card', 'filled'],
      `transfers to any of these ${inWords(cards)} cards, against those to a thousand of them`,
      0.8,
      [],
    ),
  ];
}
