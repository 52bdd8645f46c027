import { afterAll, beforeAll, expect } from 'vitest';
import { TransferServiceError } from '../../sdk/client.ts';
import { ledgerDirectory } from './ledger-directory.ts';
import { type ServiceProcess, startService } from './process.ts';

/** One service process for all tests of a file, on a new sandbox ledger. */
export function useService(): () => ServiceProcess {
  let directory: Awaited<ReturnType<typeof ledgerDirectory>> | undefined;
  let service: ServiceProcess | undefined;
  beforeAll(async () => {
    directory = await ledgerDirectory();
    service = await startService({ DATA_DIR: directory.path });
  });
  afterAll(async () => {
    await service?.stop();
    await directory?.remove();
  });
  return () => {
    if (service === undefined) throw new Error('the service was not started');
    return service;
  };
}

/** The error record that a call is answered with; fails when it is answered with anything else. */
export async function refusalOf(call: Promise<unknown>): Promise<TransferServiceError> {
  const answer = await call.then(
    (record: unknown) => new Error(`it was not refused: ${JSON.stringify(record)}`),
    (error: unknown) => error,
  );
  if (answer instanceof TransferServiceError) return answer;
  throw answer;
}

/** Fails unless the books balance: no account differs from its postings and holds, and every currency sums to zero. */
export async function expectBalancedBooks({ client }: ServiceProcess): Promise<void> {
  const { balanced, currencies, differing_holds, differing_accounts } = await client.trialBalance.get();
  const right = { balanced: true, differing_holds: 0, differing_accounts: [] };
  expect({ balanced, differing_holds, differing_accounts }).toEqual(right);
  expect(currencies.length).toBeGreaterThan(0);
  expect(currencies.filter(({ sum }) => sum !== 0)).toEqual([]);
}
