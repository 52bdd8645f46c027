import { median, whole } from '../figures.ts';
import { withLedger } from '../ledger/ledger.ts';
import { MANY_CONNECTIONS, measureTransfers, warmUp } from '../measure.ts';
import type { Outcome } from '../outcome.ts';
import { interleave } from '../rounds.ts';
import type { Stage } from '../stage.ts';

/**
 * Target 3: one program whose funding account every transfer debits, against a thousand programs. Both name the program
 * by its header under one operator's key, so that looking keys up does not slow one side only.
 */
export function againstSpreadPrograms(stage: Stage): Promise<Outcome> {
  const { rounds, seconds } = stage.options;
  const { spreadPrograms } = stage.seed;
  return withLedger(stage, async (service, ledger) => {
    const { traffic } = service;
    const spread = { ...traffic, programs: spreadPrograms, cards: 1 };
    const run = (which: typeof traffic) =>
      measureTransfers(
        stage,
        { ledger, services: [service] },
        { traffic: which, connections: MANY_CONNECTIONS, seconds },
      );
    await warmUp(stage, ledger, traffic, MANY_CONNECTIONS);
    await warmUp(stage, ledger, spread, MANY_CONNECTIONS);
    const runs = await interleave(rounds, { hot: () => run(traffic), spread: () => run(spread) });
    const hotRate = median(runs.hot.map(({ rate }) => rate));
    const spreadRate = median(runs.spread.map(({ rate }) => rate));
    return {
      target: 3,
      title: `one funding account against ${whole(spreadPrograms.length)} of them`,
      measured: `${whole(hotRate)}/s`,
      against: `${whole(spreadRate)}/s`,
      ratio: hotRate / spreadRate,
      bound: { at: 'least', ratio: 0.9 },
      aim: null,
      runs: { 'one program': runs.hot.map(({ rate }) => rate), 'many programs': runs.spread.map(({ rate }) => rate) },
      notes: [],
    };
  });
}
