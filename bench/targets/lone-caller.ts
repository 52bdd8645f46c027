import { median, short, whole } from '../figures.ts';
import { withLedger } from '../ledger/ledger.ts';
import { MANY_CONNECTIONS, measureTransfers, warmUp } from '../measure.ts';
import type { Outcome } from '../outcome.ts';
import { measurePgbench } from '../pgbench.ts';
import { interleave } from '../rounds.ts';
import type { Stage } from '../stage.ts';

/** Target 4: one client that sends one transfer at a time, against one client of pgbench, by their median latencies. */
export function aloneAgainstPgbench(stage: Stage): Promise<Outcome> {
  const { rounds, seconds } = stage.options;
  return withLedger(stage, async (service, ledger) => {
    const { traffic } = service;
    // What is called a thousand times a second alone takes a minute to be compiled well; many callers do it in seconds.
    await warmUp(stage, ledger, traffic, MANY_CONNECTIONS);
    await warmUp(stage, ledger, traffic, 1);
    const runs = await interleave(rounds, {
      service: () => measureTransfers(stage, { ledger, services: [service] }, { traffic, connections: 1, seconds }),
      pgbench: () => measurePgbench(stage, 1, true),
    });
    const ownMilliseconds = median(runs.service.map((run) => run.latenciesMilliseconds.p50));
    const pgbenchMilliseconds = median(runs.pgbench.map((run) => run.p50Milliseconds));
    const service_us = median(runs.service.map((run) => run.service_us));
    const postgres_us = median(runs.service.map((run) => run.postgres_us));
    return {
      target: 4,
      title: 'median latency of a lone client against one client of pgbench',
      measured: `${short(ownMilliseconds)} ms`,
      against: `${short(pgbenchMilliseconds)} ms`,
      ratio: ownMilliseconds / pgbenchMilliseconds,
      bound: { at: 'most', ratio: 2 },
      aim: null,
      runs: {
        'service, ms': runs.service.map((run) => run.latenciesMilliseconds.p50),
        'pgbench, ms': runs.pgbench.map((run) => run.p50Milliseconds),
      },
      notes: [
        `Of it CPU: service ${whole(service_us)} µs, PostgreSQL ${whole(postgres_us)} µs; ` +
          'the rest is the disk, the kernel and waking up.',
      ],
    };
  });
}
