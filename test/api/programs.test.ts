import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FundingMovementRecord, SearchFundingMovementsQuery, UpdateProgramBody } from '../../sdk/client.ts';
import { runHere } from '../cli/in-process.ts';
import { patientClient, patiently } from '../harness/client/patience.ts';
import { operatorKey, withSecret } from '../harness/keys.ts';
import { expectBalancedBooks, refusalOf, useOwnService } from '../harness/service.ts';
import { limitedProgram, midweek, type ProgramSetting, setClock } from './transfers/limited.ts';

const running = useOwnService('It reads the newest program.');
const client = () => running().client;
const program = (setting?: ProgramSetting) => limitedProgram(client(), setting);
/** Repeats a refused PATCH, because a busy machine refuses some and the client does not repeat a PATCH. */
const update = (programId: string, body: UpdateProgramBody) =>
  patiently(() => client().programs.update(programId, body));

beforeAll(() => setClock(client(), midweek()));
afterAll(async () => {
  await client().sandbox.moveClock({ seconds_ahead: 0 });
  await expectBalancedBooks(running());
});

const LIMITS = { in: { daily_amount: 1000, monthly_count: 5 }, out: { maximum_amount: 7 } };
const CARD_LIMITS = { in: { minimum_amount: 2 }, maximum_balance: 500 };

describe('update_program', () => {
  test('creates a program without limits', async () => {
    const made = await client().programs.create({ name: 'Plain', currency: 'USD' });
    expect(made).toMatchObject({ limits: null, card_limits: null });
  });

  test('changes only the fields that are sent', async () => {
    const { programId } = await program({ zone: 'Europe/Berlin' });
    const before = await client().programs.get(programId);
    const named = await update(programId, { name: 'Geschenke ÄÖ' });
    expect({ ...named }).toEqual({ ...before, name: 'Geschenke ÄÖ' });
    const limited = await update(programId, { limits: LIMITS });
    expect({ ...limited }).toEqual({ ...named, limits: LIMITS });
    const both = await update(programId, { card_limits: CARD_LIMITS });
    expect({ ...both }).toEqual({ ...limited, card_limits: CARD_LIMITS });
    expect(await client().programs.get(programId)).toEqual({ ...both });
    expect((await client().programs.list({ limit: 1 })).data[0]).toEqual({ ...both });
    expect({ ...(await update(programId, {})) }).toEqual({ ...both });
    expect({ ...(await update(programId, { limits: LIMITS, name: 'Geschenke ÄÖ' })) }).toEqual({ ...both });
  });

  test('sets metadata at creation, merges it pair by pair, and finds the program by it', async () => {
    const shop = `shop ${Date.now()}`;
    const made = await client().programs.create({ name: 'Shops', currency: 'USD', metadata: { shop, tier: 'a' } });
    const { program_id: programId } = made;
    const found = async (metadata_value: string) =>
      (await client().programs.list({ metadata_name: 'shop', metadata_value })).data.map(
        ({ program_id }) => program_id,
      );
    expect(made.metadata).toEqual({ shop, tier: 'a' });
    expect(await found(shop)).toEqual([programId]);
    const changed = await update(programId, { metadata: { tier: null, region: 'west' } });
    expect({ ...changed }).toEqual({ ...made, metadata: { shop, region: 'west' } });
    expect((await update(programId, { name: 'Shops 2' })).metadata).toEqual(changed.metadata);
    // Events appear in lists shortly after their commit, once the relay has given them a position.
    const newest = async () => (await client().events.list({ subject_id: programId, limit: 1 }, { programId })).data;
    await expect
      .poll(newest)
      .toMatchObject([{ type: 'program.updated', data: { metadata: { shop, region: 'west' } } }]);
    expect((await update(programId, { metadata: null })).metadata).toEqual({});
    expect(await found(shop)).toEqual([]);
  });

  test('merges limits: null removes a limit, and the other limits stay', async () => {
    const { programId } = await program({ limits: LIMITS, cardLimits: CARD_LIMITS });
    const limitsAfter = async (body: UpdateProgramBody) => {
      const { limits, card_limits } = await update(programId, body);
      return { limits, card_limits };
    };
    const both = { in: LIMITS.in, out: { maximum_amount: 7, daily_count: 3 } };
    const first = { limits: both, card_limits: CARD_LIMITS };
    expect(await limitsAfter({ limits: { out: { daily_count: 3 } } })).toEqual(first);
    expect(await limitsAfter({ limits: {}, card_limits: { in: {} } })).toEqual(first);
    const { daily_amount } = LIMITS.in;
    expect(await limitsAfter({ limits: { in: { monthly_count: null } } })).toEqual({
      limits: { in: { daily_amount }, out: both.out },
      card_limits: CARD_LIMITS,
    });
    expect(await limitsAfter({ limits: { out: null }, card_limits: { maximum_balance: null } })).toEqual({
      limits: { in: { daily_amount } },
      card_limits: { in: CARD_LIMITS.in },
    });
    expect(await limitsAfter({ card_limits: null })).toEqual({ limits: { in: { daily_amount } }, card_limits: null });
    expect(await limitsAfter({ limits: null })).toEqual({ limits: null, card_limits: null });
  });

  test('refuses a limit that contradicts an existing one', async () => {
    const { programId } = await program({ limits: { in: { maximum_amount: 5 } }, cardLimits: CARD_LIMITS });
    const refused = await refusalOf(update(programId, { limits: { in: { minimum_amount: 6 } } }));
    expect(refused).toMatchObject({ Code: 'update_program_schema', field: '/limits/in/minimum_amount' });
    const other = await refusalOf(update(programId, { card_limits: { in: { maximum_amount: 1 } } }));
    expect(other).toMatchObject({ Code: 'update_program_schema', field: '/card_limits/in/minimum_amount' });
    expect(await client().programs.get(programId)).toMatchObject({
      limits: { in: { maximum_amount: 5 } },
      card_limits: CARD_LIMITS,
    });
  });

  test('keeps both changes if two concurrent requests change different fields', async () => {
    const { programId } = await program();
    for (let round = 1; round <= 10; round += 1) {
      const [limits, cardLimits] = [{ in: { daily_count: round } }, { out: { weekly_count: round } }];
      const name = `Round ${round}`;
      await Promise.all([
        update(programId, { limits }),
        update(programId, { card_limits: cardLimits }),
        update(programId, { name }),
      ]);
      expect(await client().programs.get(programId)).toMatchObject({ name, limits, card_limits: cardLimits });
    }
  });

  const BAD: readonly (readonly [body: object, field: string])[] = [
    [{ name: 'x'.repeat(101) }, '/name'],
    [{ limits: [] }, '/limits'],
    [{ limits: { maximum_balance: 5 } }, '/limits'],
    [{ limits: { in: { hourly_count: 5 } } }, '/limits/in'],
    [{ limits: { out: { weekly_amount: 1_000_000_000_000 } } }, '/limits/out/weekly_amount'],
    [{ limits: { in: { minimum_amount: 6, maximum_amount: 5 } } }, '/limits/in/minimum_amount'],
    [{ card_limits: { out: { minimum_amount: 6, maximum_amount: 5 } } }, '/card_limits/out/minimum_amount'],
    [{ card_limits: { maximum_balance: 'much' } }, '/card_limits/maximum_balance'],
    [{ cardLimits: {} }, '/cardLimits'],
    [{ name: null }, '/name'],
    [{ name: '' }, '/name'],
    [{ limits: '' }, '/limits'],
    [{ limits: { in: { daily_count: '' } } }, '/limits/in/daily_count'],
    [{ metadata: { shop: 7 } }, '/metadata'],
    [{ metadata: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`name ${at}`, 'x'])) }, '/metadata'],
  ];

  test.each(BAD)('refuses the body %j', async (body, field) => {
    const { programId } = await program({ funding: 0 });
    const refused = await refusalOf(update(programId, body));
    expect(refused).toMatchObject({ Code: 'update_program_schema', Status: 400, field });
  });

  test.each(['prog_missing', `prog_${'0'.repeat(32)}`, 'card_active'])(
    'does not find the program %s',
    async (programId) => {
      for (const body of [{ name: 'x' }, { limits: {} }]) {
        const refused = await refusalOf(update(programId, body));
        expect(refused).toMatchObject({ Code: 'program_not_found', Status: 404 });
        expect(refused.Message).toContain(`'${programId}'`);
      }
    },
  );

  test('responds with unknown_update_program while the database is stopped', async () => {
    const { programId } = await program();
    await running().database.stop();
    try {
      const refused = await refusalOf(update(programId, { limits: LIMITS }));
      expect(refused).toMatchObject({ Code: 'unknown_update_program', Status: 500, shouldRetry: true });
    } finally {
      await running().database.start();
    }
    expect((await client().programs.get(programId)).limits).toBeNull();
  });
});

describe('limits of a program', () => {
  test('apply to the next transfer, and include earlier transfers', async () => {
    const made = await program();
    const [first, second] = [await made.card(), await made.card()];
    await first.load(60);
    await second.load(30);
    await update(made.programId, { limits: { in: { daily_amount: 100 } }, card_limits: { in: { daily_amount: 70 } } });
    const shared = await refusalOf(second.load(11));
    expect(shared.Message).toContain("The card program's cards together may receive 1.00 USD per day: 0.90 USD used");
    expect((await refusalOf(first.load(11))).Message).toContain(
      `The card '${first.cardId}' may receive 0.70 USD per day`,
    );
    expect([(await first.limits()).in.most, (await second.limits()).in.most]).toEqual([10, 10]);
    await second.load(10);
    await update(made.programId, { limits: null, card_limits: null });
    await first.load(500);
  });

  test('do not affect other programs', async () => {
    const [limited, free] = [await program({ limits: { in: { daily_count: 0 } } }), await program()];
    expect((await refusalOf((await limited.card()).load(1))).Code).toBe('limit_exceeded');
    await (await free.card()).load(1);
  });

  test('apply to every transfer after the response, even a transfer that was already in progress', async () => {
    for (let round = 0; round < 5; round += 1) {
      const made = await program();
      const card = await made.card();
      const loads = Promise.allSettled(
        Array.from({ length: 64 }, (_, index) => delay(index % 16).then(() => card.load(10))),
      );
      await delay(6);
      await update(made.programId, { limits: { in: { daily_amount: 100 } } });
      const used = Number((await card.used('in', 'program')).daily_amount);
      const settled = await loads;
      const sum = 10 * settled.filter(({ status }) => status === 'fulfilled').length;
      expect((await card.used('in', 'program')).daily_amount).toBe(sum);
      expect(sum).toBe(used >= 100 ? used : 100);
    }
  });
});

describe('list_funding_movements', () => {
  const movements = (programId: string, query = {}) => client().programs.movements(programId, query);

  test('shows deposits and withdrawals as in their responses, newest first, page by page', async () => {
    const { program_id: programId } = await client().programs.create({ name: 'Moved', currency: 'USD' });
    expect((await movements(programId)).data).toEqual([]);
    const made = [
      await client().deposits.create(programId, {
        amount: 900,
        description: 'wire 1',
        reference: 'r 1',
        metadata: { bank: 'north' },
      }),
      await client().withdrawals.create(programId, { amount: 100 }),
      await client().deposits.create(programId, { amount: 5, currency: 'EUR' }),
    ].map((movement) => ({ ...movement }));
    expect((await movements(programId)).data).toEqual(made.toReversed());
    const first = await movements(programId, { limit: 2 });
    expect(first.data).toEqual(made.toReversed().slice(0, 2));
    const cursor = first.next_cursor ?? '';
    expect({ ...(await movements(programId, { limit: 2, cursor })) }).toEqual({ data: [made[0]], next_cursor: null });
  });

  test('shows who made each movement, and why, in the API and in the command', async () => {
    const { program_id: programId } = await client().programs.create({ name: 'Signed', currency: 'USD' });
    await client().deposits.create(programId, { amount: 900, description: 'wire 1' });
    const { key, key_id } = await withSecret(client().keys.create(operatorKey('Treasury')));
    const description = 'Back to the bank';
    await patientClient(running().url, key).withdrawals.create(programId, { amount: 100, description });
    const { data } = await movements(programId);
    expect(data.map(({ created_by, description: why }) => [created_by, why])).toEqual([
      [key_id, description],
      ['sandbox', 'wire 1'],
    ]);
    const { output } = await runHere(running().url, ['programs', 'movements', programId]);
    expect(output).toContain('created_by');
    expect(output).toContain(`Treasury (…${key_id.slice(-6)})`);
    expect(output).toContain(description);
    await client().keys.revoke(key_id);
  });

  test('shows no movements of other programs', async () => {
    const { program_id: programId } = await client().programs.create({ name: 'Other', currency: 'USD' });
    await client().deposits.create((await client().programs.create({ name: 'Third', currency: 'USD' })).program_id, {
      amount: 1,
    });
    expect((await movements(programId)).data).toEqual([]);
    const unknown = 'prog_00000000000000000000000000000000';
    expect(await refusalOf(movements(unknown))).toMatchObject({ code: 'program_not_found' });
  });
});

describe('deposits and withdrawals', () => {
  const newProgram = async () => (await client().programs.create({ name: 'Named', currency: 'USD' })).program_id;

  test('have references that are unique in the program, even with concurrent requests', async () => {
    const [programId, other] = [await newProgram(), await newProgram()];
    const metadata = { bank: 'north', batch: '7' };
    const made = await client().deposits.create(programId, { amount: 900, reference: 'wire 7', metadata });
    expect(made).toMatchObject({ reference: 'wire 7', metadata });
    const { deposits, withdrawals } = client();
    for (const again of [
      () => deposits.create(programId, { amount: 900, reference: 'wire 7' }),
      () => withdrawals.create(programId, { amount: 1000, reference: 'wire 7' }),
    ]) {
      const refused = await refusalOf(again());
      expect(refused).toMatchObject({
        Code: 'duplicate_reference',
        Status: 409,
        field: '/reference',
        moneyMoved: 'no',
      });
      expect(refused.Message).toContain(`'wire 7' already belongs to the deposit ${made.movement_id}.`);
    }
    await client().deposits.create(other, { amount: 1, reference: 'wire 7' });
    // A transfer may have the same reference.
    const card = await client().cards.create({}, { programId });
    const load = { amount: 5, card_id: card.card_id, reference: 'wire 7' };
    await client().transfers.create(load, { programId });
    const both = await Promise.allSettled(
      [1, 2, 3, 4].map((amount) => client().deposits.create(programId, { amount, reference: 'wire 8' })),
    );
    const codes = both.map((one) => (one.status === 'fulfilled' ? 'made' : one.reason.Code)).sort();
    expect(codes).toEqual(['duplicate_reference', 'duplicate_reference', 'duplicate_reference', 'made']);
  });

  test('are found by reference and metadata, and replays return the bytes of the first response', async () => {
    const programId = await newProgram();
    const key = { idempotencyKey: `wire-of-${programId}` };
    const body = { amount: 900, reference: 'wire 9', metadata: { z: '1', bank: 'north', a: '2' } };
    const made = await client().deposits.create(programId, body, key);
    const replayed = await client().deposits.create(programId, body, key);
    expect([JSON.stringify(replayed), replayed.response.replayed]).toEqual([JSON.stringify(made), true]);
    const { movement_id: other } = await client().withdrawals.create(programId, {
      amount: 3,
      metadata: { bank: 'north' },
    });
    await client().deposits.create(programId, { amount: 3, metadata: { bank: 'south' } });
    const found = async (query: object) =>
      (await client().programs.movements(programId, query)).data.map(({ movement_id }) => movement_id);
    const north = { metadata_name: 'bank', metadata_value: 'north' };
    expect(await found({ reference: 'wire 9' })).toEqual([made.movement_id]);
    expect(await found({ reference: 'wire' })).toEqual([]);
    expect(await found(north)).toEqual([other, made.movement_id]);
    const first = await client().programs.movements(programId, { ...north, limit: 1 });
    expect(await found({ ...north, limit: 1, cursor: first.next_cursor })).toEqual([made.movement_id]);
    expect(await found({ reference: 'wire 9', ...north })).toEqual([made.movement_id]);
    expect(await found({ reference: 'wire 9', metadata_name: 'bank', metadata_value: 'south' })).toEqual([]);
    expect((await client().programs.movements(programId, { reference: 'wire 9' })).data).toEqual([{ ...made }]);
    const oldest = async () =>
      (await client().events.list({ type: 'funding.deposited', limit: 100 }, { programId })).data.at(-1)?.data;
    await expect.poll(oldest).toEqual({ ...made });
  });
});

describe('search_funding_movements', () => {
  test('lists the deposits and withdrawals of all card programs, by time, kind and program, page by page', async () => {
    const create = (name: string) => client().programs.create({ name, currency: 'USD' });
    const [{ program_id: left }, { program_id: right }] = [await create('Left'), await create('Right')];
    const made = [
      await client().deposits.create(left, { amount: 900, description: 'wire 1' }),
      await client().deposits.create(right, { amount: 800 }),
      await client().withdrawals.create(left, { amount: 100, description: 'Back to the bank' }),
      await client().withdrawals.create(right, { amount: 50 }),
    ].map((movement) => ({ ...movement }));
    const created_from = made[0]?.created_at ?? '';
    const search = async (query: SearchFundingMovementsQuery) => {
      const found: FundingMovementRecord[] = [];
      for await (const movement of client().movements.searchAll({ created_from, limit: 2, ...query })) {
        if (movement.program_id === left || movement.program_id === right) found.push({ ...movement });
      }
      return found;
    };
    const [first, second, third, fourth] = made;
    expect(await search({})).toEqual([fourth, third, second, first]);
    expect(await search({ kind: 'withdrawal' })).toEqual([fourth, third]);
    expect(await search({ kind: 'deposit', program_id: right })).toEqual([second]);
    const isBefore = ({ created_at: at }: FundingMovementRecord) => at < (third?.created_at ?? '');
    expect(await search({ created_to: third?.created_at ?? '' })).toEqual(made.filter(isBefore).toReversed());
    expect(await search({ created_to: created_from, created_from: '2020-01-01T00:00:00Z' })).toEqual([]);
    const refused = await refusalOf(search({ created_to: created_from }));
    expect(refused).toMatchObject({ code: 'search_funding_movements_schema', field: '/created_to' });
  });
});
