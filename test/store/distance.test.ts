import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { toWireId } from '../../domain/identifier.ts';
import { DEMO_PROGRAM_ID } from '../../domain/sandbox.ts';
import { TransferService } from '../../sdk/client.ts';
import type { Database } from '../../server/store/connection/database.ts';
import { newKey, openAuthentication } from '../../server/subjects/keys/authenticate.ts';
import { type RoundTrip, startDistance } from '../harness/distance.ts';
import { startService, temporaryDirectory } from '../harness/process.ts';
import { useServer } from '../harness/use-ledger.ts';

// A service whose database is 5 ms away. The tests count round trips and do not measure time, so they do not depend on the
// machine's speed.

const server = await useServer();
const { host, port, user, database } = server.connection;
const distance = await startDistance({ path: `${host}/.s.PGSQL.${port}` }, 5);
afterAll(() => distance.close());
const directory = await temporaryDirectory();
const service = await startService({
  DATABASE_URL: `postgresql://${user}@${distance.host}:${distance.port}/${database}`,
  DATA_DIR: directory.path,
});
afterAll(async () => {
  await service.stop();
  await directory.remove();
});

const RESTRICT = `begin; set local service.programs = '{${DEMO_PROGRAM_ID}}'`;

/** The statements of a lone transfer, one list for each round trip. */
const LOAD = [RESTRICT, 'share_switch_and_lock_names', 'read_program_rules', 'read_stored_responses'];
const SAVE = ['fence_batch', 'merged_writes_0', 'update_accounts_if_unchanged', 'merged_writes_1', 'commit'];

/** Returns the round trips that a transfer waits for. The others belong to the relay and to background jobs. */
function waitedFor(trips: readonly RoundTrip[], ...more: readonly string[]): readonly (readonly string[])[] {
  const names = [RESTRICT, 'fence_batch', ...more];
  return trips.map(({ statements }) => statements).filter(([first = '']) => names.includes(first));
}

/** Returns a client with a new key, which no request has used yet. */
async function newClient(): Promise<TransferService> {
  const program_id = toWireId('prog', DEMO_PROGRAM_ID);
  const { key } = await service.client.keys.create({ name: 'of the test', program_id, scopes: ['transfers:write'] });
  return new TransferService({ baseUrl: service.url, key: key ?? '', maxRetries: 0, timeoutMilliseconds: 120_000 });
}

test('a lone transfer waits for two round trips: the load, and the writes with the commit', async () => {
  const client = await newClient();
  const send = () => client.transfers.create({ amount: 1, card_id: 'card_active' });
  await send();
  const trips = distance.record();
  for (let count = 0; count < 10; count += 1) await send();
  expect(waitedFor(trips)).toEqual(Array.from({ length: 10 }, () => [LOAD, SAVE]).flat());
});

test('the first transfer of a card has the same two round trips, and reads the card in the first', async () => {
  const client = await newClient();
  const { card_id } = await service.client.cards.create({});
  await client.transfers.create({ amount: 1, card_id: 'card_active' });
  const trips = distance.record();
  await client.transfers.create({ amount: 1, card_id });
  const [load = [], ...rest] = waitedFor(trips);
  expect(load).toEqual([...LOAD.slice(0, 2), 'read_cards_with_accounts', ...LOAD.slice(2)]);
  expect(rest).toEqual([SAVE]);
});

test('a key that was not used within the last second costs a third round trip', async () => {
  const [other, client] = [await newClient(), await newClient()];
  await other.transfers.create({ amount: 1, card_id: 'card_active' });
  const trips = distance.record();
  await client.transfers.create({ amount: 1, card_id: 'card_active' });
  expect(waitedFor(trips, 'find_keys')).toEqual([['find_keys'], LOAD, SAVE]);
});

test('a key in use is looked up again before its second is over, and no request waits for it', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { key, publicPart, secretHash } = newKey();
  const row = {
    key_id: '01900000-0000-7000-8000-000000000001',
    public_part: publicPart,
    secret_hash: secretHash,
    program_id: DEMO_PROGRAM_ID,
    name: 'of the test',
    scopes: ['transfers:write'],
    created_at: new Date(0),
    expires_at: null,
    revoked_at: null as Date | null,
    last_used_at: null,
    replaced_by: null,
    owner_id: null,
    created_by: null,
    left_ms: null,
    blocked_at: null,
  };
  let lookUps = 0;
  const read = async (): Promise<object[]> => {
    lookUps += 1;
    return [{ ...row }];
  };
  const authenticate = openAuthentication({ read } as unknown as Database);
  const settle = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  await authenticate(key);
  for (let count = 0; count < 20; count += 1) {
    vi.advanceTimersByTime(200);
    expect(authenticate(key)).not.toBeInstanceOf(Promise);
    await settle();
  }
  // In 4 s, a look-up began every 800 ms.
  expect(lookUps).toBe(6);
  // The next look-up finds that the key was revoked. So it is refused less than a second after the last valid look-up.
  row.revoked_at = new Date();
  vi.advanceTimersByTime(800);
  expect(authenticate(key)).not.toBeInstanceOf(Promise);
  await settle();
  await expect(authenticate(key)).rejects.toThrow('The API key was revoked.');
});
