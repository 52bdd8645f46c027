import type { Ledger, Served } from './ledger/ledger.ts';
import type { DatabaseServer } from './ledger/server.ts';
import { sendTransfers } from './load/run-generator.ts';
import type { Latencies, LoadResult, Traffic } from './load/traffic.ts';
import { familyProcessorTimeMilliseconds, processorTimeMilliseconds } from './processor-time.ts';
import type { Stage } from './stage.ts';

/**
 * The number of connections that reaches the maximum rate. More would not make the groups larger, because a group has at most 256
 * transfers.
 */
export const MANY_CONNECTIONS = 256;

/** The rate of a run and its cost, for the service, pgbench or the bare route. */
export type Run = {
  /** Transfers, transactions or requests that succeeded. */
  readonly count: number;
  readonly elapsedSeconds: number;
  readonly rate: number;
  readonly latenciesMilliseconds: Latencies;
  /** CPU time for each success: of the service (or the bare route), of PostgreSQL, and of the generator or pgbench. */
  readonly serviceMicroseconds: number;
  readonly postgresMicroseconds: number;
  readonly generatorMicroseconds: number;
  /** CPU time of the generator, in cores. */
  readonly generatorCores: number;
  /** Write-ahead log per success. */
  readonly logBytes: number;
  /** Events delivered to a webhook during the run, per second. */
  readonly deliveriesPerSecond?: number;
};

/** The ledger that must contain every acknowledged transfer, and the service whose CPU time is measured. */
export type Measured = { readonly ledger: Ledger; readonly service: Served };

/** Runs a load and measures its cost. Throws if a request failed, because the rate would then mean nothing. */
export async function measure(
  { server }: Pick<Stage, 'server'>,
  { ledger, service }: Measured,
  load: () => Promise<LoadResult>,
): Promise<Run> {
  const before = await readCosts(server, service.processId);
  const result = await load();
  const after = await readCosts(server, service.processId);
  ledger.acknowledged += result.succeeded;
  return toRun(result, before, after);
}

/** The CPU time and the position of the log before or after a run. */
export type Costs = {
  readonly serviceMilliseconds: number;
  readonly postgresMilliseconds: number;
  readonly logBytes: number;
};

/** Computes the cost of a run from the counters before and after it. Throws if a request failed. */
export function toRun(result: LoadResult, before: Costs, after: Costs): Run {
  const { succeeded, elapsedSeconds, generatorCores } = result;
  if (result.failed > 0) throw new Error(`${result.failed} requests failed. The first: ${result.firstFailure}`);
  const each = (name: keyof Costs): number => (after[name] - before[name]) / succeeded;
  return {
    count: succeeded,
    elapsedSeconds,
    rate: succeeded / elapsedSeconds,
    latenciesMilliseconds: result.latenciesMilliseconds,
    serviceMicroseconds: each('serviceMilliseconds') * 1000,
    postgresMicroseconds: each('postgresMilliseconds') * 1000,
    generatorMicroseconds: (generatorCores * elapsedSeconds * 1e6) / succeeded,
    generatorCores,
    logBytes: each('logBytes'),
  };
}

/** Measures a closed loop of single transfers, with a checkpoint in it. */
export function measureTransfers(
  stage: Stage,
  measured: Measured,
  traffic: Traffic,
  connections: number,
  seconds: number = stage.options.seconds,
): Promise<Run> {
  return measure(stage, measured, () =>
    withCheckpoint(stage, seconds, () => sendTransfers(stage.resources, traffic, connections, seconds)),
  );
}

/** Warms up the just-in-time compilers and the caches before anything is measured. */
export async function warmUp(
  { resources, options }: Stage,
  ledger: Ledger,
  traffic: Traffic,
  connections: number,
  seconds: number = options.warmUpSeconds,
): Promise<void> {
  const { succeeded, failed, firstFailure } = await sendTransfers(resources, traffic, connections, seconds);
  if (failed > 0) throw new Error(`${failed} requests of the warm-up failed. The first: ${firstFailure}`);
  ledger.acknowledged += succeeded;
}

/**
 * Requests a checkpoint after a third of the time, so that every run includes one, whether it is long or short.
 * PostgreSQL makes a checkpoint every few minutes, and then the first change of each page writes the full page to the
 * log.
 */
export async function withCheckpoint<Result>(
  { server }: { readonly server: DatabaseServer },
  seconds: number,
  run: () => Promise<Result>,
): Promise<Result> {
  let checkpoint: Promise<unknown> = Promise.resolve();
  const timer = setTimeout(
    () => {
      checkpoint = server.query('postgres', 'checkpoint');
    },
    (seconds * 1000) / 3,
  );
  try {
    return await run();
  } finally {
    clearTimeout(timer);
    await checkpoint;
  }
}

/** Reads the counters of a service (0 for none) and of its PostgreSQL. */
export async function readCosts(server: DatabaseServer, serviceProcessId: number): Promise<Costs> {
  const { rows } = await server.query('postgres', "select pg_current_wal_insert_lsn() - '0/0' as position");
  return {
    serviceMilliseconds: serviceProcessId === 0 ? 0 : processorTimeMilliseconds(serviceProcessId),
    postgresMilliseconds: familyProcessorTimeMilliseconds(server.processId),
    logBytes: Number(rows[0]?.position),
  };
}
