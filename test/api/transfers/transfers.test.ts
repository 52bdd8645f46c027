import { afterAll, describe, expect, test } from 'vitest';
import { TransferService } from '../../../sdk/client.ts';
import { aTransferRecord } from '../../fixtures/records.ts';
import { patiently } from '../../harness/client/patience.ts';
import { waitFor } from '../../harness/process.ts';
import { expectBalancedBooks, refusalOf, useService } from '../../harness/service.ts';
import { held, inSeconds, made, moneyOf, newCard, spent } from '../arrange.ts';

const running = useService();
const client = () => running().client;
afterAll(() => expectBalancedBooks(running()));

const DAY = 86_400;
/** The amounts in the record of an empty card without holds. */
const NOTHING = { balance: 0, held: 0, available: 0, incoming: 0 };

/** A program that only the calling test uses, and a client for it. */
async function newProgram(funding: number): Promise<{ readonly programId: string; readonly own: TransferService }> {
  const { program_id: programId } = await client().programs.create({ name: 'Gifts', currency: 'USD' });
  await client().deposits.create(programId, { amount: funding });
  return {
    programId,
    own: new TransferService({ baseUrl: running().url, programId, maxRetries: 0, timeoutMilliseconds: 120_000 }),
  };
}

async function fundingOf(programId: string): Promise<{ readonly balance: number; readonly available: number }> {
  const [{ balance, available } = { balance: Number.NaN, available: Number.NaN }] = (
    await client().programs.get(programId)
  ).funding;
  return { balance, available };
}

/** Runs a function while the sandbox's clock is ahead. */
async function ahead<Result>(seconds: number, run: () => Promise<Result>): Promise<Result> {
  await client().sandbox.moveClock({ seconds_ahead: seconds });
  try {
    return await run();
  } finally {
    await client().sandbox.moveClock({ seconds_ahead: 0 });
  }
}

async function whileDisabled<Result>(programId: string, run: () => Promise<Result>): Promise<Result> {
  await client().switch.change({ disabled: true, reason: 'a test', program_id: programId });
  try {
    return await run();
  } finally {
    await client().switch.change({ disabled: false, program_id: programId });
  }
}

const statusOf = async (transferId: string, own = client()) => (await own.transfers.get(transferId)).status;

/** Waits until the background loop has set the status. */
const untilStatus = (transferId: string, status: string, own = client()) =>
  waitFor(`${transferId} to be ${status}`, async () => (await statusOf(transferId, own)) === status);

/** Returns how many of the concurrent calls succeeded. All others must have been refused with this code. */
async function successesOf(calls: readonly (() => Promise<unknown>)[], code: string): Promise<number> {
  const outcomes = await Promise.allSettled(calls.map(patiently));
  const refused = outcomes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  expect([...new Set(refused.map(({ reason }) => (reason as { Code?: string }).Code))]).toEqual(
    refused.length === 0 ? [] : [code],
  );
  return outcomes.length - refused.length;
}

describe('a hold', () => {
  test('reserves the money of a load in funding, and shows it as incoming on the card', async () => {
    const { programId, own } = await newProgram(5000);
    const card = await newCard(own);
    const body = { amount: 1200, card_id: card, capture: 'manual', reference: 'room 7' } as const;
    const hold = await own.transfers.create(body);
    const weekLater = new Date(Date.parse(hold.created_at) + 7 * DAY * 1000).toISOString();
    expect(hold).toEqual(
      aTransferRecord({
        transfer_id: expect.stringMatching(/^tr_[0-9a-f]{32}$/),
        program_id: programId,
        card_id: card,
        amount: 1200,
        captured_amount: 0,
        status: 'pending',
        outcome: 'open',
        capture: 'manual',
        expires_at: weekLater,
        reference: 'room 7',
        metadata: {},
        request_id: hold.response.requestId ?? '',
        idempotency_key: hold.response.idempotencyKey ?? null,
        created_at: hold.created_at,
        updated_at: hold.created_at,
        completed_at: null,
      }),
    );
    expect(hold.response.status).toBe(201);
    expect(await own.transfers.get(hold.transfer_id)).toEqual({ ...hold });
    expect(await fundingOf(programId)).toEqual({ balance: 5000, available: 3800 });
    expect(await moneyOf(own, card)).toEqual({ ...NOTHING, incoming: 1200 });

    const captured = await own.transfers.capture(hold.transfer_id);
    expect(captured).toEqual({
      ...hold,
      status: 'completed',
      outcome: 'final',
      captured_amount: 1200,
      updated_at: captured.updated_at,
      completed_at: captured.updated_at,
    });
    expect(captured.response.status).toBe(200);
    expect(await own.transfers.get(hold.transfer_id)).toEqual({ ...captured });
    expect(await fundingOf(programId)).toEqual({ balance: 3800, available: 3800 });
    expect(await moneyOf(own, card)).toEqual({ ...NOTHING, balance: 1200, available: 1200 });
  });

  test('reserves the money of an unload on the card, and a capture releases the rest', async () => {
    const { programId, own } = await newProgram(1000);
    const card = await newCard(own, 500);
    const hold = await held(own, card, 300, { type: 'unload' });
    expect(await moneyOf(own, card)).toEqual({ balance: 500, held: 300, available: 200, incoming: 0 });
    const tooMuch = own.transfers.create({ amount: 201, card_id: card, type: 'unload' });
    expect(await refusalOf(tooMuch)).toMatchObject({ Code: 'insufficient_funds', moneyMoved: 'no' });
    const captured = await own.transfers.capture(hold, { amount: '120' });
    expect(captured).toMatchObject({ amount: 300, captured_amount: 120, reversed_amount: 0, status: 'completed' });
    expect(await moneyOf(own, card)).toEqual({ balance: 380, held: 0, available: 380, incoming: 0 });
    expect(await fundingOf(programId)).toEqual({ balance: 620, available: 620 });
  });

  test('is visible only on the two cards of a card-to-card transfer', async () => {
    const { programId, own } = await newProgram(1000);
    const [from, to] = [await newCard(own, 500), await newCard(own, 20)];
    const terms = { type: 'card_to_card', destination_card_id: to } as const;
    const hold = await held(own, from, 400, terms);
    expect(await moneyOf(own, from)).toEqual({ balance: 500, held: 400, available: 100, incoming: 0 });
    expect(await moneyOf(own, to)).toEqual({ balance: 20, held: 0, available: 20, incoming: 400 });
    await own.transfers.capture(hold, { amount: 150n });
    expect(await moneyOf(own, from)).toEqual({ balance: 350, held: 0, available: 350, incoming: 0 });
    expect(await moneyOf(own, to)).toEqual({ balance: 170, held: 0, available: 170, incoming: 0 });
    expect(await fundingOf(programId)).toEqual({ balance: 480, available: 480 });
  });

  test('changes nothing if it is canceled', async () => {
    const { programId, own } = await newProgram(1000);
    const card = await newCard(own);
    const hold = await held(own, card, 1000);
    expect(await refusalOf(client().withdrawals.create(programId, { amount: 1 }))).toMatchObject({
      Code: 'insufficient_funds',
    });
    const canceled = await own.transfers.cancel(hold);
    expect(canceled).toMatchObject({ status: 'canceled', outcome: 'final', captured_amount: 0, completed_at: null });
    expect(canceled.response.status).toBe(200);
    expect(await own.transfers.get(hold)).toEqual({ ...canceled });
    expect(await fundingOf(programId)).toEqual({ balance: 1000, available: 1000 });
    expect(await moneyOf(own, card)).toEqual(NOTHING);
  });

  test('ends once, and then refuses requests with a message that names its status', async () => {
    const card = await newCard(client());
    const [captured, canceled] = [await held(client(), card), await held(client(), card)];
    await client().transfers.capture(captured);
    await client().transfers.cancel(canceled);
    for (const [transferId, word] of [
      [captured, 'has been completed since'],
      [canceled, 'is canceled and'],
    ] as const) {
      const calls = [client().transfers.capture(transferId), client().transfers.cancel(transferId)];
      for (const refused of await Promise.all(calls.map(refusalOf))) {
        expect(refused).toMatchObject({ Code: 'invalid_transfer_status', Status: 409, moneyMoved: 'no' });
        expect(refused.Message).toContain(`${transferId} ${word}`);
      }
    }
  });

  test('is ended by exactly one of many concurrent requests', async () => {
    const card = await newCard(client());
    for (let round = 0; round < 5; round += 1) {
      const hold = await held(client(), card, 10);
      const calls = Array.from(
        { length: 20 },
        (_, at) => () =>
          at % 2 === 0 ? client().transfers.capture(hold, { amount: 7 }) : client().transfers.cancel(hold),
      );
      expect(await successesOf(calls, 'invalid_transfer_status')).toBe(1);
      expect(await moneyOf(client(), card)).toMatchObject({ held: 0, incoming: 0 });
    }
    const { balance } = await client().cards.get(card);
    const transfers = (await client().transfers.list({ card_id: card })).data;
    expect(balance).toBe(transfers.reduce((sum, { captured_amount }) => sum + captured_amount, 0));
    expect(transfers.every(({ status }) => status === 'completed' || status === 'canceled')).toBe(true);
  });

  test('counts toward the maximum balance of its destination and reduces the available balance of its source', async () => {
    const [card, from] = [await newCard(client()), await newCard(client(), 100)];
    await client().cards.update(card, { limits: { maximum_balance: 100 } });
    const hold = await held(client(), card, 60);
    const load = () => client().transfers.create({ amount: 50, card_id: card });
    expect(await refusalOf(load())).toMatchObject({ Code: 'limit_exceeded', field: '/amount' });
    await client().transfers.cancel(hold);
    expect((await load()).status).toBe('completed');
    const holds = Array.from({ length: 20 }, () => () => held(client(), from, 10, { type: 'unload' }));
    expect(await successesOf(holds, 'insufficient_funds')).toBe(10);
    expect(await moneyOf(client(), from)).toEqual({ balance: 100, held: 100, available: 0, incoming: 0 });
  });

  test.each<[string, object, string]>([
    ['an expiry without a hold', { expires_at: inSeconds(60) }, '/expires_at'],
    ['an expiry in the past', { capture: 'manual', expires_at: inSeconds(-60) }, '/expires_at'],
    ['an expiry too far ahead', { capture: 'manual', expires_at: inSeconds(91 * DAY) }, '/expires_at'],
    ['a date instead of a time', { capture: 'manual', expires_at: '2030-01-31' }, '/expires_at'],
    ['an unknown kind of capture', { capture: 'later' }, '/capture'],
  ])('is refused with %s', async (_, terms, field) => {
    const refused = await refusalOf(client().transfers.create({ amount: 1, card_id: 'card_active', ...terms }));
    expect(refused).toMatchObject({ Code: 'create_transfer_schema', Status: 400, field, moneyMoved: 'no' });
  });
});

describe('an expired hold', () => {
  test('counts as expired in every operation as soon as its time has passed, although its money is released later', async () => {
    const { programId, own } = await newProgram(1000);
    const card = await newCard(own);
    const hold = await held(own, card, 40, { expires_at: inSeconds(600), metadata: { table: '4' } });
    const later = await held(own, card, 50, { expires_at: inSeconds(3600) });
    expect(await statusOf(hold, own)).toBe('pending');
    await ahead(1200, async () => {
      // Reads immediately, because the result must not depend on the background loop.
      expect(await own.transfers.get(hold)).toMatchObject({ status: 'expired', outcome: 'final' });
      const listed = async (query: object) => (await own.transfers.list(query)).data.map((one) => one.transfer_id);
      expect(await listed({ status: 'expired' })).toEqual([hold]);
      expect(await listed({ status: 'pending' })).toEqual([later]);
      const calls = [own.transfers.capture(hold), own.transfers.cancel(hold), own.transfers.reverse(hold)];
      for (const refused of await Promise.all(calls.map(refusalOf))) {
        expect(refused).toMatchObject({ Code: 'invalid_transfer_status', moneyMoved: 'no' });
        expect(refused.Message).toContain(`${hold} has been expired since`);
      }
      const updated = await own.transfers.update(hold, { metadata: { table: '5' } });
      expect(updated).toMatchObject({ status: 'expired', outcome: 'final', metadata: { table: '5' } });
      const released = async () => (await moneyOf(own, card)).incoming === 50;
      await waitFor('the hold to be released', released);
      expect(await fundingOf(programId)).toEqual({ balance: 1000, available: 950 });
      expect(await own.transfers.get(hold)).toMatchObject({ status: 'expired', captured_amount: 0, error: null });
      expect(await statusOf(later, own)).toBe('pending');
    });
    expect(await statusOf(hold, own)).toBe('expired');
    expect(await own.transfers.capture(later)).toMatchObject({ status: 'completed', captured_amount: 50 });
  });

  test('is released even while the program is disabled', async () => {
    const { programId, own } = await newProgram(100);
    const card = await newCard(own);
    const hold = await held(own, card, 100, { expires_at: inSeconds(600) });
    await whileDisabled(programId, () =>
      ahead(1200, async () => {
        expect(await statusOf(hold, own)).toBe('expired');
        await waitFor('the release', async () => (await fundingOf(programId)).available === 100);
      }),
    );
    expect((await own.transfers.create({ amount: 100, card_id: card })).status).toBe('completed');
  });
});

describe('a reversal', () => {
  test('has every field, can be found, and changes the balances', async () => {
    const { programId, own } = await newProgram(1000);
    const card = await newCard(own);
    const load = await made(own, card, 300);
    const reversal = await own.transfers.reverse(load, { description: 'wrong card' });
    expect(reversal).toEqual({
      reversal_id: expect.stringMatching(/^rev_[0-9a-f]{32}$/),
      transfer_id: load,
      program_id: programId,
      amount: 300,
      currency: 'USD',
      status: 'completed',
      description: 'wrong card',
      created_by: 'sandbox',
      created_at: expect.stringMatching(/Z$/),
    });
    expect(reversal.response.status).toBe(201);
    expect(reversal.response.headers.get('location')).toBe(`/api/v0.1/core/reversal/${reversal.reversal_id}`);
    expect(await own.transfers.reversal(reversal.reversal_id)).toEqual({ ...reversal });
    expect(await own.transfers.reversals(load)).toEqual({ data: [{ ...reversal }], next_cursor: null });
    expect(await own.transfers.get(load)).toMatchObject({
      status: 'completed',
      outcome: 'final',
      captured_amount: 300,
      reversed_amount: 300,
      updated_at: reversal.created_at,
    });
    expect(await moneyOf(own, card)).toEqual(NOTHING);
    expect(await fundingOf(programId)).toEqual({ balance: 1000, available: 1000 });
  });

  test('can be partial and repeated up to the captured amount, and is listed newest first', async () => {
    const card = await newCard(client());
    const hold = await held(client(), card, 100);
    await client().transfers.capture(hold, { amount: 60 });
    const parts = [
      await client().transfers.reverse(hold, { amount: 10 }),
      await client().transfers.reverse(hold, { amount: '20' }),
    ];
    const refused = await refusalOf(client().transfers.reverse(hold, { amount: 31 }));
    expect(refused).toMatchObject({ Code: 'amount_too_large', Status: 400, field: '/amount', moneyMoved: 'no' });
    expect(refused.Message).toContain('0.30 USD remain');
    parts.push(await client().transfers.reverse(hold));
    expect(parts.map(({ amount }) => amount)).toEqual([10, 20, 30]);
    const again = await refusalOf(client().transfers.reverse(hold, { amount: 1 }));
    expect(again).toMatchObject({ Code: 'invalid_transfer_status', Status: 409 });
    const listed: string[] = [];
    for await (const { reversal_id } of client().transfers.reversalsAll(hold, { limit: 2 })) listed.push(reversal_id);
    expect(listed).toEqual(parts.map(({ reversal_id }) => reversal_id).reverse());
    expect(await client().transfers.get(hold)).toMatchObject({ captured_amount: 60, reversed_amount: 60 });
    expect(await moneyOf(client(), card)).toEqual(NOTHING);
  });

  test('moves the money of an unload or a card-to-card transfer back', async () => {
    const { programId, own } = await newProgram(1000);
    const [first, second] = [await newCard(own, 100), await newCard(own)];
    await own.transfers.reverse(await made(own, first, 70, { type: 'unload' }), { amount: 30 });
    expect([(await moneyOf(own, first)).balance, (await fundingOf(programId)).balance]).toEqual([60, 940]);
    const between = await made(own, first, 60, { type: 'card_to_card', destination_card_id: second });
    await own.transfers.reverse(between, { amount: 45 });
    expect([(await moneyOf(own, first)).balance, (await moneyOf(own, second)).balance]).toEqual([45, 15]);
  });

  test('requires the money to be available: neither spent nor held', async () => {
    const card = await newCard(client());
    const { load } = await spent(client(), card, 50);
    expect(await refusalOf(client().transfers.reverse(load))).toMatchObject({
      Code: 'insufficient_funds',
      Status: 409,
      moneyMoved: 'no',
    });
    await made(client(), card, 50);
    const hold = await held(client(), card, 30, { type: 'unload' });
    expect((await refusalOf(client().transfers.reverse(load))).Code).toBe('insufficient_funds');
    expect((await client().transfers.reverse(load, { amount: 20 })).amount).toBe(20);
    await client().transfers.cancel(hold);
    expect((await client().transfers.reverse(load)).amount).toBe(30);
  });

  test('succeeds with any status of the card except closed', async () => {
    const [lost, closed] = [await newCard(client(), 40), await newCard(client())];
    const load = (await client().transfers.list({ card_id: lost })).data[0]?.transfer_id ?? '';
    const unload = await made(client(), lost, 15, { type: 'unload' });
    await client().cards.update(lost, { status: 'fraud', limits: { maximum_balance: 1, in: { maximum_amount: 1 } } });
    await client().transfers.reverse(unload);
    await client().transfers.reverse(load);
    expect(await moneyOf(client(), lost)).toEqual(NOTHING);
    const gone = await spent(client(), closed);
    await client().cards.update(closed, { status: 'closed' });
    expect(await refusalOf(client().transfers.reverse(gone.unload))).toMatchObject({ Code: 'card_closed' });
  });

  test('succeeds ten times if twenty concurrent requests each reverse a tenth', async () => {
    const card = await newCard(client(), 1000);
    const load = await made(client(), card, 100);
    const calls = Array.from({ length: 20 }, () => () => client().transfers.reverse(load, { amount: 10 }));
    // The other ten arrive when nothing is left to reverse.
    expect(await successesOf(calls, 'invalid_transfer_status')).toBe(10);
    expect(await client().transfers.get(load)).toMatchObject({ captured_amount: 100, reversed_amount: 100 });
    expect((await client().cards.get(card)).balance).toBe(1000);
  });
});

describe('a scheduled transfer', () => {
  test('holds nothing, waits, and is executed when due', async () => {
    const { programId, own } = await newProgram(500);
    const card = await newCard(own);
    const due = inSeconds(3600);
    const waiting = await own.transfers.create({ amount: 200, card_id: card, scheduled_for: due, reference: 'rent' });
    expect(waiting).toMatchObject({
      status: 'scheduled',
      outcome: 'open',
      scheduled_for: due,
      captured_amount: 0,
      expires_at: null,
      completed_at: null,
    });
    expect(await fundingOf(programId)).toEqual({ balance: 500, available: 500 });
    expect(await moneyOf(own, card)).toEqual(NOTHING);
    const tooEarly = [own.transfers.capture(waiting.transfer_id), own.transfers.reverse(waiting.transfer_id)];
    for (const refused of await Promise.all(tooEarly.map(refusalOf))) {
      expect([refused.Code, refused.Message]).toEqual([
        'invalid_transfer_status',
        expect.stringContaining('is scheduled'),
      ]);
    }
    await ahead(3700, () => untilStatus(waiting.transfer_id, 'completed', own));
    const { updated_at, completed_at, ...rest } = await own.transfers.get(waiting.transfer_id);
    expect(rest).toMatchObject({ outcome: 'final', captured_amount: 200, error: null, created_at: waiting.created_at });
    expect(completed_at).toBe(updated_at);
    expect(Date.parse(updated_at)).toBeGreaterThan(Date.parse(due));
    expect(await moneyOf(own, card)).toEqual({ ...NOTHING, balance: 200, available: 200 });
  });

  test('becomes a hold when due if it has manual capture', async () => {
    const { programId, own } = await newProgram(500);
    const card = await newCard(own);
    const scheduled_for = inSeconds(3600);
    const waiting = await own.transfers.create({ amount: 200, card_id: card, scheduled_for, capture: 'manual' });
    const weekLater = new Date(Date.parse(scheduled_for) + 7 * DAY * 1000).toISOString();
    expect(waiting).toMatchObject({ status: 'scheduled', capture: 'manual', expires_at: weekLater });
    await ahead(3700, () => untilStatus(waiting.transfer_id, 'pending', own));
    expect(await fundingOf(programId)).toEqual({ balance: 500, available: 300 });
    expect(await moneyOf(own, card)).toEqual({ ...NOTHING, incoming: 200 });
    expect(await own.transfers.capture(waiting.transfer_id)).toMatchObject({
      status: 'completed',
      captured_amount: 200,
      expires_at: weekLater,
    });
  });

  test('fails with the error and moves nothing if it is refused when due', async () => {
    const { programId, own } = await newProgram(100);
    const [poor, lost] = [await newCard(own), await newCard(own)];
    const scheduled_for = inSeconds(3600);
    // The amount exceeds the balance now, but the balance might be enough when the transfer is due.
    const tooMuch = await made(own, poor, 101, { scheduled_for });
    const tooLate = await made(own, lost, 50, { scheduled_for });
    await own.cards.update(lost, { status: 'lost' });
    await ahead(3700, async () => {
      await untilStatus(tooMuch, 'failed', own);
      await untilStatus(tooLate, 'failed', own);
    });
    const failed = await own.transfers.get(tooMuch);
    expect(failed).toMatchObject({ outcome: 'final', captured_amount: 0, completed_at: null });
    expect(failed.error).toEqual({
      Message: expect.stringContaining('has 1.00 USD available'),
      Status: 409,
      Code: 'insufficient_funds',
      Type: 'Request Error',
    });
    expect((await own.transfers.get(tooLate)).error).toMatchObject({ Code: 'card_lost', Status: 409 });
    expect((await own.transfers.list({ status: 'failed' })).data.length).toBe(2);
    expect(await fundingOf(programId)).toEqual({ balance: 100, available: 100 });
    expect(await refusalOf(own.transfers.cancel(tooMuch))).toMatchObject({ Code: 'invalid_transfer_status' });
  });

  test('waits while its program is disabled, and does not fail', async () => {
    const [stopped, free] = [await newProgram(100), await newProgram(100)];
    const scheduled_for = inSeconds(3600);
    const waiting = await made(stopped.own, await newCard(stopped.own), 10, { scheduled_for });
    const other = await made(free.own, await newCard(free.own), 10, { scheduled_for });
    // Disables the program before the transfer is due, because the loop can run at any time.
    await whileDisabled(stopped.programId, () =>
      ahead(3700, async () => {
        // Once the other transfer has completed, the loop has run.
        await untilStatus(other, 'completed', free.own);
        expect(await statusOf(waiting, stopped.own)).toBe('scheduled');
        await client().switch.change({ disabled: false, program_id: stopped.programId });
        await untilStatus(waiting, 'completed', stopped.own);
      }),
    );
  });

  test('can be canceled before it is due, even while its program is disabled', async () => {
    const { programId, own } = await newProgram(100);
    const card = await newCard(own);
    const scheduled_for = inSeconds(3600);
    const [canceled, other] = [
      await made(own, card, 10, { scheduled_for }),
      await made(own, card, 20, { scheduled_for }),
    ];
    const response = await whileDisabled(programId, () => own.transfers.cancel(canceled));
    expect(response).toMatchObject({ status: 'canceled', outcome: 'final', captured_amount: 0 });
    await ahead(3700, () => untilStatus(other, 'completed', own));
    expect(await statusOf(canceled, own)).toBe('canceled');
    expect((await moneyOf(own, card)).balance).toBe(20);
  });

  test('is checked at creation for errors that waiting cannot fix', async () => {
    const scheduled_for = inSeconds(3600);
    const schedule = (amount: number, card_id: string, terms: object = {}) =>
      refusalOf(client().transfers.create({ amount, card_id, scheduled_for, ...terms }));
    expect((await schedule(1, 'card_missing')).Code).toBe('card_not_found');
    expect((await schedule(1, 'card_closed')).Code).toBe('card_closed');
    expect((await schedule(1, 'card_active', { currency: 'EUR' })).Code).toBe('currency_mismatch');
    expect((await schedule(99, 'card_limited')).Code).toBe('amount_too_small');
    expect((await schedule(10_001, 'card_limited')).Code).toBe('amount_too_large');
    await made(client(), 'card_active', 1, { scheduled_for, reference: 'scheduled once' });
    expect((await schedule(1, 'card_active', { reference: 'scheduled once' })).Code).toBe('duplicate_reference');
    const disabled = await newProgram(1);
    const card = await newCard(disabled.own);
    const refused = await whileDisabled(disabled.programId, () =>
      refusalOf(disabled.own.transfers.create({ amount: 1, card_id: card, scheduled_for })),
    );
    expect(refused).toMatchObject({ Code: 'service_disabled', Status: 424, moneyMoved: 'no' });
  });

  test.each<[string, object, string]>([
    ['a time in the past', { scheduled_for: inSeconds(-1) }, '/scheduled_for'],
    ['a time over a year ahead', { scheduled_for: inSeconds(367 * DAY) }, '/scheduled_for'],
    [
      'a hold that ends before it begins',
      { scheduled_for: inSeconds(7200), capture: 'manual', expires_at: inSeconds(3600) },
      '/expires_at',
    ],
    [
      'a hold of over 90 days',
      { scheduled_for: inSeconds(DAY), capture: 'manual', expires_at: inSeconds(92 * DAY) },
      '/expires_at',
    ],
  ])('is refused with %s', async (_, terms, field) => {
    const refused = await refusalOf(client().transfers.create({ amount: 1, card_id: 'card_active', ...terms }));
    expect(refused).toMatchObject({ Code: 'create_transfer_schema', Status: 400, field });
  });
});

describe('a disabled program or type', () => {
  test('refuses captures and reversals, but not cancellations or changes of metadata', async () => {
    const { programId, own } = await newProgram(1000);
    const card = await newCard(own);
    const [first, second, load] = [await held(own, card, 10), await held(own, card, 20), await made(own, card, 30)];
    await whileDisabled(programId, async () => {
      const calls = [own.transfers.capture(first), own.transfers.reverse(load), held(own, card)];
      for (const refused of await Promise.all(calls.map(refusalOf))) {
        expect(refused).toMatchObject({
          Code: 'service_disabled',
          Status: 424,
          Type: 'Process Error',
          moneyMoved: 'no',
        });
      }
      expect((await own.transfers.cancel(second)).status).toBe('canceled');
      expect((await own.transfers.update(first, { metadata: { a: 'b' } })).metadata).toEqual({ a: 'b' });
      expect(await moneyOf(own, card)).toEqual({ ...NOTHING, balance: 30, available: 30, incoming: 10 });
    });
    expect((await own.transfers.capture(first)).status).toBe('completed');
    expect((await own.transfers.reverse(load)).amount).toBe(30);
  });

  test('refuses only captures and reversals of the disabled type', async () => {
    const { programId, own } = await newProgram(1000);
    const card = await newCard(own, 100);
    const [load, unload] = [await held(own, card, 10), await held(own, card, 20, { type: 'unload' })];
    await client().switch.change({ disabled: true, reason: 'loads', program_id: programId, type: 'load' });
    expect((await refusalOf(own.transfers.capture(load))).Code).toBe('service_disabled');
    expect((await own.transfers.capture(unload)).status).toBe('completed');
    expect((await own.transfers.reverse(unload)).amount).toBe(20);
  });
});

test('a batch accepts holds and scheduled transfers as rows, and reports that these moved no money', async () => {
  const card_id = await newCard(client());
  const row = (idempotency_key: string, terms: object) => ({ amount: 5, card_id, idempotency_key, ...terms });
  const rows = [row('b1', {}), row('b2', { capture: 'manual' }), row('b3', { scheduled_for: inSeconds(DAY) })];
  const { data } = await client().transfers.createBatch(rows);
  expect(data.map(({ transfer, money_moved }) => [transfer?.status, money_moved])).toEqual([
    ['completed', 'yes'],
    ['pending', 'no'],
    ['scheduled', 'no'],
  ]);
  expect(await moneyOf(client(), card_id)).toEqual({ balance: 5, held: 0, available: 5, incoming: 5 });
});
