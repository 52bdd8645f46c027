import type { Ledger, Served } from './ledger/ledger.ts';
import { runClosedLoop } from './load/closed-loop.ts';
import type { LoadResult, Traffic } from './load/traffic.ts';
import { familyProcessorTimeMilliseconds, processorTimeMilliseconds } from './processor-time.ts';
import type { Stage } from './stage.ts';

/** Connections of a closed loop that asks for all there is. More make groups no larger: 256 is the most of a group. */
export const MANY_CONNECTIONS = 256;

/** What a run came to, and what it cost. */
export type Run = LoadResult & {
  /** Transfers a second. */
  readonly rate: number;
  /** CPU of the service, of PostgreSQL and of the generator for one transfer, in microseconds. */
  readonly service_us: number;
  readonly postgres_us: number;
  readonly generator_us: number;
  /** Write-ahead log for one transfer, in bytes. */
  readonly log_bytes: number;
};

type Costs = {
  readonly serviceMilliseconds: number;
  readonly postgresMilliseconds: number;
  readonly log_bytes: number;
};

/** What is measured: the books that must hold what is answered, and the processes whose CPU counts. */
export type Measured = { readonly ledger: Ledger; readonly services: readonly Served[] };

/** Runs a load and notes what it cost. Throws when anything but success was answered: such a rate is worth nothing. */
export async function measure(
  stage: Stage,
  { ledger, services }: Measured,
  load: () => Promise<LoadResult>,
): Promise<Run> {
  const before = await readCosts(stage, services);
  const result = await load();
  const after = await readCosts(stage, services);
  ledger.answered += result.answered;
  if (result.failed > 0) throw new Error(`${result.failed} requests failed. The first: ${result.firstFailure}`);
  const perTransfer = (name: keyof Costs): number => (after[name] - before[name]) / result.answered;
  return {
    ...result,
    rate: result.answered / result.elapsed_s,
    service_us: perTransfer('serviceMilliseconds') * 1000,
    postgres_us: perTransfer('postgresMilliseconds') * 1000,
    generator_us: (result.generatorCores * result.elapsed_s * 1e6) / result.answered,
    log_bytes: perTransfer('log_bytes'),
  };
}

/** A measured closed loop of single transfers, with a checkpoint in it. */
export function measureTransfers(
  stage: Stage,
  measured: Measured,
  {
    traffic,
    connections,
    seconds,
  }: { readonly traffic: Traffic; readonly connections: number; readonly seconds: number },
): Promise<Run> {
  return measure(stage, measured, () =>
    withCheckpoint(stage, seconds, () => runClosedLoop(loopOf(stage), traffic, connections, seconds)),
  );
}

/** Lets the just-in-time compilers and the caches see the traffic before anything is measured. */
export async function warmUp(stage: Stage, ledger: Ledger, traffic: Traffic, connections: number): Promise<void> {
  const result = await runClosedLoop(loopOf(stage), traffic, connections, stage.options.warmUp_s);
  ledger.answered += result.answered;
}

/**
 * Orders a checkpoint when a third of the time has passed. PostgreSQL makes one every few minutes, after which each page
 * goes to the log whole once more; so every run pays for one, whatever its length, and none by chance.
 */
export async function withCheckpoint<Result>(
  { server }: Stage,
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

/** The closed loop of a stage. */
export function loopOf({ belongings, wrk }: Stage): Parameters<typeof runClosedLoop>[0] {
  return { belongings, wrk: wrk?.path };
}

async function readCosts({ server }: Stage, services: readonly Served[]): Promise<Costs> {
  const { rows } = await server.query('postgres', "select pg_current_wal_insert_lsn() - '0/0' as position");
  return {
    serviceMilliseconds: services.reduce((sum, { processId }) => sum + processorTimeMilliseconds(processId), 0),
    postgresMilliseconds: familyProcessorTimeMilliseconds(server.processId),
    log_bytes: Number(rows[0]?.position),
  };
}
