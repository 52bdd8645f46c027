import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fromWireId } from '../../../domain/identifier.ts';
import { nameRegisteredTwice } from '../../../server/host/start/prepare-ledger.ts';
import { tokenHashOf } from '../../../server/store/card.ts';
import { SilentProcessors } from '../../fixtures/processors.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';

// Checks that a processor's card is registered only once, that its program may use the connector, and that operators
// can find the card by its token.

const server = await useServer();
const processors = new SilentProcessors();
const ledger = useLedger(server.connection, undefined, undefined, undefined, processors);
const owner = await useConnection(server.connection);

let other: string;
beforeAll(async () => {
  const { body } = await ledger.call('create_program', { name: 'Other', currency: 'USD' });
  other = fromWireId('prog', JSON.parse(body).program_id) ?? '';
});
afterEach(() => {
  processors.programIds = null;
});

const create = (processor_token: string, card_id: string = randomUUID(), programId?: string) =>
  ledger.call(
    'create_card',
    { card_id, connector_id: 'simulator', processor_token },
    programId === undefined ? {} : { programId },
  );

async function refusalOf(sent: Promise<unknown>): Promise<unknown> {
  return sent.then(
    () => 'no refusal',
    ({ code, message, details }) => ({ code, message, field: details.field }),
  );
}

describe('the token of a card', () => {
  test("is unique across all card programs, and the message names only a card of the caller's program", async () => {
    const token = `tok_${randomUUID()}`;
    await create(token, 'first');
    const duplicate = { code: 'duplicate_card', field: '/processor_token' };
    expect(await refusalOf(create(token))).toEqual({
      ...duplicate,
      message: "The card program already has this card of the connector 'simulator': 'first'.",
    });
    expect(await refusalOf(create(token, 'theirs', other))).toEqual({
      ...duplicate,
      message: "Another card program has this card of the connector 'simulator'.",
    });
    const { body } = await ledger.call('list_cards', undefined, { programId: other });
    expect(JSON.parse(body).data).toEqual([]);
    await create(`${token}-next`, 'theirs', other);
  });

  test('stays in use after the card is closed and its holder erased', async () => {
    const token = `tok_${randomUUID()}`;
    const card_id = randomUUID();
    await create(token, card_id);
    await ledger.call('update_card', { status: 'closed' }, { params: { card_id } });
    await ledger.call('erase_card_holder', undefined, { params: { card_id }, idempotencyKey: randomUUID() });
    expect(await refusalOf(create(token))).toMatchObject({ code: 'duplicate_card' });
    expect(await found(token)).toEqual([`${card_id} by processor_token: Card: closed, balance 0.00 USD`]);
  });

  test('is registered for only one card if two card programs each try to register it ten times at once', async () => {
    const token = `tok_${randomUUID()}`;
    const sent = Array.from({ length: 20 }, (_, at) => create(token, undefined, at % 2 === 0 ? other : undefined));
    const codes = await Promise.all(
      sent.map((one) =>
        one.then(
          () => 'made',
          ({ code }) => code,
        ),
      ),
    );
    expect(codes.sort()).toEqual([...Array(19).fill('duplicate_card'), 'made']);
  });

  test('can be shared by many cards if it names a behavior of the simulator', async () => {
    await create('sim_approve');
    await create('sim_approve');
  });
});

test('refuses a card if the settings do not allow its connector for the card program', async () => {
  processors.programIds = [other];
  expect(await refusalOf(create(randomUUID()))).toEqual({
    code: 'connector_not_found',
    field: '/connector_id',
    message: expect.stringContaining("The connector 'simulator' is not for this card program."),
  });
  await create(randomUUID(), randomUUID(), other);
});

async function found(q: string): Promise<readonly string[]> {
  const { body } = await ledger.call('search', undefined, { query: { q } });
  type Results = { data: { results: { id: string; matched: string; summary: string }[] }[] };
  const { data }: Results = JSON.parse(body);
  return data.flatMap(({ results }) => results.map(({ id, matched, summary }) => `${id} by ${matched}: ${summary}`));
}

test('lets operators find the card by the token or its hash, and see the last four characters', async () => {
  const token = `tok_${randomUUID()}`;
  const card_id = randomUUID();
  await create(token, card_id);
  const line = `${card_id} by processor_token: Card: active, balance 0.00 USD, …${token.slice(-4)} at 'simulator'`;
  expect(await found(token)).toEqual([line]);
  expect(await found(tokenHashOf(token))).toEqual([line]);
  expect(await found(tokenHashOf(token).toUpperCase())).toEqual([line]);
  expect(await found(token.slice(0, -1))).toEqual([]);
});

test('reports at startup that an older version registered a card of a processor twice', async () => {
  const token = `tok_${randomUUID()}`;
  await create(token, 'registered-first');
  await create(`${token}-2`, 'registered-second');
  const lines: string[] = [];
  const look = () => nameRegisteredTwice(ledger.databases.background, (line) => void lines.push(line));
  await look();
  expect(lines).toEqual([]);
  await owner.query(
    `update processor_card set place = 1, token_hash = (
        select token_hash from processor_card as older join card using (program_id, card_id) where name = 'registered-first'
      ) from card where card.card_id = processor_card.card_id and card.name = 'registered-second'`,
  );
  await look();
  expect(lines).toEqual([
    "Cards of the connector 'simulator' that share the processor_token of an older card: 1, such as 'registered-second'. " +
      'Search for the token to see both, and close one.',
  ]);
});
