import { withLedger } from './ledger/ledger.ts';
import { MANY_CONNECTIONS, measureTransfers, warmUp } from './measure.ts';
import type { Stage } from './stage.ts';

/** The rate at some numbers of connections: single runs, for the chart. */
export type RatesByConnections = readonly { readonly connections: number; readonly rate: number }[];

const CONNECTIONS = [1, 4, 16, 64, 256, 512] as const;

/** Shorter than other runs: the chart shows a shape. */
const MAX_SECONDS = 5;

/** Measures the rate at several numbers of connections. */
export function measureConnections(stage: Stage): Promise<RatesByConnections> {
  const seconds = Math.min(MAX_SECONDS, stage.options.seconds);
  return withLedger(stage, async (service, ledger) => {
    await warmUp(stage, ledger, service.traffic, MANY_CONNECTIONS);
    const rates: { connections: number; rate: number }[] = [];
    for (const connections of CONNECTIONS) {
      const { rate } = await measureTransfers(stage, { ledger, service }, service.traffic, connections, seconds);
      rates.push({ connections, rate });
    }
    return rates;
  });
}
