import { startService } from '../../test/harness/process.ts';
import type { Traffic } from '../load/traffic.ts';
import type { Site, Stage } from '../stage.ts';
import { examineBooks } from './books.ts';
import { HOT_CARDS } from './seed.ts';
import { databaseUrl, LIVE } from './server.ts';

/** A service in live mode on a ledger. */
export type Served = {
  readonly database: string;
  readonly processId: number;
  /** The metrics page, if the settings ask for one. */
  readonly metricsUrl: string | undefined;
  /** Transfers from one hot funding account to a thousand cards; a workload may change keys and cards. */
  readonly traffic: Traffic;
  /** Stops the service as an operator would. Throws if its exit code is not 0. */
  readonly stop: () => Promise<void>;
};

/** A database with the schema and the seed, and the number of transfers that it must have. */
export type Ledger = {
  readonly database: string;
  /** Transfers that were acknowledged with 201, or inserted by the fill. */
  acknowledged: number;
};

let made = 0;

export async function createLedger({ server, seed }: Site): Promise<Ledger> {
  made += 1;
  const database = `bench_ledger_${made}`;
  await server.query('postgres', `create database ${database} owner transfer_service template ${seed.database}`);
  return { database, acknowledged: 0 };
}

/** Removes a ledger, so that its vacuum does not disturb later measurements. */
export async function dropLedger({ server }: Site, { database }: Ledger): Promise<void> {
  await server.query('postgres', `drop database ${database} with (force)`);
}

export async function serve(
  { resources, seed, server }: Pick<Stage, 'resources' | 'seed' | 'server'>,
  { database }: Ledger,
  settings: Readonly<Record<string, string>> = {},
): Promise<Served> {
  made += 1;
  const service = await startService({
    ...LIVE,
    DATABASE_URL: databaseUrl(server, database),
    DATA_DIR: `${server.directory}/service-${made}`,
    ...settings,
  });
  const stop = resources.add('a measured service', async () => {
    const code = await service.stop();
    if (code !== 0) throw new Error(`a measured service ended with ${code}: ${service.errors()}`);
  });
  const traffic = { url: service.url, keys: [seed.hot.key], cards: HOT_CARDS };
  const metricsUrl = /Metrics: (\S+)/.exec(service.output())?.[1];
  return { database, processId: service.child.pid ?? 0, metricsUrl, traffic, stop };
}

/**
 * Makes a new ledger with a service on it, runs `run` with both, and then compares the books with the acknowledged transfers. A
 * rate counts only if the money is right.
 */
export async function withLedger<Result>(
  stage: Stage,
  run: (service: Served, ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const ledger = await createLedger(stage);
  const service = await serve(stage, ledger);
  const result = await run(service, ledger);
  await service.stop();
  await examineBooks(stage.server, ledger.database, ledger.acknowledged);
  await dropLedger(stage, ledger);
  return result;
}
