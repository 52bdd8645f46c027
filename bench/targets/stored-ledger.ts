import { inWords, median, short, whole } from '../figures.ts';
import { examineBooks } from '../ledger/books.ts';
import { Fill } from '../ledger/fill.ts';
import { createLedger, dropLedger, type Ledger, type Served, serve } from '../ledger/ledger.ts';
import { explainReads, growingPlans, measureReads, READS, type ReadLatencies } from '../ledger/reads.ts';
import type { Traffic } from '../load/traffic.ts';
import { MANY_CONNECTIONS, measureTransfers, type Run, warmUp } from '../measure.ts';
import type { Outcome } from '../outcome.ts';
import { interleave } from '../rounds.ts';
import type { Stage } from '../stage.ts';

type Plans = Readonly<Record<string, readonly string[]>>;

/** What the filled ledger showed beside the target's ratio. */
export type StoredLedger = {
  /** Rates at a number of stored transfers; those between the first and the last are single runs. */
  readonly growth: readonly { readonly stored: number; readonly rate: number }[];
  readonly reads: Readonly<Record<'empty' | 'filled', ReadLatencies>>;
  /** Generic plans on the filled ledger, and on one that began empty and has no statistics of what came since. */
  readonly plans: Readonly<Record<'filled' | 'young', Plans>>;
  readonly filledBytes: number;
};

/** Shares of the whole at which the filling pauses for a run. */
const PAUSES = [0.2, 0.6, 1] as const;

/**
 * Target 6: the rate with millions of transfers and a million cards stored, against an empty ledger. Every run has a
 * freshly started service on either side, and the empty ledger is a new one each time: its own transfers must not fill it.
 */
export async function filledAgainstEmpty(
  stage: Stage,
): Promise<{ readonly outcome: Outcome; readonly stored: StoredLedger }> {
  const { options, say } = stage;
  const { cards, transfers } = options.stored;
  const filled = await createLedger(stage);
  const fill = new Fill(stage, filled);
  say(`  filling a ledger: ${inWords(cards)} cards, ${inWords(transfers)} transfers`);
  await fill.addCards();
  const growth: { stored: number; rate: number }[] = [];
  for (const share of PAUSES) {
    const begun = performance.now();
    await fill.fillUpTo(Math.round(transfers * share));
    say(
      `  ${inWords(transfers * share)} transfers are in, the last of them in ${whole((performance.now() - begun) / 1000)} s`,
    );
    if (share < 1) growth.push({ stored: filled.answered, rate: (await runOn(stage, filled)).rate });
  }
  let young: Plans | undefined;
  const reads: Partial<Record<'empty' | 'filled', ReadLatencies>> = {};
  const runs = await interleave(options.rounds, {
    empty: async () => {
      const empty = await createLedger(stage);
      const run = await runOn(stage, empty, {}, async (service) => {
        reads.empty ??= await measureReads(stage, service);
        young ??= await explainReads(stage, empty.database);
      });
      await examineBooks(stage.server, empty.database, empty.answered);
      await dropLedger(stage, empty);
      return run;
    },
    filled: () =>
      runOn(stage, filled, {}, async (service) => {
        reads.filled ??= await measureReads(stage, service);
      }),
    'filled, all cards': () => runOn(stage, filled, { cards }),
  });
  const plans = { filled: await explainReads(stage, filled.database), young: young ?? {} };
  const size = await stage.server.query(filled.database, 'select pg_database_size(current_database()) as bytes');
  await examineBooks(stage.server, filled.database, filled.answered);
  await dropLedger(stage, filled);
  if (reads.empty === undefined || reads.filled === undefined) throw new Error('the reads were not measured');
  const stored = {
    growth: completeGrowth(growth, runs, transfers),
    reads: { empty: reads.empty, filled: reads.filled },
    plans,
    filledBytes: Number(size.rows[0]?.bytes),
  };
  return { outcome: toOutcome(stage, runs, stored), stored };
}

type Runs = Readonly<Record<'empty' | 'filled' | 'filled, all cards', readonly Run[]>>;

async function runOn(
  stage: Stage,
  ledger: Ledger,
  change: Partial<Traffic> = {},
  andThen: (service: Served) => Promise<void> = async () => undefined,
): Promise<Run> {
  const service = await serve(stage, ledger);
  const traffic = { ...service.traffic, ...change };
  await warmUp(stage, ledger, traffic, MANY_CONNECTIONS);
  const { seconds } = stage.options;
  const measured = { ledger, services: [service] };
  const run = await measureTransfers(stage, measured, { traffic, connections: MANY_CONNECTIONS, seconds });
  await andThen(service);
  await service.stop();
  return run;
}

const rateOf = (runs: readonly Run[]): number => median(runs.map(({ rate }) => rate));

function completeGrowth(between: StoredLedger['growth'], runs: Runs, transfers: number): StoredLedger['growth'] {
  return [{ stored: 0, rate: rateOf(runs.empty) }, ...between, { stored: transfers, rate: rateOf(runs.filled) }];
}

function toOutcome({ options }: Stage, runs: Runs, { reads, plans, filledBytes }: StoredLedger): Outcome {
  const { cards, transfers } = options.stored;
  const everyCard = rateOf(runs['filled, all cards']);
  return {
    target: 6,
    title: `with ${inWords(transfers)} transfers and ${inWords(cards)} cards stored, against an empty ledger`,
    measured: `${whole(rateOf(runs.filled))}/s`,
    against: `${whole(rateOf(runs.empty))}/s`,
    ratio: rateOf(runs.filled) / rateOf(runs.empty),
    bound: { at: 'least', ratio: 0.9 },
    aim: null,
    runs: Object.fromEntries(Object.entries(runs).map(([name, all]) => [name, all.map(({ rate }) => rate)])),
    notes: [
      `With transfers to any of the ${inWords(cards)} cards instead of the same thousand: ${whole(everyCard)}/s.`,
      `The filled ledger took ${short(filledBytes / 1024 ** 3)} GB of disk.`,
      ...(['filled', 'young'] as const).map((which) => planNote(which, growingPlans(plans[which]))),
      ...READS.map(
        (name) => `${name}: ${short(reads.filled[name])} ms, empty ${short(reads.empty[name])} ms (median).`,
      ),
    ],
  };
}

function planNote(which: string, growing: readonly string[]): string {
  if (growing.length === 0) return `Generic plans on the ${which} ledger: all by index, none reads more than it gives.`;
  return `Generic plans on the ${which} ledger that cost more with every row: ${growing.join('; ')}.`;
}
