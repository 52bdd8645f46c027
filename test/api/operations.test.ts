import { afterAll, describe, expect, test } from 'vitest';
import { TransferService } from '../../sdk/client.ts';
import { operatorKey, programKey, withSecret } from '../harness/keys.ts';
import { beforeMoment, waitFor } from '../harness/process.ts';
import { expectBalancedBooks, refusalOf, useService } from '../harness/service.ts';

const running = useService();
const client = () => running().client;
afterAll(() => expectBalancedBooks(running()));

const IN_AN_HOUR = 3_600_000;

/** Creates a card that only the calling test uses, so that no other test moves its money. */
async function newCard(balance = 0, programId?: string): Promise<string> {
  const { card_id } = await client().cards.create({}, { programId });
  if (balance > 0) await client().transfers.create({ amount: balance, card_id }, { programId });
  return card_id;
}

async function newProgram(currency = 'USD', funding = 0): Promise<string> {
  const { program_id } = await client().programs.create({ name: 'Gifts', currency });
  if (funding > 0) await client().deposits.create(program_id, { amount: funding });
  return program_id;
}

async function balanceOf(cardId: string): Promise<number> {
  return (await client().cards.get(cardId)).balance;
}

async function fundingOf(programId: string, currency = 'USD'): Promise<number | undefined> {
  const { funding } = await client().programs.get(programId);
  return funding.find((account) => account.currency === currency)?.balance;
}

describe('create_transfer', () => {
  test('loads money from funding onto the card by default, and returns every field of the record', async () => {
    const programId = await newProgram('USD', 5000);
    const { card_id } = await client().cards.create({ card_id: 'gift/1' }, { programId });
    const transfer = await client().transfers.create({ amount: 1200, card_id }, { programId });
    expect(transfer).toEqual({
      transfer_id: expect.stringMatching(/^tr_[0-9a-f]{32}$/),
      program_id: programId,
      card_id: 'gift/1',
      destination_card_id: null,
      type: 'load',
      amount: 1200,
      captured_amount: 1200,
      reversed_amount: 0,
      currency: 'USD',
      status: 'completed',
      outcome: 'final',
      capture: 'automatic',
      expires_at: null,
      scheduled_for: null,
      description: null,
      reference: null,
      metadata: {},
      request_id: transfer.response.requestId,
      idempotency_key: transfer.response.idempotencyKey,
      created_by: 'sandbox',
      error: null,
      created_at: transfer.created_at,
      updated_at: transfer.created_at,
      completed_at: transfer.created_at,
    });
    expect(transfer.response).toMatchObject({ status: 201, replayed: false });
    expect(transfer.response.headers.get('location')).toBe(`/api/v0.1/core/transfer/${transfer.transfer_id}`);
    expect(await fundingOf(programId)).toBe(3800);
    expect(await client().cards.get('gift/1', { programId })).toMatchObject({
      balance: 1200,
      held: 0,
      available: 1200,
    });
  });

  test('unloads money from the card to funding', async () => {
    const programId = await newProgram('USD', 5000);
    const cardId = await newCard(2000, programId);
    const body = { amount: 500n, card_id: cardId, type: 'unload', currency: 'USD' } as const;
    expect(await client().transfers.create(body, { programId })).toMatchObject({ type: 'unload', amount: 500 });
    expect((await client().cards.get(cardId, { programId })).balance).toBe(1500);
    expect(await fundingOf(programId)).toBe(3500);
  });

  test('moves money between two cards only, and returns description, reference and metadata', async () => {
    const [from, to] = [await newCard(2000), await newCard(100)];
    const programId = (await client().transfers.list({ card_id: from })).data[0]?.program_id ?? '';
    const funding = await fundingOf(programId);
    const attached = { description: 'Für Zoë 🎁', reference: 'order 17', metadata: { order: '17' } };
    const transfer = await client().transfers.create({
      ...attached,
      amount: '2000',
      card_id: from,
      type: 'card_to_card',
      destination_card_id: to,
      capture: 'automatic',
    });
    expect(transfer).toMatchObject({ ...attached, destination_card_id: to, status: 'completed' });
    expect([await balanceOf(from), await balanceOf(to)]).toEqual([0, 2100]);
    expect(await fundingOf(programId)).toBe(funding);
    expect(await client().transfers.get(transfer.transfer_id)).toEqual({ ...transfer });
  });

  test('completes a hundred concurrent loads of one card', async () => {
    const cardId = await newCard();
    const amounts = Array.from({ length: 100 }, (_, index) => index + 1);
    await Promise.all(amounts.map((amount) => client().transfers.create({ amount, card_id: cardId })));
    expect(await balanceOf(cardId)).toBe(5050);
  });

  test.each([{ status: 'lost' }, { status: 'stolen' }, { expires_on: '2020-01-31' }] as const)(
    'moves the whole balance of a card with %j',
    async (change) => {
      const [cardId, safe] = [await newCard(5000), await newCard()];
      await client().cards.update(cardId, change);
      await client().transfers.create({ amount: 1000, card_id: cardId, type: 'unload' });
      await client().transfers.create({
        amount: 4000,
        card_id: cardId,
        type: 'card_to_card',
        destination_card_id: safe,
      });
      expect([await balanceOf(cardId), await balanceOf(safe)]).toEqual([0, 4000]);
    },
  );
});

describe('list_transfers and get_transfer', () => {
  test('finds a transfer by its idempotency key and by its reference', async () => {
    const cardId = await newCard();
    const body = { amount: 7, card_id: cardId, reference: 'invoice & 8/9' };
    const transfer = await client().transfers.create(body, { idempotencyKey: 'look/me&up' });
    const byKey = await client().transfers.list({ idempotency_key: 'look/me&up' });
    expect(byKey).toEqual({ data: [{ ...transfer }], next_cursor: null });
    expect((await client().transfers.list({ reference: 'invoice & 8/9' })).data).toEqual([{ ...transfer }]);
    expect((await client().transfers.list({ idempotency_key: 'never sent' })).data).toEqual([]);
  });

  test('finds no transfer by the key of a refused request', async () => {
    const options = { idempotencyKey: 'refused-and-looked-up' };
    const refused = client().transfers.create({ amount: 1, card_id: 'card_empty', type: 'unload' }, options);
    expect((await refusalOf(refused)).Code).toBe('insufficient_funds');
    expect((await client().transfers.list({ idempotency_key: options.idempotencyKey })).data).toEqual([]);
  });

  test('filters by card (as source or destination), type and status', async () => {
    const [first, second] = [await newCard(100), await newCard()];
    const moved = { amount: 40, card_id: first, type: 'card_to_card', destination_card_id: second } as const;
    const { transfer_id } = await client().transfers.create(moved);
    const idsOf = async (query: object) =>
      (await client().transfers.list(query)).data.map((transfer) => transfer.transfer_id);
    expect((await idsOf({ card_id: first })).length).toBe(2);
    expect(await idsOf({ card_id: first, type: 'card_to_card' })).toEqual([transfer_id]);
    expect(await idsOf({ card_id: first, type: 'unload' })).toEqual([]);
    expect(await idsOf({ card_id: first, status: 'failed' })).toEqual([]);
    expect((await idsOf({ card_id: first, status: 'completed' })).length).toBe(2);
    expect(await idsOf({ card_id: 'card_missing' })).toEqual([]);
  });

  test('returns each older transfer once, newest first, while new transfers arrive', async () => {
    const cardId = await newCard();
    const older: string[] = [];
    for (let amount = 1; amount <= 12; amount += 1) {
      older.unshift((await client().transfers.create({ amount, card_id: cardId })).transfer_id);
    }
    const seen: string[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await client().transfers.list({ card_id: cardId, limit: 5, cursor: cursor ?? undefined });
      seen.push(...page.data.map(({ transfer_id }) => transfer_id));
      cursor = page.next_cursor;
      await client().transfers.create({ amount: 1, card_id: cardId });
    } while (cursor !== null);
    expect(seen).toEqual(older);
  });

  test('returns no next_cursor on the last page, even if the page is full', async () => {
    const cardId = await newCard();
    for (const amount of [1, 2, 3, 4]) await client().transfers.create({ amount, card_id: cardId });
    const first = await client().transfers.list({ card_id: cardId, limit: 2 });
    const second = await client().transfers.list({ card_id: cardId, limit: 2, cursor: first.next_cursor ?? '' });
    expect([first.data.length, second.data.length, second.next_cursor]).toEqual([2, 2, null]);
    const all: string[] = [];
    for await (const { transfer_id } of client().transfers.listAll({ card_id: cardId, limit: 1 }))
      all.push(transfer_id);
    expect(all.length).toBe(4);
  });

  test.each([
    [{ limit: 0 }, '/limit'],
    [{ limit: 101 }, '/limit'],
    [{ cursor: 'tr_nonsense' }, '/cursor'],
    [{ cursor: 'card_01900000000070008000000000000001' }, '/cursor'],
  ])('refuses the query %j', async (query, field) => {
    expect(await refusalOf(client().transfers.list(query))).toMatchObject({ Code: 'list_transfers_schema', field });
  });

  test.each(['tr_missing', 'tr_01900000000070008000000000000001', 'card_active', 'tr_%00'])(
    'does not find the transfer %s',
    async (transferId) => {
      expect(await refusalOf(client().transfers.get(transferId))).toMatchObject({
        Code: 'transfer_not_found',
        Status: 404,
      });
    },
  );
});

describe('cards', () => {
  test('creates a card with a given id and with a generated id', async () => {
    const details = { holder_reference: 'employee 7', last_four: '4242', expires_on: '2099-12-31' };
    const own = await client().cards.create({ ...details, card_id: 'my:card?7' });
    expect(own).toMatchObject({ ...details, card_id: 'my:card?7', status: 'active', currency: 'USD', balance: 0 });
    expect(own.response.headers.get('location')).toBe('/api/v0.1/core/card/my%3Acard%3F7');
    expect(await client().cards.get('my:card?7')).toEqual({ ...own });
    const given = await client().cards.create({ status: 'preactive', currency: 'EUR' });
    expect(given).toMatchObject({ card_id: expect.stringMatching(/^card_[0-9a-f]{32}$/), status: 'preactive' });
    const refused = await refusalOf(client().cards.create({ card_id: 'my:card?7' }));
    expect(refused).toMatchObject({ Code: 'duplicate_card', Status: 409, field: '/card_id' });
  });

  test('shows a card as expired after its expires_on date', async () => {
    const { card_id } = await client().cards.create({ expires_on: '2020-01-31' });
    expect((await client().cards.get(card_id)).status).toBe('expired');
    expect(await refusalOf(client().transfers.create({ amount: 1, card_id }))).toMatchObject({ Code: 'card_expired' });
  });

  test('lists all cards, newest first', async () => {
    const { card_id } = await client().cards.create();
    const listed: string[] = [];
    for await (const card of client().cards.listAll({ limit: 7 })) listed.push(card.card_id);
    expect(listed[0]).toBe(card_id);
    expect(new Set(listed).size).toBe(listed.length);
    expect(listed).toEqual(expect.arrayContaining(['card_active', 'card_full', 'card_eur']));
  });

  test.each([
    [{ card_id: `card_${'0'.repeat(32)}` }, '/card_id'],
    [{ card_id: 'with blank' }, '/card_id'],
    [{ card_id: '.' }, '/card_id'],
    [{ card_id: '..' }, '/card_id'],
    [{ currency: 'XXZ' }, '/currency'],
    [{ currency: 'usd' }, '/currency'],
    [{ last_four: '42' }, '/last_four'],
    [{ expires_on: '2030-02-30' }, '/expires_on'],
  ])('create_card refuses %j', async (body, field) => {
    expect(await refusalOf(client().cards.create(body))).toMatchObject({ Code: 'create_card_schema', field });
  });

  test('responds with a 404 to a missing card', async () => {
    expect(await refusalOf(client().cards.get('card_missing'))).toMatchObject({ Code: 'card_not_found', Status: 404 });
  });
});

describe('programs, deposits, withdrawals', () => {
  test('keeps the cards and the funding of programs separate', async () => {
    const program = await client().programs.create({ name: 'Löhne', currency: 'JPY', time_zone: 'Asia/Tokyo' });
    expect(program).toMatchObject({ name: 'Löhne', currency: 'JPY', time_zone: 'Asia/Tokyo' });
    const programId = program.program_id;
    expect(await client().programs.get(programId)).toEqual({ ...program });
    expect((await client().programs.list({ limit: 1 })).data[0]?.program_id).toBe(programId);
    await client().cards.create({ card_id: 'card_active' }, { programId });
    const refused = await refusalOf(client().transfers.create({ amount: 1, card_id: 'card_active' }, { programId }));
    expect(refused).toMatchObject({ Code: 'insufficient_funds', moneyMoved: 'no' });
    expect(refused.Message).toContain('0 JPY');
  });

  test('adds a deposit and subtracts a withdrawal, but never more than is available', async () => {
    const programId = await newProgram();
    const deposit = await client().deposits.create(programId, { amount: 1000, description: 'wire 7' });
    expect(deposit).toMatchObject({ kind: 'deposit', amount: 1000, balance: 1000, description: 'wire 7' });
    const withdrawal = await client().withdrawals.create(programId, { amount: 400, currency: 'USD' });
    expect(withdrawal).toMatchObject({ kind: 'withdrawal', amount: 400, balance: 600 });
    const refused = await refusalOf(client().withdrawals.create(programId, { amount: 601 }));
    expect(refused).toMatchObject({ Code: 'insufficient_funds', moneyMoved: 'no' });
    expect(await fundingOf(programId)).toBe(600);
  });

  test('has a separate funding account for each currency of a program', async () => {
    const programId = await newProgram('USD', 100);
    await client().deposits.create(programId, { amount: 900, currency: 'EUR' });
    expect([await fundingOf(programId, 'USD'), await fundingOf(programId, 'EUR')]).toEqual([100, 900]);
  });

  test('books a repeated deposit once, and requires an idempotency key', async () => {
    const programId = await newProgram();
    const options = { idempotencyKey: 'wire-8' };
    const first = await client().deposits.create(programId, { amount: 5 }, options);
    const again = await client().deposits.create(programId, { amount: 5 }, options);
    expect([{ ...again }, again.response.replayed]).toEqual([{ ...first }, true]);
    const other = await refusalOf(client().deposits.create(programId, { amount: 6 }, options));
    expect(other.Code).toBe('idempotency_key_exists');
    const empty = await refusalOf(client().deposits.create(programId, { amount: 6 }, { idempotencyKey: '' }));
    expect(empty.Code).toBe('invalid_idempotency_key');
    expect(await fundingOf(programId)).toBe(5);
  });

  test('refuses a deposit above the largest balance: the demo program already has the maximum in GBP', async () => {
    const demo = (await client().cards.get('card_full')).program_id;
    const refused = await refusalOf(client().deposits.create(demo, { amount: 1, currency: 'GBP' }));
    expect(refused).toMatchObject({ Code: 'limit_exceeded', Status: 409, moneyMoved: 'no' });
  });

  test('refuses invalid amounts and unknown programs', async () => {
    const programId = await newProgram();
    for (const amount of [0, 85.5, '1e3', 1_000_000_000_000]) {
      expect(await refusalOf(client().deposits.create(programId, { amount }))).toMatchObject({
        Code: 'invalid_amount',
      });
    }
    expect(await refusalOf(client().withdrawals.create('prog_x', { amount: 1 }))).toMatchObject({
      Code: 'program_not_found',
    });
    expect(await refusalOf(client().programs.get('prog_x'))).toMatchObject({ Code: 'program_not_found' });
    const zone = { name: 'x', currency: 'USD', time_zone: 'Mars/Base' };
    expect(await refusalOf(client().programs.create(zone))).toMatchObject({ Code: 'create_program_schema' });
  });
});

describe('the switch', () => {
  test('stops only the transfers of a disabled program', async () => {
    const [stopped, free] = [await newProgram('USD', 100), await newProgram('USD', 100)];
    const load = async (programId: string) =>
      client().transfers.create({ amount: 1, card_id: await newCard(0, programId) }, { programId });
    const changed = await client().switch.change({ disabled: true, reason: 'audit', program_id: stopped });
    expect(changed).toMatchObject({
      scope: 'program',
      program_id: stopped,
      type: null,
      disabled: true,
      reason: 'audit',
    });
    expect(await refusalOf(load(stopped))).toMatchObject({ Code: 'service_disabled', Status: 424, moneyMoved: 'no' });
    expect((await load(free)).status).toBe('completed');
    const settings = (await client().switch.get()).data.filter(({ program_id }) => program_id === stopped);
    expect(settings).toEqual([{ ...changed }]);
    await client().switch.change({ disabled: false, program_id: stopped });
    expect((await load(stopped)).status).toBe('completed');
  });

  test('stops only a disabled type of a program', async () => {
    const programId = await newProgram('USD', 100);
    const cardId = await newCard(10, programId);
    const move = (type: 'load' | 'unload') =>
      client().transfers.create({ amount: 1, card_id: cardId, type }, { programId });
    const until = '2999-12-31T00:00:00.000Z';
    const body = { disabled: true, reason: 'loads only', program_id: programId, type: 'load', until } as const;
    expect(await client().switch.change(body)).toMatchObject({ scope: 'transfer_type', type: 'load', until });
    const refused = await refusalOf(move('load'));
    expect(refused).toMatchObject({ Code: 'service_disabled', Type: 'Process Error' });
    expect(refused.Message).toContain("'load'");
    expect((await move('unload')).type).toBe('unload');
    // Programs learn that the service is disabled, but not the reason, which operators write for each other.
    const asked = { amount: 1, card_id: cardId, type: 'load' } as const;
    const { checks } = await client().transfers.explain(asked, { programId });
    const saw = { disabled: true, scope: 'transfer_type', until };
    expect(checks.find(({ code }) => code === 'service_disabled')?.saw).toEqual(saw);
  });

  test('stops the transfers of every program while the service is disabled', async () => {
    const programId = await newProgram('USD', 100);
    const cardId = await newCard(0, programId);
    await client().switch.change({ disabled: false, program_id: programId });
    await client().switch.change({ disabled: true, reason: 'everything' });
    try {
      const refused = await refusalOf(client().transfers.create({ amount: 1, card_id: cardId }, { programId }));
      expect(refused).toMatchObject({ Code: 'service_disabled', shouldRetry: false });
      expect(refused.Message).toContain('contact support');
    } finally {
      await client().switch.change({ disabled: false });
    }
  });

  test('shows when a disabled scope will be enabled again, and enables it at that time', async () => {
    const programId = await newProgram('USD', 100);
    const cardId = await newCard(0, programId);
    const load = () => client().transfers.create({ amount: 1, card_id: cardId }, { programId });
    const disable = (end: Date) => {
      const until = end.toISOString();
      return client().switch.change({ disabled: true, reason: 'for a while', program_id: programId, until });
    };
    const changed = await disable(new Date(Date.now() + IN_AN_HOUR));
    expect(Date.parse(changed.until ?? '')).toBeGreaterThan(Date.now());
    const refused = await refusalOf(load());
    expect(refused.Code).toBe('service_disabled');
    expect(refused.retryAfterSeconds).toBeGreaterThan(3000);
    expect(refused.retryAfterSeconds).toBeLessThanOrEqual(3600);
    await beforeMoment(disable);
    const isOpen = () =>
      load().then(
        () => true,
        () => false,
      );
    await waitFor('the switch to be enabled when the time is over', isOpen);
    const settings = (await client().switch.get()).data.filter(({ program_id }) => program_id === programId);
    expect(settings).toMatchObject([{ disabled: false }]);
  });

  test.each([
    [{ disabled: true }, '/reason'],
    [{ disabled: true, reason: 'x', type: 'load' } as const, '/program_id'],
    [{ disabled: false, until: '2099-01-01T00:00:00Z' }, '/until'],
    [{ disabled: true, reason: 'x', until: '2020-01-01T00:00:00Z' }, '/until'],
  ])('change_switch refuses %j', async (body, field) => {
    expect(await refusalOf(client().switch.change(body))).toMatchObject({ Code: 'change_switch_schema', field });
  });

  test('refuses to disable a missing program', async () => {
    const body = { disabled: true, reason: 'x', program_id: 'prog_x' };
    expect(await refusalOf(client().switch.change(body))).toMatchObject({ Code: 'program_not_found' });
  });
});

describe('records of another card program', () => {
  test('are not found by any operation, even with a program key', async () => {
    const programId = await newProgram('USD', 100);
    const cardId = await newCard(50, programId);
    const [load] = (await client().transfers.list({}, { programId })).data;
    const loadId = load?.transfer_id ?? '';
    const hold = await client().transfers.create({ amount: 5, card_id: cardId, capture: 'manual' }, { programId });
    const { reversal_id } = await client().transfers.reverse(loadId, { amount: 1 }, { programId });
    const { key } = await withSecret(client().keys.create(programKey('another shop', await newProgram())));
    const other = new TransferService({ baseUrl: running().url, key, maxRetries: 0, timeoutMilliseconds: 120_000 });
    for (const { transfers, cards } of [client(), other]) {
      const calls: readonly [code: string, call: Promise<unknown>][] = [
        ['transfer_not_found', transfers.get(loadId)],
        ['transfer_not_found', transfers.capture(hold.transfer_id)],
        ['transfer_not_found', transfers.cancel(hold.transfer_id)],
        ['transfer_not_found', transfers.reverse(loadId)],
        ['transfer_not_found', transfers.update(loadId, { metadata: { a: 'b' } })],
        ['transfer_not_found', transfers.reversals(loadId)],
        ['reversal_not_found', transfers.reversal(reversal_id)],
        ['card_not_found', cards.get(cardId)],
        ['card_not_found', cards.update(cardId, { status: 'lost' })],
        ['card_not_found', cards.limits(cardId)],
        ['card_not_found', cards.postings(cardId)],
        ['card_not_found', cards.exportPostings(cardId)],
      ];
      const refused = await Promise.all(calls.map(([, call]) => refusalOf(call)));
      expect(refused.map(({ Code }) => Code)).toEqual(calls.map(([code]) => code));
    }
    expect((await client().transfers.get(hold.transfer_id, { programId })).status).toBe('pending');
    expect(await client().cards.get(cardId, { programId })).toMatchObject({
      balance: 49,
      incoming: 5,
      status: 'active',
    });
  });

  test('are found with a key of that program', async () => {
    const programId = await newProgram('USD', 100);
    const cardId = await newCard(50, programId);
    const { key } = await withSecret(client().keys.create(programKey('shop', programId)));
    const own = new TransferService({ baseUrl: running().url, key, maxRetries: 0, timeoutMilliseconds: 120_000 });
    const [captured, canceled] = [
      await own.transfers.create({ amount: 5, card_id: cardId, capture: 'manual' }),
      await own.transfers.create({ amount: 6, card_id: cardId, capture: 'manual' }),
    ];
    expect((await own.transfers.capture(captured.transfer_id)).status).toBe('completed');
    expect((await own.transfers.cancel(canceled.transfer_id)).status).toBe('canceled');
    const { reversal_id } = await own.transfers.reverse(captured.transfer_id, { amount: 2 });
    expect((await own.transfers.reversal(reversal_id)).amount).toBe(2);
    expect((await own.cards.update(cardId, { holder_reference: 'x' })).balance).toBe(53);
    expect(await refusalOf(own.programs.update(programId, { name: 'x' }))).toMatchObject({ Code: 'forbidden' });
  });
});

describe('keys', () => {
  test('shows the secret only once, and lists a revoked key', async () => {
    const programId = await newProgram();
    const made = await withSecret(client().keys.create(programKey('shop', programId)));
    expect(made.key).toMatch(/^ts_/);
    const { key: secret, key_omitted, ...rest } = made;
    expect(key_omitted).toBeNull();
    expect(made.key.startsWith(made.shown_as.replace('…', ''))).toBe(true);
    const listed = (await client().keys.list()).data.find(({ key_id }) => key_id === made.key_id);
    expect(listed).toEqual(rest);
    const page = JSON.stringify(await client().keys.list());
    expect(page).not.toContain(secret);
    const revoked = await client().keys.revoke(made.key_id);
    expect(revoked.revoked_at).not.toBeNull();
    expect({ ...(await client().keys.revoke(made.key_id)) }).toEqual({ ...revoked });
  });

  test('refuses invalid keys', async () => {
    const past = { ...operatorKey('x'), expires_at: '2020-01-01T00:00:00Z' };
    expect(await refusalOf(client().keys.create(past))).toMatchObject({ Code: 'create_key_schema' });
    expect(await refusalOf(client().keys.create(programKey('x', 'prog_x')))).toMatchObject({
      Code: 'program_not_found',
    });
    expect(await refusalOf(client().keys.revoke('key_x'))).toMatchObject({ Code: 'key_not_found', Status: 404 });
  });
});
