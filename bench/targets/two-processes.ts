import { median, whole } from '../figures.ts';
import { examineBooks } from '../ledger/books.ts';
import { serve, withLedger } from '../ledger/ledger.ts';
import { runClosedLoop } from '../load/closed-loop.ts';
import type { LoadResult } from '../load/traffic.ts';
import { loopOf, MANY_CONNECTIONS, measure, measureTransfers, warmUp, withCheckpoint } from '../measure.ts';
import type { Outcome } from '../outcome.ts';
import { interleave } from '../rounds.ts';
import type { Stage } from '../stage.ts';

/**
 * Target 8: two service processes on one database and one hot funding account, together, against one. After every run
 * of both the books are examined.
 */
export function twoAgainstOne(stage: Stage): Promise<Outcome> {
  const { rounds, seconds } = stage.options;
  return withLedger(stage, async (first, ledger) => {
    const second = await serve(stage, ledger);
    const half = MANY_CONNECTIONS / 2;
    const both = async (): Promise<LoadResult> => {
      const load = ({ traffic }: typeof first) => runClosedLoop(loopOf(stage), traffic, half, seconds);
      return together(await Promise.all([load(first), load(second)]));
    };
    await warmUp(stage, ledger, first.traffic, MANY_CONNECTIONS);
    await warmUp(stage, ledger, second.traffic, MANY_CONNECTIONS);
    const runs = await interleave(rounds, {
      one: () =>
        measureTransfers(
          stage,
          { ledger, services: [first] },
          { traffic: first.traffic, connections: MANY_CONNECTIONS, seconds },
        ),
      two: async () => {
        const services = [first, second];
        const run = await measure(stage, { ledger, services }, () => withCheckpoint(stage, seconds, both));
        await examineBooks(stage.server, ledger.database, ledger.answered);
        return run;
      },
    });
    await second.stop();
    const oneRate = median(runs.one.map(({ rate }) => rate));
    const twoRate = median(runs.two.map(({ rate }) => rate));
    return {
      target: 8,
      title: 'two service processes on one database, together, against one',
      measured: `${whole(twoRate)}/s`,
      against: `${whole(oneRate)}/s`,
      ratio: twoRate / oneRate,
      bound: { at: 'least', ratio: 0.8 },
      aim: null,
      runs: { two: runs.two.map(({ rate }) => rate), one: runs.one.map(({ rate }) => rate) },
      notes: ['The books balanced after every run of both.'],
    };
  });
}

/** Two generators as one: latencies are those of the slower half. */
function together(results: readonly LoadResult[]): LoadResult {
  const sum = (read: (result: LoadResult) => number): number => results.reduce((total, one) => total + read(one), 0);
  const most = (read: (result: LoadResult) => number): number => Math.max(...results.map(read));
  return {
    answered: sum(({ answered }) => answered),
    failed: sum(({ failed }) => failed),
    elapsed_s: most(({ elapsed_s }) => elapsed_s),
    latenciesMilliseconds: {
      p50: most(({ latenciesMilliseconds }) => latenciesMilliseconds.p50),
      p90: most(({ latenciesMilliseconds }) => latenciesMilliseconds.p90),
      p99: most(({ latenciesMilliseconds }) => latenciesMilliseconds.p99),
      p999: most(({ latenciesMilliseconds }) => latenciesMilliseconds.p999),
      most: most(({ latenciesMilliseconds }) => latenciesMilliseconds.most),
    },
    generatorCores: sum(({ generatorCores }) => generatorCores),
    firstFailure: results.find(({ firstFailure }) => firstFailure !== null)?.firstFailure ?? null,
  };
}
