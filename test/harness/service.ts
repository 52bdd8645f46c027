import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { TransferServiceError } from '../../sdk/client.ts';
import { ledgerDirectory } from './ledger-directory.ts';
import { type ServiceProcess, startService, temporaryDirectory } from './process.ts';
import { endWithWorker, useWorker } from './run/worker.ts';

type Settings = Readonly<Record<string, string>>;
type KeptService = ServiceProcess & { readonly directory: string };

/**
 * A service on a sandbox ledger, whose DATA_DIR is `directory`. All files of a worker process that ask for the same settings
 * share it, one after the other: a file makes cards and programs of its own, counts no rows but its own, and leaves the clock
 * and the switch as it found them. Webhooks that it leaves are deleted. Other tests take `useOwnService`.
 */
export function useService(settings: Settings = {}): () => KeptService {
  useWorker();
  let service: KeptService | undefined;
  beforeAll(async () => {
    service = await keptService(settings);
  });
  return () => {
    if (service === undefined) throw new Error('the service was not started');
    return service;
  };
}

const kept = new Map<string, Promise<KeptService>>();

/** A service that has ended, such as one killed by a test, is replaced. */
async function keptService(settings: Settings): Promise<KeptService> {
  const key = JSON.stringify(Object.entries(settings).sort());
  const known = await kept.get(key)?.catch(() => undefined);
  if (known !== undefined && isUp(known)) {
    await deleteWebhooks(known);
    return known;
  }
  const starting = startOnNewLedger(settings);
  kept.set(
    key,
    starting.then(({ service }) => service),
  );
  const { service, end } = await starting;
  endWithWorker(end);
  return service;
}

/** The timelines of later files would show that their events wait for the webhooks of an earlier one. */
async function deleteWebhooks({ client }: KeptService): Promise<void> {
  const webhooks = client.operatorWebhooks;
  for await (const { webhook_id } of webhooks.listAll()) await webhooks.delete(webhook_id);
}

const isUp = ({ child }: ServiceProcess): boolean => child.exitCode === null && child.signalCode === null;

async function startOnNewLedger(settings: Settings) {
  const directory = await ledgerDirectory();
  try {
    const service = Object.assign(await startService({ DATA_DIR: directory.path, ...settings }), {
      directory: directory.path,
    });
    const end = async (): Promise<void> => {
      if (isUp(service)) await service.stop();
      await directory.remove();
    };
    return { service, end };
  } catch (error) {
    await directory.remove();
    throw error;
  }
}

/**
 * The same for one file alone, on a new ledger, and ended with it. `reason` says how the file and others would disturb each
 * other: each own service costs a second of two cores.
 */
export function useOwnService(reason: string, settings: Settings = {}): () => KeptService {
  let started: Awaited<ReturnType<typeof startOnNewLedger>> | undefined;
  beforeAll(async () => {
    started = await startOnNewLedger(settings);
  });
  afterAll(() => started?.end());
  return () => {
    if (started === undefined) throw new Error(`the service of its own (${reason}) was not started`);
    return started.service;
  };
}

/** An empty directory for all tests of a file, or a `ledgerDirectory`; removed after everything started later has ended. */
export async function useDirectory(make = temporaryDirectory): ReturnType<typeof temporaryDirectory> {
  const directory = await make();
  afterAll(directory.remove);
  return directory;
}

/** A data directory with the tables of a ledger and no rows; removed at the end of the test. */
export async function directoryForTest(): Promise<string> {
  const { path, remove } = await ledgerDirectory();
  onTestFinished(remove);
  return path;
}

/** Starts a service that is stopped at the end of the test, if it still runs. */
export async function startForTest(settings: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const service = await startService(settings);
  onTestFinished(async () => {
    if (service.child.exitCode === null && service.child.signalCode === null) await service.stop();
  });
  return service;
}

/** The error of a call that must be refused by the service. */
export async function refusalOf(
  call: Promise<unknown>,
): Promise<TransferServiceError & { readonly requestId: string }> {
  const outcome = await call.then(
    (record: unknown) => new Error(`not refused: ${JSON.stringify(record)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof TransferServiceError && outcome.requestId !== undefined) {
    return Object.assign(outcome, { requestId: outcome.requestId });
  }
  throw outcome;
}

/** Fails unless every account equals its postings and holds and every currency sums to zero. */
export async function expectBalancedBooks({ client }: ServiceProcess): Promise<void> {
  const { balanced, currencies, differing_holds, differing_accounts } = await client.trialBalance.get();
  const right = { balanced: true, differing_holds: 0, differing_accounts: [] };
  expect({ balanced, differing_holds, differing_accounts }).toEqual(right);
  expect(currencies.length).toBeGreaterThan(0);
  expect(currencies.filter(({ sum }) => sum !== 0)).toEqual([]);
}
