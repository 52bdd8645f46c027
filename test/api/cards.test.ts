import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { type ErrorCode, OPERATIONS } from '../../contract/operations.ts';
import { CARD_MOVES, CARD_STATUSES, type CardStatus, SETTABLE_CARD_STATUSES } from '../../domain/cards/card.ts';
import type { UpdateCardBody } from '../../sdk/client.ts';
import { patiently } from '../harness/client/patience.ts';
import { sendRaw } from '../harness/raw-request.ts';
import { expectBalancedBooks, refusalOf, useService } from '../harness/service.ts';
import { held, newCard } from './arrange.ts';

const running = useService();
const client = () => running().client;
afterAll(() => expectBalancedBooks(running()));

const card = (balance?: number, currency?: string): Promise<string> => newCard(client(), balance, currency);
const update = (cardId: string, body: UpdateCardBody, ifMatch?: string) =>
  client().cards.update(cardId, body, { ifMatch });
const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

/** Returns a new card with this status. */
async function cardIn(status: CardStatus, balance = 0): Promise<string> {
  if (status === 'preactive') return (await client().cards.create({ status })).card_id;
  const cardId = await card(balance);
  if (status === 'expired') await update(cardId, { expires_on: day(-2) });
  else if (status !== 'active') await update(cardId, { status });
  return cardId;
}

async function fundingOf(cardId: string): Promise<number> {
  const { program_id, currency } = await client().cards.get(cardId);
  const { funding } = await client().programs.get(program_id);
  return funding.find((account) => account.currency === currency)?.balance ?? 0;
}

describe('update_card', () => {
  test('changes only the fields that are sent', async () => {
    const cardId = await card(500);
    const before = await client().cards.get(cardId);
    const limits = { in: { daily_amount: 1000, daily_count: 3 }, maximum_balance: 2000 };
    const changes: UpdateCardBody = { holder_reference: 'employee 8', last_four: '4711', expires_on: '2099-01-31' };
    const changed = await update(cardId, { ...changes, limits, status: 'inactive' });
    expect({ ...changed }).toEqual({
      ...before,
      ...changes,
      limits,
      status: 'inactive',
      updated_at: expect.any(String),
    });
    expect(Date.parse(changed.updated_at)).toBeGreaterThan(Date.parse(before.updated_at));
    expect(await client().cards.get(cardId)).toEqual({ ...changed });
    const last = await update(cardId, { last_four: '0000' });
    expect({ ...last }).toEqual({ ...changed, last_four: '0000', updated_at: last.updated_at });
  });

  test('sets metadata at creation, merges it pair by pair, and never changes it on a closed card', async () => {
    const { card_id: cardId, metadata } = await client().cards.create({ metadata: { tier: 'gold', shop: '7' } });
    expect(metadata).toEqual({ tier: 'gold', shop: '7' });
    expect((await client().cards.create({})).metadata).toEqual({});
    const changed = await update(cardId, { metadata: { tier: 'silver', shop: null, note: '' } });
    expect(changed.metadata).toEqual({ tier: 'silver', note: '' });
    expect({ ...(await client().cards.get(cardId)) }).toEqual({ ...changed });
    const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`name ${at}`, 'x']));
    const refused = await refusalOf(update(cardId, { metadata: pairs(19) }));
    expect(refused).toMatchObject({ Code: 'update_card_schema', field: '/metadata' });
    expect(refused.Message).toContain('it would have 21');
    expect((await update(cardId, { metadata: pairs(18) })).metadata).toEqual({ ...changed.metadata, ...pairs(18) });
    // Events appear in lists shortly after their commit, once the relay has given them a position.
    const newest = async () =>
      (await client().events.list({ subject_id: cardId, type: 'card.updated', limit: 1 })).data;
    const shown = { tier: 'silver', note: '', 'name 17': 'x' };
    await expect.poll(newest).toMatchObject([{ data: { metadata: shown } }]);
    expect((await update(cardId, { metadata: null })).metadata).toEqual({});
    await update(cardId, { status: 'closed', metadata: { reason: 'lost' } });
    const late = await refusalOf(update(cardId, { metadata: { reason: 'found' } }));
    expect(late).toMatchObject({ Code: 'invalid_card_status', field: '/metadata' });
    expect((await client().cards.get(cardId)).metadata).toEqual({ reason: 'lost' });
  });

  test('accepts a request that changes nothing, and leaves updated_at unchanged', async () => {
    const cardId = await card();
    const body: UpdateCardBody = { holder_reference: 'x', status: 'lost', limits: { out: { weekly_count: 2 } } };
    const first = await update(cardId, body);
    await delay(5);
    expect({ ...(await update(cardId, body)) }).toEqual({ ...first });
    expect({ ...(await update(cardId, {})) }).toEqual({ ...first });
  });

  test('merges limits: null removes a limit, and the other limits stay', async () => {
    const cardId = await card();
    const limitsAfter = async (limits: UpdateCardBody['limits']) => (await update(cardId, { limits })).limits;
    const all = { in: { maximum_amount: 10, daily_count: 3 }, out: { maximum_amount: 9 }, maximum_balance: 50 };
    expect(await limitsAfter(all)).toEqual(all);
    for (const nothing of [{}, { in: {} }, { in: {}, out: {} }, undefined])
      expect(await limitsAfter(nothing)).toEqual(all);
    const more = { ...all, in: { minimum_amount: 5, ...all.in } };
    expect(await limitsAfter({ in: { minimum_amount: 5 } })).toEqual(more);
    expect(await limitsAfter({ in: { minimum_amount: null } })).toEqual(all);
    expect(await limitsAfter({ in: { daily_count: null, maximum_amount: 8 } })).toEqual({
      ...all,
      in: { maximum_amount: 8 },
    });
    expect((await refusalOf(client().transfers.create({ amount: 9, card_id: cardId }))).Code).toBe('amount_too_large');
    expect(await limitsAfter({ in: null })).toEqual({ out: all.out, maximum_balance: 50 });
    expect((await refusalOf(client().transfers.create({ amount: 51, card_id: cardId }))).Code).toBe('limit_exceeded');
    expect(await limitsAfter({ maximum_balance: null })).toEqual({ out: all.out });
    expect(await limitsAfter(null)).toBeNull();
    expect(await limitsAfter({ in: null, out: { daily_count: null } })).toBeNull();
    await client().transfers.create({ amount: 51, card_id: cardId });
  });

  test('removes only holder_reference, last_four and expires_on when they are null', async () => {
    const { card_id } = await client().cards.create({
      holder_reference: 'one',
      last_four: '1234',
      expires_on: '2001-01-01',
      limits: { in: { daily_count: 3 } },
    });
    const before = await client().cards.get(card_id);
    expect(before.status).toBe('expired');
    const after = async (body: UpdateCardBody) => ({ ...(await update(card_id, body)), updated_at: before.updated_at });
    const valid = { ...before, status: 'active', expires_on: null };
    expect(await after({ expires_on: null })).toEqual(valid);
    expect(await after({ expires_on: null })).toEqual(valid);
    expect(await after({ holder_reference: null })).toEqual({ ...valid, holder_reference: null });
    expect(await after({ last_four: null, holder_reference: 'two' })).toEqual({
      ...valid,
      holder_reference: 'two',
      last_four: null,
    });
  });

  test('refuses a limit that contradicts an existing one, and changes nothing', async () => {
    const cardId = await card();
    const { limits } = await update(cardId, { limits: { in: { maximum_amount: 10 } } });
    const refused = await refusalOf(update(cardId, { limits: { in: { minimum_amount: 11 }, maximum_balance: 5 } }));
    expect(refused).toMatchObject({ Code: 'update_card_schema', field: '/limits/in/minimum_amount', moneyMoved: 'no' });
    expect((await client().cards.get(cardId)).limits).toEqual(limits);
    const moved = await update(cardId, { limits: { in: { minimum_amount: 11, maximum_amount: null } } });
    expect(moved.limits).toEqual({ in: { minimum_amount: 11 } });
  });

  test('create_card also accepts limits', async () => {
    const limits = { in: { maximum_amount: 10 }, maximum_balance: 15 };
    const made = await client().cards.create({ limits });
    expect(made.limits).toEqual(limits);
    expect(await client().cards.get(made.card_id)).toEqual({ ...made });
    const refused = await refusalOf(client().transfers.create({ amount: 11, card_id: made.card_id }));
    expect(refused.Code).toBe('amount_too_large');
  });

  const BAD: readonly (readonly [body: object, field: string, says: string])[] = [
    [{ status: 'expired' }, '/status', "'active'"],
    [{ status: 'preactive' }, '/status', "'closed'"],
    [{ balance_to: 'funding' }, '/balance_to', "'status': 'closed'"],
    [{ status: 'lost', balance_to: 'funding' }, '/balance_to', "'status': 'closed'"],
    [{ status: 'closed', balance_to: 'card_active' }, '/balance_to', "'funding'"],
    [{ expires_on: '2030-02-30' }, '/expires_on', 'YYYY-MM-DD'],
    [{ status: null }, '/status', 'cannot be removed'],
    [{ status: 'closed', balance_to: null }, '/balance_to', 'cannot be removed'],
    [{ status: '' }, '/status', 'must not be empty'],
    [{ holder_reference: '' }, '/holder_reference', 'send null to remove it'],
    [{ expires_on: '' }, '/expires_on', 'send null to remove it'],
    [{ limits: '' }, '/limits', 'send null to remove it'],
    [{ limits: { in: '' } }, '/limits/in', 'send null to remove it'],
    [{ limits: { maximum_balance: '' } }, '/limits/maximum_balance', 'send null to remove it'],
    [{ expires_on: '0000-01-01' }, '/expires_on', '1900-01-01 to 9999-12-31'],
    [{ last_four: 'abcd' }, '/last_four', 'Last four digits'],
    [{ limits: 5 }, '/limits', 'object'],
    [{ limits: { daily_amount: 5 } }, '/limits', "'in', 'out'"],
    [{ limits: { in: { dailyAmount: 5 } } }, '/limits/in', "'daily_amount'"],
    [{ limits: { in: { daily_amount: -1 } } }, '/limits/in/daily_amount', 'whole number'],
    [{ limits: { in: { daily_amount: 1.5 } } }, '/limits/in/daily_amount', 'whole number'],
    [{ limits: { out: { monthly_count: '5' } } }, '/limits/out/monthly_count', 'whole number'],
    [{ limits: { maximum_balance: 9_007_199_254_740_992 } }, '/limits/maximum_balance', '9007199254740991'],
    [{ limits: { in: { minimum_amount: 11, maximum_amount: 10 } } }, '/limits/in/minimum_amount', "'limits.in.max"],
    [{ limits: { out: { minimum_amount: 1, maximum_amount: 0 } } }, '/limits/out/minimum_amount', "'limits.out.max"],
  ];

  test.each(BAD)('refuses the body %j', async (body, field, says) => {
    const refused = await refusalOf(update('card_missing', body as UpdateCardBody));
    expect(refused).toMatchObject({ Code: 'update_card_schema', Status: 400, field, moneyMoved: 'no' });
    expect(refused.Message).toContain(says);
  });

  test('create_card refuses limits that contradict each other', async () => {
    const limits = { in: { minimum_amount: 2, maximum_amount: 1 } };
    const refused = await refusalOf(client().cards.create({ limits }));
    expect(refused).toMatchObject({ Code: 'create_card_schema', field: '/limits/in/minimum_amount' });
  });
});

describe('card status', () => {
  test.each(CARD_STATUSES)('lets a card change from %s only to the statuses in the table', async (from) => {
    for (const to of SETTABLE_CARD_STATUSES) {
      const cardId = await cardIn(from);
      expect((await client().cards.get(cardId)).status).toBe(from);
      if (to === from || CARD_MOVES[from].includes(to)) {
        expect((await update(cardId, { status: to })).status).toBe(to);
        continue;
      }
      const refused = await refusalOf(update(cardId, { status: to }));
      expect(refused).toMatchObject({ Code: 'invalid_card_status', Status: 409, field: '/status', moneyMoved: 'no' });
      expect(refused.Message).toContain(`'${cardId}'`);
      if (from === 'closed') expect(refused.Message).toContain('is closed and cannot be changed');
      else for (const name of [from, to, ...CARD_MOVES[from]]) expect(refused.Message).toContain(`'${name}'`);
      expect((await client().cards.get(cardId)).status).toBe(from);
    }
  });

  test('lists the possible statuses when it refuses a status for a stolen card', async () => {
    const refused = await refusalOf(update('card_stolen', { status: 'active' }));
    expect(refused.Message).toBe(
      "The card 'card_stolen' is 'stolen' and cannot change to 'active'. Allowed: 'closed'.",
    );
  });

  test('applies a new status to the next transfer', async () => {
    const cardId = await card(100);
    const load = () => client().transfers.create({ amount: 1, card_id: cardId });
    await update(cardId, { status: 'fraud' });
    expect((await refusalOf(load())).Code).toBe('card_suspected_fraud');
    await update(cardId, { status: 'active' });
    expect((await load()).status).toBe('completed');
  });

  test('restores the status of an expired card when expires_on is moved to a later date', async () => {
    const cardId = await cardIn('expired', 100);
    const refused = await refusalOf(update(cardId, { status: 'active' }));
    expect(refused.Code).toBe('invalid_card_status');
    expect(refused.Message).toContain(`last valid day: ${day(-2)}`);
    expect(refused.Message).toContain("'expires_on'");
    expect(await update(cardId, { expires_on: day(2) })).toMatchObject({ status: 'active', expires_on: day(2) });
    await client().transfers.create({ amount: 1, card_id: cardId });
  });

  test('applies expires_on before status in one request', async () => {
    const cardId = await cardIn('expired');
    expect((await update(cardId, { status: 'inactive', expires_on: day(2) })).status).toBe('inactive');
    const refused = await refusalOf(update(cardId, { status: 'active', expires_on: day(-2) }));
    expect(refused).toMatchObject({ Code: 'invalid_card_status', field: '/status' });
    expect((await client().cards.get(cardId)).expires_on).toBe(day(2));
  });

  test('keeps a card active on the day of expires_on', async () => {
    const cardId = await card();
    // The demo program's days are in UTC.
    expect((await update(cardId, { expires_on: day(0) })).status).toBe('active');
    expect((await update(cardId, { expires_on: day(-1) })).status).toBe('expired');
  });

  test.each([
    [{ holder_reference: 'y' }, '/holder_reference'],
    [{ last_four: '1111' }, '/last_four'],
    [{ expires_on: '2099-01-01' }, '/expires_on'],
    [{ limits: { in: { daily_count: 1 } } }, '/limits'],
    [{ status: 'closed', holder_reference: 'y' } as const, '/holder_reference'],
  ])('refuses to change a closed card: %j', async (body, field) => {
    const before = await client().cards.get('card_closed');
    const refused = await refusalOf(update('card_closed', body));
    expect(refused).toMatchObject({ Code: 'invalid_card_status', Status: 409, field });
    expect(await client().cards.get('card_closed')).toEqual({ ...before });
  });
});

describe('closing a card', () => {
  test('closes an empty card', async () => {
    const cardId = await card();
    expect((await update(cardId, { status: 'closed' })).status).toBe('closed');
    expect((await refusalOf(client().transfers.create({ amount: 1, card_id: cardId }))).Code).toBe('card_closed');
    expect((await client().transfers.list({ card_id: cardId })).data).toEqual([]);
  });

  test('refuses a card with a balance, and the message names the balance and the next step', async () => {
    const cardId = await card(1234);
    const refused = await refusalOf(update(cardId, { status: 'closed' }));
    expect(refused).toMatchObject({ Code: 'card_not_empty', Status: 409, moneyMoved: 'no', field: '/status' });
    expect(refused.Message).toBe(
      `The card '${cardId}' cannot be closed: its balance is 12.34 USD. Unload the card, or send 'balance_to': 'funding' with the status.`,
    );
    expect(await client().cards.get(cardId)).toMatchObject({ status: 'active', balance: 1234 });
  });

  test('refuses a card with outgoing or incoming holds, with and without balance_to', async () => {
    const cardId = await card(1000);
    const out = await held(client(), cardId, 300, { type: 'unload' });
    const into = await held(client(), cardId, 70);
    const close = () => update(cardId, { status: 'closed', balance_to: 'funding' });
    const refused = await refusalOf(close());
    expect(refused.Code).toBe('card_not_empty');
    expect(refused.Message).toBe(
      `The card '${cardId}' cannot be closed: its balance is 10.00 USD, pending transfers hold 3.00 USD, ` +
        '0.70 USD is on hold for it. Capture or cancel the pending transfers.',
    );
    await client().transfers.cancel(out);
    expect((await refusalOf(close())).Message).toContain('0.70 USD is on hold for it');
    await client().transfers.cancel(into);
    expect(await close()).toMatchObject({ status: 'closed', balance: 0 });
  });

  test('unloads the balance with an ordinary transfer if balance_to is funding', async () => {
    const cardId = await card(1234);
    const funding = await fundingOf(cardId);
    const closed = await update(cardId, { status: 'closed', balance_to: 'funding', holder_reference: 'left' });
    expect(closed).toMatchObject({ status: 'closed', balance: 0, available: 0, held: 0, holder_reference: 'left' });
    expect(await client().cards.get(cardId)).toEqual({ ...closed });
    expect(await fundingOf(cardId)).toBe(funding + 1234);
    const [last, first] = (await client().transfers.list({ card_id: cardId })).data;
    expect(first).toMatchObject({ type: 'load', amount: 1234 });
    expect(last).toMatchObject({
      card_id: cardId,
      type: 'unload',
      amount: 1234,
      captured_amount: 1234,
      status: 'completed',
      outcome: 'final',
      description: 'Balance of the closed card',
      completed_at: closed.updated_at,
    });
    const { data, closing_balance } = await client().cards.postings(cardId);
    expect(data[0]).toMatchObject({ purpose: 'unload', direction: 'out', amount: 1234, balance: 0 });
    expect([data[0]?.transfer_id, closing_balance]).toEqual([last?.transfer_id, 0]);
    const reversed = await refusalOf(client().transfers.reverse(last?.transfer_id ?? ''));
    expect(reversed.Code).toBe('card_closed');
  });

  test('accepts a repeated request, which moves nothing', async () => {
    const cardId = await card(10);
    const first = await update(cardId, { status: 'closed', balance_to: 'funding' });
    expect({ ...(await update(cardId, { status: 'closed', balance_to: 'funding' })) }).toEqual({ ...first });
    expect((await client().transfers.list({ card_id: cardId })).data.length).toBe(2);
  });

  test('creates no transfer for an empty card, even with balance_to', async () => {
    const cardId = await card();
    expect(await update(cardId, { status: 'closed', balance_to: 'funding' })).toMatchObject({ status: 'closed' });
    expect((await client().transfers.list({ card_id: cardId })).data).toEqual([]);
  });

  test.each(CARD_STATUSES.filter((status) => status !== 'closed'))('closes a card that is %s', async (from) => {
    const cardId = await cardIn(from, 50);
    expect(await update(cardId, { status: 'closed', balance_to: 'funding' })).toMatchObject({ balance: 0 });
  });

  test('ignores limits, and does not count toward them', async () => {
    const cardId = await card(50);
    const limits = { out: { maximum_amount: 1, daily_amount: 2, daily_count: 0, monthly_amount: 3 } };
    await update(cardId, { limits });
    expect(await update(cardId, { status: 'closed', balance_to: 'funding' })).toMatchObject({ balance: 0 });
    const { out } = await client().cards.limits(cardId);
    expect(out.limits.map(({ used }) => used)).toEqual([null, 0, 0, 0]);
  });

  test('refuses a balance above the maximum of one transfer', async () => {
    const refused = await refusalOf(update('card_full', { status: 'closed', balance_to: 'funding' }));
    expect(refused).toMatchObject({ Code: 'limit_exceeded', Status: 409, field: '/balance_to', moneyMoved: 'no' });
    expect(refused.Message).toContain('the maximum of one transfer is 9,999,999,999.99 GBP');
    expect((await refusalOf(update('card_full', { status: 'closed' }))).Code).toBe('card_not_empty');
    expect((await client().cards.get('card_full')).status).toBe('active');
  });

  test('leaves the card empty and loses no money while 64 other transfers run', async () => {
    const cardId = await card(5000);
    const funding = await fundingOf(cardId);
    const move = async (index: number): Promise<unknown> => {
      const type = index % 2 === 0 ? 'load' : 'unload';
      const moved = patiently(() => client().transfers.create({ amount: 1 + index, card_id: cardId, type }));
      return moved.catch((error: unknown) => expect(error).toMatchObject({ Code: 'card_closed' }));
    };
    const moves = Array.from({ length: 64 }, (_, index) => delay(index % 8).then(() => move(index)));
    await delay(4);
    await patiently(() => update(cardId, { status: 'closed', balance_to: 'funding' }));
    await Promise.all(moves);
    expect(await client().cards.get(cardId)).toMatchObject({ status: 'closed', balance: 0, held: 0, incoming: 0 });
    expect(await fundingOf(cardId)).toBe(funding + 5000);
    const sweeps = (await client().transfers.list({ card_id: cardId, limit: 100 })).data.filter(
      ({ description }) => description !== null,
    );
    expect(sweeps.length).toBe(1);
  });
});

describe('the switch', () => {
  const disable = (scope: object) => client().switch.change({ disabled: true, reason: 'a test', ...scope });
  const enable = (scope: object) => client().switch.change({ disabled: false, ...scope });

  test.each([['the service'], ['the program'], ['unloads of the program']])(
    'moves no balance while %s is disabled, but still blocks cards and closes empty ones',
    async (what) => {
      const [full, empty] = [await card(10), await card()];
      const { program_id } = await client().cards.get(full);
      const scope = what === 'the service' ? {} : { program_id, ...(what === 'the program' ? {} : { type: 'unload' }) };
      await disable(scope);
      try {
        const refused = await refusalOf(update(full, { status: 'closed', balance_to: 'funding' }));
        expect(refused).toMatchObject({ Code: 'service_disabled', Status: 424, moneyMoved: 'no' });
        expect((await update(full, { status: 'fraud', limits: { in: { daily_count: 0 } } })).status).toBe('fraud');
        expect((await update(empty, { status: 'closed' })).status).toBe('closed');
      } finally {
        await enable(scope);
      }
      expect((await update(full, { status: 'closed', balance_to: 'funding' })).balance).toBe(0);
    },
  );

  test('unloads the balance while loads of the program are disabled', async () => {
    const cardId = await card(10);
    const { program_id } = await client().cards.get(cardId);
    await disable({ program_id, type: 'load' });
    try {
      expect((await update(cardId, { status: 'closed', balance_to: 'funding' })).balance).toBe(0);
    } finally {
      await enable({ program_id, type: 'load' });
    }
  });
});

describe('order of refusals', () => {
  /** One cause for each code, in the contract's order. The tests also try each cause while the service is disabled. */
  const CAUSES: readonly (readonly [ErrorCode, cardId: string, body: UpdateCardBody])[] = [
    ['card_not_found', 'card_missing', { status: 'closed', balance_to: 'funding' }],
    ['invalid_card_status', 'card_closed', { status: 'closed', balance_to: 'funding', last_four: '1234' }],
    ['card_not_empty', 'card_lost', { status: 'closed' }],
    ['limit_exceeded', 'card_full', { status: 'closed', balance_to: 'funding' }],
  ];

  test('tries a cause for every code of the contract except the first and the last', () => {
    const named: readonly ErrorCode[] = ['service_disabled', ...CAUSES.map(([code]) => code), 'precondition_failed'];
    expect(named).toEqual([...OPERATIONS.update_card.errors]);
  });

  test.each(CAUSES)('reports %s even if the version is stale', async (code, cardId, body) => {
    expect((await refusalOf(update(cardId, body))).Code).toBe(code);
    expect((await refusalOf(update(cardId, body, '"stale"'))).Code).toBe(code);
  });

  test('reports service_disabled first if money would move', async () => {
    await client().switch.change({ disabled: true, reason: 'a test' });
    try {
      for (const [code, cardId, body] of CAUSES) {
        const expected = body.balance_to === undefined ? code : 'service_disabled';
        expect((await refusalOf(update(cardId, body))).Code).toBe(expected);
      }
    } finally {
      await client().switch.change({ disabled: false });
    }
  });

  test('reports a schema error first, and reports that no money moved', async () => {
    const refused = await sendRaw(running().url, {
      method: 'PATCH',
      path: '/api/v0.1/core/card/card_full',
      body: { status: 'closed', balance_to: 'funding', last_four: 'x' },
    });
    expect([refused.status, refused.fields.Code, refused.headers['money-moved']]).toEqual([
      400,
      'update_card_schema',
      'no',
    ]);
  });

  test('responds with unknown_update_card while the database is stopped', async () => {
    await running().database.stop();
    try {
      const refused = await refusalOf(update('card_active', { status: 'inactive' }));
      expect(refused).toMatchObject({ Code: 'unknown_update_card', Status: 500, moneyMoved: 'no' });
      const limits = await refusalOf(client().cards.limits('card_active'));
      expect(limits).toMatchObject({ Code: 'unknown_get_card_limits', Status: 500 });
    } finally {
      await running().database.start();
    }
    expect((await client().cards.get('card_active')).status).toBe('active');
  });
});
