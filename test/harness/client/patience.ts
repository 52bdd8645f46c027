import { setTimeout as sleep } from 'node:timers/promises';
import { type CreateTransferBatchBody, TransferService, TransferServiceError } from '../../../sdk/client.ts';
import type { ServiceProcess } from '../process.ts';
import type { RawResponse } from '../raw-request.ts';

/** The maximum number of attempts. A test that needs more attempts fails, even on a busy machine. */
const MAX_ATTEMPTS = 600;

const PAUSE_MILLISECONDS = 200;

/**
 * Repeats a call while the service refuses it as overloaded, as on a very busy machine. A refused call was never begun.
 */
export async function patiently<Result>(call: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      const isBusy = error instanceof TransferServiceError && error.Code === 'service_unavailable';
      if (!isBusy || attempt === MAX_ATTEMPTS) throw error;
    }
    await sleep(PAUSE_MILLISECONDS);
  }
}

/**
 * Creates the transfers in batches. A service that was slow a moment ago refuses the last rows of a large batch,
 * because it could not finish them in time. These rows are sent again with their keys, as integrators do.
 */
export async function createAll(
  { transfers }: TransferService,
  rows: CreateTransferBatchBody['transfers'],
  options?: Parameters<TransferService['transfers']['createBatch']>[1],
): Promise<void> {
  let left = rows;
  for (let attempt = 1; ; attempt += 1) {
    const { data } = await transfers.createBatch(left, options);
    const refused = data.filter(({ transfer }) => transfer === null);
    if (refused.length === 0) return;
    const other = refused.find(({ error }) => error?.Code !== 'service_unavailable');
    if (other !== undefined || attempt === MAX_ATTEMPTS)
      throw new Error(`not created: ${JSON.stringify(other ?? refused)}`);
    left = refused.flatMap(({ index }) => left[index] ?? []);
    await sleep(PAUSE_MILLISECONDS);
  }
}

/** Sends a request again while the service is overloaded. */
export async function fetchPatiently(url: string, init: RequestInit): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, init);
    if (response.headers.get('error-code') !== 'service_unavailable' || attempt === MAX_ATTEMPTS) return response;
    await sleep(PAUSE_MILLISECONDS);
  }
}

/**
 * Repeats a request while the response is 503. On a slow machine, the service may refuse some of many requests before
 * it begins them.
 */
export async function sendUntilServed(sendOne: () => Promise<RawResponse>): Promise<RawResponse> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await sendOne();
    // Operations that never move money have no Money-Moved header.
    const wasBegun = (response.headers['money-moved'] ?? 'no') !== 'no';
    if (response.status !== 503 || wasBegun || attempt === MAX_ATTEMPTS) return response;
    await sleep(PAUSE_MILLISECONDS);
  }
}

/**
 * Creates a client that retries requests that an overloaded service refused, because such requests were never begun.
 */
export function patientClient(url: string, key?: string): TransferService {
  const settings = { baseUrl: url, maxRetries: 0, timeoutMilliseconds: 120_000, fetch: fetchPatiently };
  return new TransferService(key === undefined ? settings : { ...settings, key });
}

/**
 * Returns the service with a client that retries, for the setup of the console's tests. Calls `onStop` when a test
 * stops the database.
 */
export function withPatience(service: ServiceProcess, onStop: () => void): ServiceProcess {
  const client = patientClient(service.url);
  const stopDatabase = client.sandbox.stopDatabase.bind(client.sandbox);
  client.sandbox.stopDatabase = (options) => {
    onStop();
    return stopDatabase(options);
  };
  const stop = (): Promise<void> => {
    onStop();
    return patiently(service.database.stop);
  };
  return { ...service, client, database: { stop, start: () => patiently(service.database.start) } };
}
