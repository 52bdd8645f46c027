import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CARD_RULES, CARD_STATUSES } from '../../../domain/cards/card.ts';
import { forEachPeriod, LIMIT_NAMES, type LimitName } from '../../../domain/ledger/limits.ts';
import { patiently } from '../../harness/client/patience.ts';
import { calendarAt } from '../../harness/local-time.ts';
import { isThorough } from '../../harness/run/ring.ts';
import { expectBalancedBooks, refusalOf, useOwnService } from '../../harness/service.ts';
import { type LimitedCard, limitedProgram, midweek, type ProgramSetting, setClock } from './limited.ts';

const running = useOwnService('It compares the seeded cards.');
const client = () => running().client;
const program = (setting?: ProgramSetting) => limitedProgram(client(), setting);

// The tests must not run near the end of a period.
const NOON = midweek();
const at = (time: number): string => new Date(time).toISOString();
const DAY = 86_400_000;

beforeAll(() => setClock(client(), NOON));
afterAll(async () => {
  await client().sandbox.moveClock({ seconds_ahead: 0 });
  await expectBalancedBooks(running());
});

/** When each period that contains NOON ends. */
const ENDS = forEachPeriod((period) => at(calendarAt(NOON, 'UTC')[period].end));

/** Messages contain times without fractions of a second. */
const asWritten = (moment: string): string => moment.replace('.000Z', 'Z');

async function codeOf(call: Promise<unknown>): Promise<string> {
  return (await refusalOf(call)).Code;
}

describe('get_card_limits', () => {
  test('has every field for a card with its own limits, limits of its program, and both', async () => {
    const limits = { in: { monthly_amount: 900 }, out: { daily_count: 4 } };
    const cardLimits = { in: { daily_amount: 300, daily_count: 9 }, out: { weekly_amount: 70 }, maximum_balance: 800 };
    const made = await program({ limits, cardLimits });
    const card = await made.card({ in: { daily_amount: 500, minimum_amount: 20 } });
    await card.load(120);
    await card.load(60, { capture: 'manual' });
    await card.unload(50);
    const response = await card.limits();
    const none = { used: null, left: null, frees_at: null };
    expect({ ...response }).toEqual({
      card_id: card.cardId,
      program_id: made.programId,
      currency: 'USD',
      balance: 70,
      available: 70,
      incoming: 60,
      in: {
        allowed: true,
        code: null,
        most: 320,
        least: 20,
        limits: [
          { name: 'minimum_amount', set_by: 'card', value: 20, ...none },
          { name: 'daily_amount', set_by: 'card', value: 500, used: 180, left: 320, frees_at: ENDS.day },
          { name: 'daily_count', set_by: 'program_card', value: 9, used: 2, left: 7, frees_at: ENDS.day },
          { name: 'monthly_amount', set_by: 'program', value: 900, used: 180, left: 720, frees_at: ENDS.month },
        ],
      },
      out: {
        allowed: true,
        code: null,
        most: 20,
        least: 1,
        limits: [
          { name: 'weekly_amount', set_by: 'program_card', value: 70, used: 50, left: 20, frees_at: ENDS.week },
          { name: 'daily_count', set_by: 'program', value: 4, used: 1, left: 3, frees_at: ENDS.day },
        ],
      },
      maximum_balance: { value: 800, set_by: 'program_card', left: 670 },
      evaluated_at: expect.any(String),
    });
    expect(Math.abs(Date.parse(response.evaluated_at) - NOON)).toBeLessThan(600_000);
  });

  test('shows the available balance if there are no limits, but at most the maximum of one transfer', async () => {
    const made = await program({ funding: 700 });
    const card = await made.card(undefined, 200);
    expect(await card.limits()).toMatchObject({
      in: { most: 500, least: 1, limits: [] },
      out: { most: 200, least: 1, limits: [] },
      maximum_balance: null,
    });
    const full = (await client().cards.limits('card_full')).out;
    expect(full.most).toBe(999_999_999_999);
  });

  test.each(CARD_STATUSES.filter((status) => status !== 'active'))('depends on the status %s', async (status) => {
    const { moneyIn, moneyOut, code } = CARD_RULES[status];
    const most = moneyOut ? 5000 : 0;
    const response = await client().cards.limits(`card_${status}`);
    expect(response.in).toMatchObject({ allowed: moneyIn, code, most: 0 });
    expect(response.out).toMatchObject({ allowed: moneyOut, code: moneyOut ? null : code, most });
  });

  test("shows 0 as the maximum while loads are disabled, although the card's status still allows them", async () => {
    const { program_id } = await client().cards.get('card_active');
    await client().switch.change({ disabled: true, reason: 'a test', program_id, type: 'load' });
    try {
      const response = await client().cards.limits('card_active');
      expect([response.in.most, response.in.allowed, response.out.most]).toEqual([0, true, 25_000]);
    } finally {
      await client().switch.change({ disabled: false, program_id, type: 'load' });
    }
  });

  test('responds with a 404 to a missing card', async () => {
    expect(await refusalOf(client().cards.limits('card_missing'))).toMatchObject({
      Code: 'card_not_found',
      Status: 404,
    });
  });
});

const NAMES = Object.keys(LIMIT_NAMES) as LimitName[];
const SOURCES = ['card', 'program_card', 'program'] as const;
const EVERY_LIMIT = NAMES.flatMap((name, place) =>
  (['in', 'out'] as const).flatMap((direction, side) =>
    // Tests each limit at one source only, and rotates the sources. `npm run verify` tests each limit at every source.
    SOURCES.filter((_, turn) => isThorough || (place + side) % SOURCES.length === turn).map(
      (source) => [name, direction, source] as const,
    ),
  ),
);

/** Creates two cards under one limit. A limit of the program as a whole is used up by both cards. */
async function underLimit(name: LimitName, value: number, direction: 'in' | 'out', source: (typeof SOURCES)[number]) {
  const limits = { [direction]: { [name]: value } };
  const made = await program();
  const first = await made.card(source === 'card' ? limits : undefined, 1000);
  const second = await made.card(source === 'card' ? limits : undefined, 1000);
  // Sets the card's limits last, so that they do not refuse the initial balances. The initial balances still count for
  // the program.
  if (source !== 'card')
    await made.update(source === 'program' ? limits : undefined, source === 'program' ? undefined : limits);
  return { first, second };
}

const WHOSE = {
  card: 'set on the card',
  program_card: 'set by the card program for each card',
  program: 'set for the card program as a whole',
} as const;

describe('a limit is exact to the minor unit, and the refusal names the limit:', () => {
  test.each(EVERY_LIMIT)('%s, %s, set by %s', async (name, direction, source) => {
    const { period, measure } = LIMIT_NAMES[name];
    // Each card started with a load of 1000.
    const loads = direction === 'out' || period === null ? 0 : source === 'program' ? 2 : 1;
    const before = { amount: loads * 1000, count: loads };
    const value = before[measure] + (measure === 'count' ? 3 : 30);
    const { first, second } = await underLimit(name, value, direction, source);
    const move = (card: LimitedCard, amount: number) => card.move(direction, amount);
    if (period === null) {
      const [kept, broken, code] =
        name === 'minimum_amount' ? [30, 29, 'amount_too_small'] : [30, 31, 'amount_too_large'];
      const refused = await refusalOf(move(first, broken));
      expect(refused).toMatchObject({ Code: code, Status: 400, field: '/amount', moneyMoved: 'no' });
      for (const text of [`'${name}'`, WHOSE[source], '0.30 USD', `0.${broken} USD`])
        expect(refused.Message).toContain(text);
      expect((await move(first, kept)).status).toBe('completed');
      return;
    }
    await move(first, 10);
    await move(source === 'program' ? second : first, 10);
    const refusedEarly = measure === 'amount' ? await refusalOf(move(first, 11)) : undefined;
    expect(refusedEarly?.Code).toBe(measure === 'amount' ? 'limit_exceeded' : undefined);
    await move(first, 10);
    const refused = await refusalOf(move(first, 1));
    expect(refused).toMatchObject({ Code: 'limit_exceeded', Status: 409, field: '/amount', moneyMoved: 'no' });
    const [used, left] =
      measure === 'count'
        ? [`${value} transfers used`, '0 transfers left']
        : [`${(value / 100).toFixed(2)} USD used`, '0.00 USD left'];
    for (const text of [`'${name}'`, WHOSE[source], `per ${period}`, used, left, asWritten(ENDS[period])])
      expect(refused.Message).toContain(text);
    // The other card has its own limit, unless the limit belongs to the program.
    if (source === 'program') expect(await codeOf(move(second, 1))).toBe('limit_exceeded');
    else expect((await move(second, 1)).status).toBe('completed');
    // Transfers in the other direction have a separate limit.
    expect((await first.move(direction === 'in' ? 'out' : 'in', 1)).status).toBe('completed');
  });

  test('explains the limit in full in its message', async () => {
    const card = await (await program()).card({ in: { daily_amount: 100 } });
    await card.load(70);
    expect((await refusalOf(card.load(31))).Message).toBe(
      `The card '${card.cardId}' may receive 1.00 USD per day: 0.70 USD used, 0.30 USD left; this transfer is for 0.31 USD. ` +
        `Its 'daily_amount' limit (set on the card) resets at ${asWritten(ENDS.day)}.`,
    );
  });

  test('applies the minimum, maximum and daily amount of the seeded card_limited', async () => {
    const load = (amount: number) => client().transfers.create({ amount, card_id: 'card_limited' });
    expect([await codeOf(load(99)), await codeOf(load(10_001))]).toEqual(['amount_too_small', 'amount_too_large']);
    for (let count = 0; count < 3; count += 1) await load(10_000);
    expect(await codeOf(load(10_000))).toBe('limit_exceeded');
    expect((await client().cards.limits('card_limited')).in).toMatchObject({ most: 5000, least: 100 });
    await load(5000);
    expect((await client().cards.limits('card_limited')).in.most).toBe(0);
  });
});

describe('the limit that applies', () => {
  test('is a card limit instead of a program limit of the same name, even if the card limit is higher', async () => {
    const made = await program({
      cardLimits: { in: { maximum_amount: 50, daily_count: 2 }, out: { maximum_amount: 5 } },
    });
    const [looser, tighter] = [
      await made.card({ in: { maximum_amount: 80 } }),
      await made.card({ in: { maximum_amount: 20 } }),
    ];
    await looser.load(80);
    expect([await codeOf(looser.load(81)), await codeOf(tighter.load(21))]).toEqual([
      'amount_too_large',
      'amount_too_large',
    ]);
    await looser.load(1);
    expect(await codeOf(looser.load(1))).toBe('limit_exceeded');
    expect(await codeOf(looser.unload(6))).toBe('amount_too_large');
    expect((await looser.limits()).in.limits.map(({ name, set_by }) => [name, set_by])).toEqual([
      ['maximum_amount', 'card'],
      ['daily_count', 'program_card'],
    ]);
  });

  test('is never a program limit for cards in a different currency', async () => {
    const limits = { in: { maximum_amount: 10, daily_amount: 10 }, out: { daily_count: 0 } };
    const made = await program({ limits, cardLimits: { ...limits, maximum_balance: 10 } });
    await client().deposits.create(made.programId, { amount: 500, currency: 'EUR' });
    const euro = await made.card(undefined, 0, 'EUR');
    await euro.load(300);
    await euro.unload(100);
    expect(await euro.limits()).toMatchObject({
      in: { most: 300, limits: [] },
      out: { limits: [] },
      maximum_balance: null,
    });
    const own = await made.card({ in: { daily_amount: 7 } }, 0, 'EUR');
    expect(await codeOf(own.load(8))).toBe('limit_exceeded');
    const dollar = await made.card();
    await dollar.load(10);
    expect(await codeOf(dollar.load(1))).toBe('limit_exceeded');
  });

  test('counts a card_to_card transfer for both cards, but not for the program', async () => {
    const made = await program({ limits: { in: { daily_amount: 1000 }, out: { daily_amount: 0 } } });
    const [from, to] = [
      await made.card({ out: { daily_amount: 100 } }, 500),
      await made.card({ in: { daily_amount: 70 } }),
    ];
    const send = (amount: number) => from.load(amount, { type: 'card_to_card', destination_card_id: to.cardId });
    const refused = await refusalOf(send(71));
    expect(refused).toMatchObject({ Code: 'limit_exceeded' });
    expect(refused.Message).toContain(`'${to.cardId}' may receive`);
    await send(60);
    expect([await from.used('out'), await to.used('in')]).toEqual([{ daily_amount: 60 }, { daily_amount: 60 }]);
    await to.update(null);
    const second = await refusalOf(send(41));
    expect(second.Message).toContain(`'${from.cardId}' may send`);
    expect((await from.limits()).in.limits[0]).toMatchObject({ set_by: 'program', used: 500 });
  });

  test("is the card's maximum_balance if both are set, and counts incoming holds", async () => {
    const made = await program({ cardLimits: { maximum_balance: 100 } });
    const [own, inherited] = [await made.card({ maximum_balance: 300 }), await made.card()];
    await inherited.load(60);
    await inherited.load(30, { capture: 'manual' });
    const refused = await refusalOf(inherited.load(11));
    expect(refused).toMatchObject({ Code: 'limit_exceeded', Status: 409, field: '/amount' });
    for (const text of [
      "'maximum_balance'",
      WHOSE.program_card,
      '1.00 USD',
      '0.60 USD',
      '0.30 USD',
      '0.10 USD',
      '0.11 USD',
    ]) {
      expect(refused.Message).toContain(text);
    }
    await inherited.load(10);
    await own.load(300);
    const sent = own.load(1, { type: 'card_to_card', destination_card_id: inherited.cardId });
    expect(await codeOf(sent)).toBe('limit_exceeded');
    await inherited.unload(1);
    await own.load(1, { type: 'card_to_card', destination_card_id: inherited.cardId });
  });

  test('refuses everything if it is 0 or below the used amount', async () => {
    const card = await (await program()).card({ in: { daily_amount: 100, daily_count: 5 } });
    await card.load(80);
    await card.update({ in: { daily_amount: 50, daily_count: 1 } });
    const { most, limits } = (await card.limits()).in;
    expect([most, limits.map(({ used, left }) => [used, left])]).toEqual([
      0,
      [
        [80, 0],
        [1, 0],
      ],
    ]);
    const refused = await refusalOf(card.load(1));
    expect(refused.Message).toContain('0.80 USD used, 0.00 USD left');
    await card.update({ in: { maximum_amount: 0 } });
    expect([(await card.limits()).in.most, await codeOf(card.load(1))]).toEqual([0, 'amount_too_large']);
    await card.update({ in: null, maximum_balance: 0 });
    expect([(await card.limits()).in.most, await codeOf(card.load(1))]).toEqual([0, 'limit_exceeded']);
  });

  test('also counts transfers from before the limit was set', async () => {
    const card = await (await program()).card();
    await card.load(30);
    await card.load(20);
    await card.update({ in: { daily_amount: 60, weekly_count: 3 } });
    expect(await card.used()).toEqual({ daily_amount: 50, weekly_count: 2 });
  });
});

describe('counting', () => {
  const ALL = { daily_amount: 1000, daily_count: 50, weekly_amount: 1000, monthly_count: 50 };
  const counted = (amount: number, count: number) => ({
    daily_amount: amount,
    daily_count: count,
    weekly_amount: amount,
    monthly_count: count,
  });

  test('includes holds in full, but no refused, replayed or scheduled transfers', async () => {
    const card = await (await program()).card({ in: ALL });
    expect(await codeOf(card.load(1001))).toBe('limit_exceeded');
    const key = { idempotencyKey: `counted-once-${card.cardId}` };
    const body = { amount: 40, card_id: card.cardId };
    const { program_id: programId } = await card.limits();
    for (let count = 0; count < 2; count += 1) await client().transfers.create(body, { ...key, programId });
    await card.load(500, { scheduled_for: at(NOON + 30 * DAY) });
    expect(await card.used()).toEqual(counted(40, 1));
    await card.load(60, { capture: 'manual' });
    expect(await card.used()).toEqual(counted(100, 2));
  });

  test('subtracts canceled holds and the rest of partial captures, but no reversals', async () => {
    const made = await program({ limits: { in: ALL } });
    const card = await made.card({ in: ALL });
    const options = { programId: made.programId };
    const hold = async (amount: number) => (await card.load(amount, { capture: 'manual' })).transfer_id;
    const [canceled, captured] = [await hold(100), await hold(70)];
    await client().transfers.cancel(canceled, options);
    const both = async () => (await card.limits()).in.limits.map(({ used }) => used);
    expect(await both()).toEqual([70, 1, 70, 1, 70, 1, 70, 1]);
    await client().transfers.capture(captured, { amount: 25 }, options);
    expect(await both()).toEqual([25, 1, 25, 1, 25, 1, 25, 1]);
    await client().transfers.reverse(captured, {}, options);
    expect(await both()).toEqual([25, 1, 25, 1, 25, 1, 25, 1]);
    expect((await card.get()).balance).toBe(0);
  });
});

describe('the value of `most` is the exact maximum with', () => {
  type SetUp = (
    limits: (more: { in?: object; out?: object; maximum_balance?: number }) => Promise<LimitedCard>,
    setting: (more: ProgramSetting) => Promise<LimitedCard>,
  ) => Promise<LimitedCard>;

  const SET_UPS: readonly (readonly [name: string, SetUp])[] = [
    ['no limits', (limits) => limits({})],
    ['amounts', (limits) => limits({ in: { maximum_amount: 70 }, out: { maximum_amount: 30, minimum_amount: 30 } })],
    [
      'a daily amount half used',
      async (limits) => {
        const card = await limits({ in: { daily_amount: 700 }, out: { daily_amount: 90, weekly_amount: 80 } });
        await card.unload(20);
        return card;
      },
    ],
    [
      'exhausted counts',
      async (limits) => {
        const card = await limits({ in: { weekly_count: 2 }, out: { monthly_count: 1 } });
        await card.unload(20);
        await card.load(5);
        return card;
      },
    ],
    [
      'less left than the minimum',
      (limits) => limits({ in: { minimum_amount: 40, daily_amount: 539 }, out: { minimum_amount: 501 } }),
    ],
    [
      'exactly the minimum left',
      (limits) => limits({ in: { minimum_amount: 39, daily_amount: 539 }, out: { minimum_amount: 500 } }),
    ],
    ['a maximum balance', (limits) => limits({ maximum_balance: 800 })],
    [
      'a maximum balance and holds in both directions',
      async (limits) => {
        const card = await limits({ maximum_balance: 800 });
        await card.load(120, { capture: 'manual' });
        await card.unload(70, { capture: 'manual' });
        return card;
      },
    ],
    ['a maximum balance below the balance', (limits) => limits({ maximum_balance: 499 })],
    [
      'limits of the program',
      (_, setting) => setting({ limits: { in: { daily_amount: 930 }, out: { maximum_amount: 11 } } }),
    ],
    [
      'inherited limits',
      (_, setting) => setting({ cardLimits: { in: { monthly_amount: 1000 }, out: { daily_count: 0 } } }),
    ],
    ['little funding', (_, setting) => setting({ funding: 512 })],
    ['no funding', (_, setting) => setting({ funding: 500 })],
    ['another currency', (_, setting) => setting({ currency: 'JPY', limits: { in: { weekly_amount: 777 } } })],
  ];

  test.each(SET_UPS)('%s', async (_name, setUp) => {
    const setting = async (more: ProgramSetting) => {
      const { funding, limits, cardLimits, ...rest } = more;
      const made = await program({ ...rest, funding: funding ?? 5000 });
      const card = await made.card(undefined, 500);
      await made.update(limits, cardLimits);
      return card;
    };
    const limits = async (more: object) => {
      const card = await setting({});
      await card.update(more);
      return card;
    };
    const card = await setUp(limits, setting);
    for (const direction of ['in', 'out'] as const) {
      const { most, least } = (await card.limits())[direction];
      const refused = await refusalOf(card.move(direction, most + 1));
      expect(refused.moneyMoved).toBe('no');
      if (most === 0) continue;
      expect(most).toBeGreaterThanOrEqual(least);
      if (least > 1) expect(await codeOf(card.move(direction, least - 1))).toBe('amount_too_small');
      expect((await card.move(direction, most)).amount).toBe(most);
    }
  });
});

describe('64 concurrent transfers', () => {
  /** Returns how many of 64 simultaneous transfers succeeded. All others must have been refused by a limit. */
  async function madeOf64(move: (index: number) => Promise<unknown>): Promise<number> {
    const settled = await Promise.allSettled(Array.from({ length: 64 }, (_, index) => patiently(() => move(index))));
    const refused = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    for (const reason of refused) expect(reason).toMatchObject({ Code: 'limit_exceeded' });
    return 64 - refused.length;
  }

  test.each([
    [{ daily_amount: 205 }, 20],
    [{ weekly_count: 7 }, 7],
    [{ monthly_amount: 1000, daily_count: 33 }, 33],
  ])(
    'stay within the limits %j: exactly the allowed number of loads of 10 onto one card succeeds: %i',
    async (limits, expected) => {
      const card = await (await program()).card({ in: limits });
      expect(await madeOf64(() => card.load(10))).toBe(expected);
      expect((await card.get()).balance).toBe(expected * 10);
      for (const [name, used] of Object.entries(await card.used())) {
        expect(used).toBe(name.endsWith('count') ? expected : expected * 10);
      }
    },
  );

  test("stay within one card's limit with unloads and card_to_card transfers", async () => {
    const made = await program();
    const [from, to] = [await made.card({ out: { daily_amount: 300 } }, 1000), await made.card()];
    const other = { type: 'card_to_card', destination_card_id: to.cardId } as const;
    expect(await madeOf64((index) => (index % 2 === 0 ? from.unload(10) : from.load(10, other)))).toBe(30);
    expect((await from.get()).balance).toBe(700);
  });

  test("stay within a program's total on four cards", async () => {
    const made = await program({ limits: { in: { daily_amount: 405 } } });
    const [first, ...others] = [await made.card(), await made.card(), await made.card(), await made.card()];
    expect(await madeOf64((index) => (others[index % 4] ?? first).load(10))).toBe(40);
    expect(await first.used('in', 'program')).toEqual({ daily_amount: 400 });
  });

  test('stay within a maximum balance with loads and holds', async () => {
    const card = await (await program()).card({ maximum_balance: 255 });
    const made = await madeOf64((index) => card.load(10, index % 2 === 0 ? {} : { capture: 'manual' }));
    const { balance, incoming } = await card.get();
    expect([made, balance + incoming]).toEqual([25, 250]);
  });

  test('stay within a limit while canceled holds are subtracted', async () => {
    const made = await program();
    const card = await made.card({ in: { daily_amount: 100, daily_count: 10 } });
    const holdAndCancel = async () => {
      const { transfer_id } = await card.load(10, { capture: 'manual' });
      // Retries only the cancellation, because the hold already exists.
      await patiently(() => client().transfers.cancel(transfer_id, { programId: made.programId }));
    };
    await madeOf64(holdAndCancel);
    expect(await card.used()).toEqual({ daily_amount: 0, daily_count: 0 });
    expect(await madeOf64(() => card.load(10))).toBe(10);
  });
});
