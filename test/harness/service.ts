import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { TransferServiceError } from '../../sdk/client.ts';
import { ledgerDirectory } from './ledger-directory.ts';
import { type ServiceProcess, type ServiceSettings, startService, temporaryDirectory } from './process.ts';
import { endWithWorker, useWorker } from './run/worker.ts';

type Settings = Readonly<Record<string, string>>;
type KeptService = ServiceProcess & { readonly directory: string };

/**
 * Uses a service on a sandbox ledger whose DATA_DIR is `directory`. All files of a worker process that need the same
 * settings share the service, one after the other. So each file must create its own cards and programs, count only its
 * own rows, and restore the clock and the switch. The file's webhooks are deleted automatically. Tests that cannot
 * share a service use `useOwnService`.
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

/** Returns the shared service. If it has ended, for example because a test killed it, starts a new one. */
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

/** Deletes webhooks. Otherwise, the timelines of later files would show events that wait to be sent to them. */
async function deleteWebhooks({ client }: KeptService): Promise<void> {
  const webhooks = client.operatorWebhooks;
  for await (const { webhook_id } of webhooks.listAll()) await webhooks.delete(webhook_id);
}

const isUp = ({ child }: ServiceProcess): boolean => child.exitCode === null && child.signalCode === null;

async function startOnNewLedger(settings: Settings) {
  const directory = await ledgerDirectory();
  try {
    const service = Object.assign(await startService({ ...settings, DATA_DIR: directory.path }), {
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
 * Starts a service on a new ledger for one file. The service ends with the file. `reason` says why the file cannot
 * share a service, because each extra service takes a second on two cores.
 */
export function useOwnService(reason: string, settings: Settings = {}): () => KeptService {
  let started: Awaited<ReturnType<typeof startOnNewLedger>> | undefined;
  beforeAll(async () => {
    started = await startOnNewLedger(settings);
  });
  afterAll(() => started?.end());
  return () => {
    if (started === undefined) throw new Error(`the file's own service (${reason}) was not started`);
    return started.service;
  };
}

/**
 * Creates an empty directory or a `ledgerDirectory` for all tests of a file. It is removed after everything that
 * started later has ended.
 */
export async function useDirectory(make = temporaryDirectory): ReturnType<typeof temporaryDirectory> {
  const directory = await make();
  afterAll(directory.remove);
  return directory;
}

/** Creates a data directory with the tables of a ledger but no rows. It is removed at the end of the test. */
export async function directoryForTest(): Promise<string> {
  const { path, remove } = await ledgerDirectory();
  onTestFinished(remove);
  return path;
}

/** Starts a service. At the end of the test, stops it if it is still running. */
export async function startForTest(settings: ServiceSettings): Promise<ServiceProcess> {
  const service = await startService(settings);
  onTestFinished(async () => {
    if (service.child.exitCode === null && service.child.signalCode === null) await service.stop();
  });
  return service;
}

/** Returns the error of a call that the service must refuse. */
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

/** Fails unless every account equals the sum of its postings and holds, and every currency sums to zero. */
export async function expectBalancedBooks({ client }: ServiceProcess): Promise<void> {
  const { balanced, currencies, differing_holds, differing_accounts } = await client.trialBalance.get();
  const right = { balanced: true, differing_holds: 0, differing_accounts: [] };
  expect({ balanced, differing_holds, differing_accounts }).toEqual(right);
  expect(currencies.length).toBeGreaterThan(0);
  expect(currencies.filter(({ sum }) => sum !== 0)).toEqual([]);
}
