import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { TransferServiceError } from '../../sdk/client.ts';
import { ledgerDirectory } from './ledger-directory.ts';
import { type ServiceProcess, startService, temporaryDirectory } from './process.ts';

/** One service process for all tests of a file, on a new sandbox ledger; its DATA_DIR is `directory`. */
export function useService(
  settings: Readonly<Record<string, string>> = {},
): () => ServiceProcess & { readonly directory: string } {
  let directory: Awaited<ReturnType<typeof ledgerDirectory>> | undefined;
  let service: ServiceProcess | undefined;
  beforeAll(async () => {
    directory = await ledgerDirectory();
    service = await startService({ DATA_DIR: directory.path, ...settings });
  });
  afterAll(async () => {
    if (service?.child.exitCode === null && service.child.signalCode === null) await service.stop();
    await directory?.remove();
  });
  return () => {
    if (service === undefined || directory === undefined) throw new Error('the service was not started');
    return Object.assign(service, { directory: directory.path });
  };
}

/** An empty directory for all tests of a file, or a `ledgerDirectory`; removed after what was started later has ended. */
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
