import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import type { AnyCall } from '../../../server/calls/call.ts';
import { insertErrors, type LoggedError } from '../../../server/store/error.ts';
import {
  ERASURE_SETTINGS,
  type ErasureSettings,
  eraseInBatches,
} from '../../../server/subjects/cards/erase-card-holder.ts';
import { settleDue } from '../../../server/subjects/transfers/change-transfer.ts';
import type { Ledger } from '../../harness/ledger.ts';
import { checkBalances, useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';
import { CALLER } from '../../security/audited-actions.ts';

const server = await useServer();
const ledger = useLedger(server.connection);
const other = useLedger(server.connection);
checkBalances(ledger);
const owner = await useConnection(server.connection);
const intruder = await useConnection(server.connection);

const AT_ONCE: ErasureSettings = { ...ERASURE_SETTINGS, settleMilliseconds: 0, retryMilliseconds: 0 };
const SMALL: ErasureSettings = { ...AT_ONCE, maxTransfers: 2, maxEvents: 3, maxErrors: 2, maxCases: 2 };

const within = (): Partial<AnyCall> => ({ programId: DEMO_PROGRAM_ID, idempotencyKey: randomUUID() });
const read = async (text: string, ...values: unknown[]) => (await owner.query(text, values)).rows;

async function call(operation: Parameters<Ledger['call']>[0], members: object, more: Partial<AnyCall> = {}) {
  return JSON.parse((await ledger.call(operation, members, { ...within(), ...more })).body) as Record<string, string>;
}

/** Creates a card with a word in every text about its holder, and transfers with this word. */
async function cardWith(word: string, transfers = 3): Promise<{ readonly name: string; readonly ids: string[] }> {
  const metadata = { [word]: word };
  const { card_id: name = '' } = await call('create_card', { holder_reference: word, last_four: '1234', metadata });
  const ids: string[] = [];
  const texts = { description: word, metadata };
  for (let count = 0; count < transfers; count += 1) {
    const made = await call('create_transfer', { amount: 5, card_id: name, ...texts });
    ids.push(made.transfer_id ?? '');
  }
  return { name, ids };
}

const close = (card_id: string) =>
  call('update_card', { status: 'closed', balance_to: 'funding' }, { params: { card_id } });
const erase = (card_id: string, more: Partial<AnyCall> = {}) =>
  call('erase_card_holder', {}, { params: { card_id }, ...more });

/** Continues all erasures until they are complete. */
async function finish(from: Ledger = ledger, settings = AT_ONCE): Promise<void> {
  const failures: unknown[] = [];
  do {
    await eraseInBatches(
      from.database,
      { onFailure: (error) => failures.push(error), pause: async () => true },
      settings,
    );
  } while ((await read('select from card_erasure where completed_at is null')).length > 0 && failures.length < 50);
}

/** Returns the tables with a text column that contains the word. */
async function traces(word: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const table of [
    'card',
    'transfer',
    'card_metadata',
    'transfer_metadata',
    'reversal',
    'event',
    'idempotency',
    'error',
  ]) {
    const rows = await read(`select stored::text from ${table} as stored where strpos(stored::text, $1) > 0`, word);
    found.push(...rows.map(() => table));
  }
  return found;
}

const WAITING = "select from pg_stat_activity where wait_event_type = 'Lock'";

function refuse(error: unknown): never {
  throw error;
}

const word = () => `word${randomUUID().replaceAll('-', '')}`;

test('only the holder of a closed card of the program is erased', async () => {
  const text = word();
  const { name } = await cardWith(text);
  await expect(erase(name)).rejects.toMatchObject({ code: 'card_not_closed' });
  await expect(erase('none')).rejects.toMatchObject({ code: 'card_not_found' });
  await close(name);
  const { program_id = '' } = await call('create_program', { name: 'Others', currency: 'USD' }, { programId: '' });
  const programId = fromWireId('prog', program_id) ?? '';
  await expect(erase(name, { programId })).rejects.toMatchObject({ code: 'card_not_found' });
  await finish();
  expect((await traces(text)).length).toBeGreaterThan(0);
  await erase(name);
  await finish();
  expect(await traces(text)).toEqual([]);
});

test('each text is erased once, even if processes stop after any batch or run at the same time', async () => {
  const text = word();
  const { name, ids } = await cardWith(text, 9);
  await call('reverse_transfer', { amount: 1, description: text }, { params: { transfer_id: ids[0] ?? '' } });
  await close(name);
  expect(await erase(name)).toMatchObject({ status: 'running', transfers: 0, completed_at: null });
  // Each iteration erases one batch.
  for (let count = 0; count < 5; count += 1) {
    await eraseInBatches(ledger.database, { onFailure: refuse, pause: async () => false }, SMALL);
  }
  await Promise.all([finish(ledger, SMALL), finish(other, SMALL), finish(ledger, SMALL)]);
  expect(await traces(text)).toEqual([]);
  // The counts include the transfer that emptied the card. Each transfer and the reversal have one event each, and the
  // card has two.
  expect(await erase(name)).toMatchObject({ status: 'completed', transfers: 10, events: 13 });
  expect(await read("select from event where type = 'card.erased' and subject_id = $1", name)).toHaveLength(1);
});

test('metadata of a concurrent change is erased, and later changes are refused', async () => {
  const text = word();
  const { name, ids } = await cardWith(text);
  const [transfer_id = ''] = ids;
  await close(name);
  // An operator's change waits for the head of the audit log. It has written its event but has not committed. On a slow machine,
  // the change may fail before the lock is released. In both cases, its text must be gone.
  await intruder.query('begin; select from audit_head for update');
  const change = { params: { transfer_id }, caller: CALLER };
  let hasEnded = false;
  const changing = call('update_transfer', { metadata: { late: text } }, change)
    .catch(() => undefined)
    .finally(() => {
      hasEnded = true;
    });
  const isWaiting = async () => (await read(`${WAITING} and query like '%audit%'`)).length === 1;
  await expect.poll(async () => hasEnded || (await isWaiting())).toBe(true);
  const erasing = erase(name).then(() => finish());
  await intruder.query('commit');
  await changing;
  await erasing;
  expect(await traces(text)).toEqual([]);
  const again = call('update_transfer', { metadata: { late: text } }, { params: { transfer_id } });
  await expect(again).rejects.toMatchObject({ code: 'card_erased' });
});

test("decisions on the card's transfers are delayed, or made a second time", async () => {
  const text = word();
  const { name } = await cardWith(text);
  await close(name);
  await erase(name);
  const account = `from account where account_id = (select account_id from card where name = $1)`;
  const version = async () => (await read(`select version ${account}`, name))[0]?.version;
  const before = await version();
  await intruder.query('begin');
  await intruder.query(`select ${account} for no key update`, [name]);
  const failures: unknown[] = [];
  const reports = { onFailure: (error: unknown) => failures.push(error), pause: async () => false };
  await eraseInBatches(ledger.database, reports, AT_ONCE);
  expect(failures).toMatchObject([{ busy: true }]);
  expect(await traces(text)).toContain('transfer');
  await intruder.query('commit');
  await eraseInBatches(ledger.database, reports, AT_ONCE);
  expect(await traces(text)).not.toContain('transfer');
  expect(await version()).not.toBe(before);
  await finish();
});

test('no text returns when a scheduled transfer is settled during the erasure', async () => {
  for (let round = 0; round < 3; round += 1) {
    const text = word();
    const { name } = await cardWith(text, 1);
    const scheduled_for = new Date(Date.now() + 3_600_000).toISOString();
    const later = { amount: 5, card_id: name, description: text, scheduled_for };
    const { transfer_id = '' } = await call('create_transfer', later);
    await close(name);
    const inner = fromWireId('tr', transfer_id);
    await read("update transfer set scheduled_for = clock_timestamp() - interval '1 s' where transfer_id = $1", inner);
    await erase(name);
    const settle = () => settleDue({ ...other.service, database: other.database });
    await Promise.all([settle(), finish(), settle()]);
    await settle();
    expect(await traces(text)).toEqual([]);
    const events = await read('select type from event where subject_id = $1 order by created_at', transfer_id);
    expect(events.map(({ type }) => type)).toEqual(['transfer.scheduled', 'transfer.failed']);
  }
});

test('the text of a transfer to another card is erased for both cards, but no other text', async () => {
  const [mine, theirs] = [word(), word()];
  const [card, receiver] = [await cardWith(mine), await cardWith(theirs)];
  const between = { type: 'card_to_card', card_id: card.name, destination_card_id: receiver.name };
  const moved = await call('create_transfer', { amount: 3, ...between, description: mine });
  await close(receiver.name);
  await erase(receiver.name);
  await finish();
  expect(await traces(theirs)).toEqual([]);
  const shown = await call('get_transfer', {}, { params: { transfer_id: moved.transfer_id ?? '' } });
  expect(shown).toEqual({ ...moved, description: null });
  expect((await traces(mine)).filter((table) => table === 'transfer')).toHaveLength(3);
});

test('the transfer of a key is replayed without its text, even if an earlier version stored the response', async () => {
  const text = word();
  const { name } = await cardWith(text, 0);
  const body = { amount: 5, card_id: name, description: text };
  const keys = [randomUUID(), randomUUID()];
  const send = (idempotencyKey: string | undefined) =>
    call('create_transfer', body, { idempotencyKey: idempotencyKey ?? null });
  const first = [await send(keys[0]), await send(keys[1])];
  await read(
    `update idempotency set batch_id = null, event_index = null, body = $2
      where key = $1`,
    keys[1],
    JSON.stringify(first[1]),
  );
  await close(name);
  await erase(name);
  await finish();
  expect(await traces(text)).toEqual([]);
  const before = await read('select count(*) from posting');
  expect(await send(keys[0])).toEqual({ ...first[0], description: null });
  expect(await send(keys[1])).toMatchObject({ transfer_id: first[1]?.transfer_id, amount: 5, description: null });
  expect(await read('select count(*) from posting')).toEqual(before);
});

describe('an error about the card that is stored after the erasure has no text about the holder:', () => {
  const holder = word();
  const name = 'quoted"and\\slashed';
  const text = word();
  let transferId = '';

  const errorWith = (change: Partial<LoggedError>): LoggedError => ({
    requestId: randomUUIDv7(),
    programId: DEMO_PROGRAM_ID,
    caller: null,
    keyId: null,
    operation: 'create_transfer',
    code: 'create_transfer_schema',
    status: 400,
    type: 'Request Error',
    message: text,
    method: 'POST',
    path: '/api/v0.1/core/transfer',
    field: `/metadata/${text}`,
    idempotencyKey: null,
    cardName: null,
    transferId: null,
    moneyMoved: 'no',
    request: { description: text },
    checks: { text },
    traceparent: null,
    causes: [{ name: 'Error', message: text, stack: null }],
    ...change,
  });

  async function stored(error: LoggedError): Promise<{ readonly isErased: boolean }> {
    await ledger.database.writeUnguarded(insertErrors([error]));
    const [row] = await read('select stored::text from error as stored where request_id = $1', error.requestId);
    return { isErased: !String(row.stored).includes(text) };
  }

  test('with a card whose name must be escaped', async () => {
    await call('create_card', { card_id: name, holder_reference: holder });
    ({ transfer_id: transferId = '' } = await call('create_transfer', { amount: 5, card_id: name }));
    await close(name);
    await erase(name);
  });

  const about: readonly (readonly [string, () => Partial<LoggedError>])[] = [
    ['the card of the error', () => ({ cardName: name })],
    ['the transfer of the error', () => ({ transferId: fromWireId('tr', transferId) ?? null })],
    ['the card in a row', () => ({ request: { transfers: [{ card_id: 'x' }, { card_id: name, description: text }] } })],
    [
      'the card in a misspelled field',
      () => ({ cardName: 'card_active', request: { cardId: name, description: text } }),
    ],
    ['the transfer in the path', () => ({ request: { transfer_id: transferId, description: text } })],
    ['the card, next to a null character', () => ({ request: { card_id: name, description: `${text}\u0000` } })],
    [
      'only the holder of the card',
      () => ({ operation: 'create_card', request: { holder_reference: holder, note: text } }),
    ],
  ];

  test.each(about)('%s', async (_, change) => {
    expect(await stored(errorWith(change()))).toEqual({ isErased: true });
  });

  test('but errors about other cards keep their text', async () => {
    const unrelated = { request: { card_id: 'card_active', transfer_id: toWireId('tr', randomUUIDv7()), text } };
    expect(await stored(errorWith({ cardName: 'card_active', ...unrelated }))).toEqual({ isErased: false });
    expect(await stored(errorWith({ request: { card_id: `${name} or another`, text } }))).toEqual({ isErased: false });
    expect(await stored(errorWith({ programId: randomUUID(), cardName: name }))).toEqual({ isErased: false });
    expect(await stored(errorWith({ programId: null, cardName: name }))).toEqual({ isErased: false });
  });

  test('so no trace of the holder remains when the erasure is complete', async () => {
    await finish();
    expect(await read('select from card_erasure where holder_hash is not null')).toEqual([]);
  });
});
