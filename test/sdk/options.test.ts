import { afterEach, expect, test, vi } from 'vitest';
import { type Fetch, InvalidArgument, TransferService, type TransferServiceOptions } from '../../sdk/client.ts';

// Tests timeouts, retries and fetch, for a client and for one call.

/** A service that never responds and counts its requests. */
function silentService(): { readonly fetch: Fetch; readonly requests: () => number } {
  let requests = 0;
  const fetch: Fetch = (_, { signal }) => {
    requests += 1;
    return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
  };
  return { fetch, requests: () => requests };
}

afterEach(() => vi.unstubAllGlobals());

test('a call can have its own timeout and number of retries', async () => {
  const { fetch, requests } = silentService();
  const client = new TransferService({ fetch, timeoutMilliseconds: 600_000, maxRetries: 5 });
  const call = client.transfers.list({}, { timeoutMilliseconds: 5, maxRetries: 1 });
  await expect(call).rejects.toMatchObject({ name: 'ConnectionFailure', reason: 'timeout', attempts: 2 });
  await expect(call).rejects.toThrow('within 5 ms');
  expect(requests()).toBe(2);
});

test("a call without options uses the client's options", async () => {
  const { fetch, requests } = silentService();
  const client = new TransferService({ fetch, timeoutMilliseconds: 5, maxRetries: 0 });
  await expect(client.transfers.list()).rejects.toMatchObject({ reason: 'timeout', attempts: 1 });
  expect(requests()).toBe(1);
});

test.each<[TransferServiceOptions, string]>([
  [{ timeoutMilliseconds: 0 }, 'timeoutMilliseconds must be more than 0 and at most 2147483647, but it is 0.'],
  [{ timeoutMilliseconds: Number.NaN }, 'but it is NaN.'],
  [{ timeoutMilliseconds: Number.POSITIVE_INFINITY }, 'but it is Infinity.'],
  [{ maxRetries: -1 }, 'maxRetries must be a whole number from 0, but it is -1.'],
  [{ maxRetries: 1.5 }, 'but it is 1.5.'],
])('a client and a call refuse %j', async (options, message) => {
  expect(() => new TransferService(options)).toThrow(InvalidArgument);
  expect(() => new TransferService(options)).toThrow(message);
  expect(() => new TransferService(options)).toThrow(expect.objectContaining({ moneyMoved: 'no' }));
  const { fetch, requests } = silentService();
  await expect(new TransferService({ fetch }).transfers.list({}, options)).rejects.toThrow(message);
  expect(requests()).toBe(0);
});

test('a call that waits for events does not time out immediately with the longest timeout', async () => {
  const { fetch, requests } = silentService();
  const timeoutMilliseconds = 2 ** 31 - 1;
  const client = new TransferService({ fetch, timeoutMilliseconds, maxRetries: 0 });
  const caller = new AbortController();
  const call = client.events.list({ after: 1, wait: 30 }, { signal: caller.signal });
  setTimeout(() => caller.abort(), 50);
  await expect(call).rejects.toMatchObject({ reason: 'aborted', attempts: 1 });
  expect(requests()).toBe(1);
});

test('a custom fetch cannot change the headers of later tries', async () => {
  const seen: (string | null)[] = [];
  const fetch: Fetch = async (_, { headers }) => {
    headers.append('X-Trace', 'a');
    seen.push(headers.get('X-Trace'));
    throw new TypeError('fetch failed');
  };
  await expect(new TransferService({ fetch, maxRetries: 1 }).transfers.list()).rejects.toThrow();
  expect(seen).toEqual(['a', 'a']);
});

test('uses a global fetch that was replaced after the client was created', async () => {
  const client = new TransferService();
  vi.stubGlobal('fetch', async () => new Response('{"data": [], "next_cursor": null}'));
  expect((await client.transfers.list()).data).toEqual([]);
});

test.each([
  [
    'http://localhost:99999',
    "must be a valid URL that begins with http:// or https://, but it is 'http://localhost:99999'.",
  ],
  ['ftp://files.test', "but it is 'ftp://files.test'."],
  ['https://me:secret@host.test:99999', 'must be a valid URL that begins with http:// or https://.'],
  ['https://me:secret@host.test', 'must consist of a host, an optional port and an optional path.'],
])('refuses the base URL %s without showing a password', (baseUrl, message) => {
  expect(() => new TransferService({ baseUrl })).toThrow(message);
  expect(() => new TransferService({ baseUrl })).not.toThrow('secret');
});

/** Returns a service that ignores fields, in a sandbox or in live mode. */
const ignoring =
  (status: number, headers: Record<string, string>, body: object = { data: [], next_cursor: null }): Fetch =>
  async () =>
    new Response(JSON.stringify(body), { status, headers: { 'Ignored-Fields': 'color, size', ...headers } });

const SANDBOX = { Sandbox: 'true' };

test('warns once per operation if a sandbox ignores fields, and never for a live service', async () => {
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);
  const client = (fetch: Fetch) => new TransferService({ fetch, warn, maxRetries: 0 });
  await client(ignoring(200, {})).cards.list();
  expect(warnings).toEqual([]);
  for (let count = 0; count < 3; count += 1) await client(ignoring(200, SANDBOX)).cards.list();
  expect(warnings).toEqual(['The service ignored fields that list_cards does not have: color, size.']);
  const refusal = { Message: 'No.', Status: 404, Code: 'card_not_found', Type: 'Request Error' };
  const refused = client(ignoring(404, SANDBOX, refusal)).cards.get('none');
  await expect(refused).rejects.toMatchObject({ Code: 'card_not_found' });
  expect(warnings[1]).toContain('get_card');
  expect(warnings).toHaveLength(2);
});

test('warns on the console by default, and returns the response even if the warning fails', async () => {
  const printed: unknown[] = [];
  vi.stubGlobal('console', { warn: (message: unknown) => printed.push(message) });
  const movement = ignoring(201, SANDBOX, { movement_id: 'dep_1' });
  const options = { fetch: movement, maxRetries: 0 };
  await new TransferService({ ...options, warn: false }).deposits.create('prog_1', { amount: 1 });
  expect(printed).toEqual([]);
  await new TransferService(options).deposits.create('prog_1', { amount: 1 });
  expect(printed).toEqual([expect.stringContaining('create_deposit')]);
  const warn = () => {
    throw new Error('no console');
  };
  const made = await new TransferService({ ...options, warn }).withdrawals.create('prog_1', { amount: 1 });
  expect([made.movement_id, made.response.attempts]).toEqual(['dep_1', 1]);
});
