import { median, short, whole } from '../figures.ts';
import { withLedger } from '../ledger/ledger.ts';
import { runGenerator } from '../load/run-generator.ts';
import type { LoadResult } from '../load/traffic.ts';
import { MANY_CONNECTIONS, measure, measureTransfers, type Run, warmUp, withCheckpoint } from '../measure.ts';
import type { Outcome } from '../outcome.ts';
import type { Stage } from '../stage.ts';

/** Latencies for the plot, in milliseconds. */
export type HalfRateLatencies = Readonly<Record<'alone' | 'half' | 'full', LoadResult['latenciesMilliseconds']>>;

type Round = { readonly full: Run; readonly alone: Run; readonly half: Run };

/**
 * Target 5: the 99th percentile at half the maximum rate, with requests that arrive when they are due and not when the
 * answer before them is there, against the median of a lone caller. Our own generator takes both, since wrk has no open
 * loop; a latency runs from the moment at which the request was due.
 */
export function atHalfTheRate(
  stage: Stage,
): Promise<{ readonly outcome: Outcome; readonly latencies: HalfRateLatencies }> {
  const { belongings, options } = stage;
  const { seconds } = options;
  return withLedger(stage, async (service, ledger) => {
    const { traffic } = service;
    const measured = { ledger, services: [service] };
    const generate = (
      more: { readonly mode: 'closed' } | { readonly mode: 'open'; readonly rate: number },
      connections: number,
    ): Promise<Run> =>
      measure(stage, measured, () =>
        withCheckpoint(stage, seconds, () =>
          runGenerator(belongings, { ...traffic, ...more, connections, seconds, send: { kind: 'transfers' } }),
        ),
      );
    await warmUp(stage, ledger, traffic, MANY_CONNECTIONS);
    const rounds: Round[] = [];
    for (let round = 0; round < options.rounds; round += 1) {
      const full = await measureTransfers(stage, measured, { traffic, connections: MANY_CONNECTIONS, seconds });
      const alone = await generate({ mode: 'closed' }, 1);
      const half = await generate({ mode: 'open', rate: full.rate / 2 }, MANY_CONNECTIONS);
      rounds.push({ full, alone, half });
    }
    const latencies = { alone: middle(rounds, 'alone'), half: middle(rounds, 'half'), full: middle(rounds, 'full') };
    return { outcome: toOutcome(rounds), latencies };
  });
}

/** Each percentile as the median of the rounds. */
function middle(rounds: readonly Round[], which: keyof Round): LoadResult['latenciesMilliseconds'] {
  const of = (name: keyof LoadResult['latenciesMilliseconds']): number =>
    median(rounds.map((round) => round[which].latenciesMilliseconds[name]));
  return { p50: of('p50'), p90: of('p90'), p99: of('p99'), p999: of('p999'), most: of('most') };
}

function toOutcome(rounds: readonly Round[]): Outcome {
  const p99Milliseconds = median(rounds.map(({ half }) => half.latenciesMilliseconds.p99));
  const aloneMilliseconds = median(rounds.map(({ alone }) => alone.latenciesMilliseconds.p50));
  const offered = median(rounds.map(({ half }) => half.rate));
  return {
    target: 5,
    title: '99th percentile at half the maximum rate (open loop) against the lone median',
    measured: `${short(p99Milliseconds)} ms at ${whole(offered)}/s`,
    against: `${short(aloneMilliseconds)} ms`,
    ratio: p99Milliseconds / aloneMilliseconds,
    bound: { at: 'most', ratio: 25 },
    aim: null,
    runs: {
      'p99 at half the rate, ms': rounds.map(({ half }) => half.latenciesMilliseconds.p99),
      'lone median, ms': rounds.map(({ alone }) => alone.latenciesMilliseconds.p50),
      'maximum rate': rounds.map(({ full }) => full.rate),
    },
    notes: [
      `At half the rate the median was ${short(median(rounds.map(({ half }) => half.latenciesMilliseconds.p50)))} ms.`,
    ],
  };
}
