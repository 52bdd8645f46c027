import { withLedger } from './ledger/ledger.ts';
import { measureTransfers, type Run, warmUp } from './measure.ts';
import { measurePgbench, PGBENCH_CLIENTS } from './pgbench.ts';
import type { Stage } from './stage.ts';

/** How many at once, and what rate that gave: the service over HTTP and pgbench without. Single runs, no target. */
export type Concurrency = {
  readonly service: readonly { readonly callers: number; readonly rate: number; readonly service_us: number }[];
  readonly pgbench: readonly { readonly callers: number; readonly rate: number }[];
};

const CALLERS = [1, 4, 16, 64, 256, 512] as const;

/** Measures the rate at several numbers of callers. */
export function measureConcurrency(stage: Stage): Promise<Concurrency> {
  const { seconds } = stage.options;
  return withLedger(stage, async (service, ledger) => {
    const { traffic } = service;
    await warmUp(stage, ledger, traffic, 256);
    const own: (Run & { readonly callers: number })[] = [];
    const theirs: { callers: number; rate: number }[] = [];
    for (const callers of CALLERS) {
      const run = await measureTransfers(
        stage,
        { ledger, services: [service] },
        { traffic, connections: callers, seconds },
      );
      own.push({ ...run, callers });
    }
    for (const clients of stage.pgbench === undefined ? [] : [1, 4, ...PGBENCH_CLIENTS]) {
      theirs.push({ callers: clients, rate: (await measurePgbench(stage, clients)).rate });
    }
    return {
      service: own.map(({ callers, rate, service_us }) => ({ callers, rate, service_us })),
      pgbench: theirs,
    };
  });
}
