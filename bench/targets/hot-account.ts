import { median, whole } from '../figures.ts';
import { withLedger } from '../ledger/ledger.ts';
import { MANY_CONNECTIONS, measureTransfers, type Run, warmUp } from '../measure.ts';
import type { Outcome } from '../outcome.ts';
import { measurePgbench, PGBENCH_CLIENTS, type PgbenchRun } from '../pgbench.ts';
import { interleave } from '../rounds.ts';
import type { Stage } from '../stage.ts';

/** Target 1: create_transfer over HTTP with one hot funding account, against pgbench's TPC-B without HTTP. */
export function againstPgbench(stage: Stage): Promise<Outcome> {
  const { seconds, rounds } = stage.options;
  return withLedger(stage, async (service, ledger) => {
    const { traffic } = service;
    await warmUp(stage, ledger, traffic, MANY_CONNECTIONS);
    const runs = await interleave(rounds, {
      service: () =>
        measureTransfers(stage, { ledger, services: [service] }, { traffic, connections: MANY_CONNECTIONS, seconds }),
      pgbench: async () => {
        const tried = [];
        for (const clients of PGBENCH_CLIENTS) tried.push(await measurePgbench(stage, clients));
        return tried;
      },
    });
    return toOutcome(runs.service, runs.pgbench);
  });
}

function toOutcome(service: readonly Run[], pgbench: readonly (readonly PgbenchRun[])[]): Outcome {
  const byClients = PGBENCH_CLIENTS.map((clients, index) => {
    const runs = pgbench.flatMap((tried) => tried[index] ?? []);
    return { clients, runs, rate: middle(runs, ({ rate }) => rate) };
  });
  const best = byClients.reduce((one, other) => (other.rate > one.rate ? other : one));
  const rate = middle(service, (run) => run.rate);
  const costs = (name: 'service_us' | 'postgres_us' | 'generator_us' | 'log_bytes'): string =>
    whole(middle(service, (run) => run[name]));
  return {
    target: 1,
    title: 'create_transfer, one hot funding account, against pgbench TPC-B',
    measured: `${whole(rate)}/s at ${MANY_CONNECTIONS} connections`,
    against: `${whole(best.rate)}/s at ${best.clients} clients`,
    ratio: rate / best.rate,
    bound: { at: 'least', ratio: 4 },
    aim: 5,
    runs: {
      service: service.map((run) => run.rate),
      ...Object.fromEntries(
        byClients.map(({ clients, runs }) => [`pgbench, ${clients} clients`, runs.map((run) => run.rate)]),
      ),
    },
    notes: [
      `CPU for a transfer: service ${costs('service_us')} µs, PostgreSQL ${costs('postgres_us')} µs, ` +
        `generator ${costs('generator_us')} µs; write-ahead log ${costs('log_bytes')} bytes.`,
      `CPU for a TPC-B transaction: PostgreSQL ${whole(middle(best.runs, (run) => run.postgres_us))} µs, ` +
        `pgbench ${whole(middle(best.runs, (run) => run.generator_us))} µs.`,
    ],
  };
}

function middle<Item>(runs: readonly Item[], read: (run: Item) => number): number {
  return median(runs.map(read));
}
