import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TransferService } from '../../../sdk/client.ts';
import { operatorKey, programKey, withSecret } from '../../harness/keys.ts';
import { waitFor } from '../../harness/process.ts';
import { expectBalancedBooks, refusalOf, useService } from '../../harness/service.ts';
import { held, inSeconds, newCard } from '../arrange.ts';

const running = useService();
const client = () => running().client;
afterAll(() => expectBalancedBooks(running()));

type Made = { readonly response: { readonly requestId?: string | undefined } };
const requestOf = async (making: Promise<Made>): Promise<string> => (await making).response.requestId ?? '';
const traceOf = async (making: Promise<Made>) => client().requests.inspect(await requestOf(making));

/** Returns the trace of a refused request, once its error is stored. */
async function traceOfRefused(making: Promise<unknown>) {
  const { requestId } = await refusalOf(making);
  await waitFor('the error to be stored', () =>
    client()
      .errors.inspect(requestId)
      .then(Boolean, () => false),
  );
  return client().requests.inspect(requestId);
}

describe('inspect_request explains', () => {
  test('a load: the transfer, its event, the caller, and that money moved', async () => {
    const card_id = await newCard(client());
    const made = await client().transfers.create({ amount: 1250, card_id });
    const trace = await traceOf(Promise.resolve(made));
    expect(trace).toMatchObject({
      request_id: made.request_id,
      operation: 'create_transfer',
      program_id: made.program_id,
      caller: 'sandbox',
      idempotency_key: made.idempotency_key,
      outcome: 'succeeded',
      status: 201,
      money_moved: 'yes',
      error: null,
      transfers: [{ ...made }],
      transfer_count: 1,
      reversals: [],
      events: [{ type: 'transfer.completed', subject_id: made.transfer_id }],
      audit_entries: [],
      complete: true,
    });
    expect(trace.summary).toBe(
      `create_transfer succeeded: 12.50 USD moved from the program's funding to the card '${card_id}' at ${made.completed_at}.`,
    );
    // get_event returns the same events.
    const [event] = trace.events;
    await waitFor('the event to have a position', () =>
      client()
        .events.get(event?.event_id ?? '')
        .then(Boolean, () => false),
    );
  });

  test('a hold, its capture and a cancellation, each by its own request', async () => {
    const card_id = await newCard(client());
    const hold = await client().transfers.create({ amount: 900, card_id, capture: 'manual' });
    expect(await traceOf(Promise.resolve(hold))).toMatchObject({ money_moved: 'no', transfer_count: 1 });
    const capture = await traceOf(client().transfers.capture(hold.transfer_id, { amount: 500 }));
    expect(capture).toMatchObject({
      operation: 'capture_transfer',
      status: 200,
      money_moved: 'yes',
      transfers: [{ transfer_id: hold.transfer_id }],
      events: [{ type: 'transfer.completed', subject_id: hold.transfer_id }],
    });
    // The first request still shows only its own event, but its summary includes the later capture.
    const first = await client().requests.inspect(hold.request_id);
    expect(first).toMatchObject({
      operation: 'create_transfer',
      money_moved: 'yes',
      events: [{ type: 'transfer.pending' }],
    });
    const canceled = await traceOf(client().transfers.cancel(await held(client(), card_id)));
    expect(canceled).toMatchObject({ operation: 'cancel_transfer', money_moved: 'no' });
    expect(canceled.summary).toContain('No money moved: the transfer was canceled');
  });

  test('a reversal, with the reversed transfer', async () => {
    const card_id = await newCard(client());
    const { transfer_id } = await client().transfers.create({ amount: 700, card_id });
    const reversal = await client().transfers.reverse(transfer_id, { amount: 300 });
    const trace = await traceOf(Promise.resolve(reversal));
    expect(trace).toMatchObject({
      operation: 'reverse_transfer',
      status: 201,
      money_moved: 'yes',
      reversals: [{ ...reversal }],
      transfers: [{ transfer_id, reversed_amount: 300 }],
      events: [{ type: 'reversal.completed', subject_id: reversal.reversal_id }],
    });
    expect(trace.summary).toBe(`reverse_transfer succeeded: 3.00 USD of the transfer ${transfer_id} was reversed.`);
  });

  test('changes of cards, and the transfer of a balance when a card closes', async () => {
    const card = await client().cards.create({});
    expect(await traceOf(Promise.resolve(card))).toMatchObject({
      operation: 'create_card',
      money_moved: 'no',
      summary: 'create_card succeeded. It moves no money.',
      events: [{ type: 'card.created', subject_id: card.card_id }],
    });
    await client().transfers.create({ amount: 40, card_id: card.card_id });
    const closing = client().cards.update(card.card_id, { status: 'closed', balance_to: 'funding' });
    expect(await traceOf(closing)).toMatchObject({
      operation: 'update_card',
      money_moved: 'yes',
      idempotency_key: null,
      transfers: [{ type: 'unload', amount: 40 }],
      events: [{ type: 'transfer.completed' }, { type: 'card.updated', subject_id: card.card_id }],
    });
  });

  test("an operator's action, with its entry in the audit log", async () => {
    const { program_id } = await client().programs.create({ name: 'Paid', currency: 'USD' });
    const trace = await traceOf(client().deposits.create(program_id, { amount: 5000 }));
    expect(trace).toMatchObject({
      operation: 'create_deposit',
      program_id,
      caller: 'sandbox',
      money_moved: 'yes',
      audit_entries: [{ action: 'create_deposit', actor: 'sandbox', request_id: trace.request_id }],
    });
    expect(trace.summary).toBe("create_deposit succeeded: 50.00 USD was paid into the program's funding.");
    const { key, key_id } = await withSecret(client().keys.create(programKey('Shop', program_id)));
    const own = new TransferService({ baseUrl: running().url, key, timeoutMilliseconds: 120_000 });
    const card_id = await newCard(own);
    expect(await traceOf(own.transfers.create({ amount: 5, card_id }))).toMatchObject({ caller: key_id, program_id });
  });

  test('a batch, with the number of transfers and the refused rows', async () => {
    const card_id = await newCard(client());
    const row = (amount: number) => ({ amount, card_id, idempotency_key: `${card_id}-${amount}` });
    const rows = Array.from({ length: 120 }, (_, index) => row(index + 1));
    const whole = await traceOf(client().transfers.createBatch(rows));
    expect(whole).toMatchObject({
      operation: 'create_transfer_batch',
      status: 200,
      outcome: 'succeeded',
      transfer_count: 120,
    });
    expect([whole.transfers.length, whole.events.length, whole.idempotency_key]).toEqual([50, 50, null]);
    expect(whole.summary).toContain('with the first 50 of 120 transfers.');
    const batch = await client().transfers.createBatch([
      { ...row(200), type: 'unload', amount: 1 },
      { ...row(201), card_id: 'card_none' },
    ]);
    const { requestId = '' } = batch.response;
    await waitFor('the error to be stored', () =>
      client()
        .errors.inspect(requestId)
        .then(Boolean, () => false),
    );
    expect(await client().requests.inspect(requestId)).toMatchObject({
      operation: 'create_transfer_batch',
      outcome: 'partly_failed',
      status: 200,
      money_moved: 'yes',
      transfer_count: 1,
      error: { code: 'card_not_found' },
    });
  });

  test('a refusal, with its checks and a sentence about money', async () => {
    const card_id = await newCard(client());
    const trace = await traceOfRefused(client().transfers.create({ amount: 5, card_id, type: 'unload' }));
    expect(trace).toMatchObject({
      operation: 'create_transfer',
      outcome: 'failed',
      status: 409,
      money_moved: 'no',
      transfers: [],
      error: { code: 'insufficient_funds', checks: { available: '0', amount: '5' }, causes: [] },
    });
    expect(trace.summary).toMatch(/^Declined: insufficient funds\. .* No money moved\.$/);
  });

  test('transfers of a sandbox with a moved clock, even after the clock was moved back', async () => {
    const card_id = await newCard(client());
    const days = 86_400;
    await client().sandbox.moveClock({ seconds_ahead: 40 * days });
    const later = await client().transfers.create({ amount: 8, card_id });
    await client().sandbox.moveClock({ seconds_ahead: 2 * days });
    const between = await client().transfers.create({ amount: 9, card_id });
    await client().sandbox.moveClock({ seconds_ahead: 0 });
    const now = await client().transfers.create({ amount: 10, card_id, scheduled_for: inSeconds(days) });
    for (const { request_id, transfer_id } of [later, between, now]) {
      expect(await client().requests.inspect(request_id)).toMatchObject({
        transfers: [{ transfer_id }],
        events: [{ subject_id: transfer_id }],
      });
    }
  });
});

describe('inspect_request is refused', () => {
  test('for requests that store nothing, and the message names the requests that do', async () => {
    const card_id = await newCard(client());
    const { requestId = '' } = (await client().cards.get(card_id)).response;
    const refused = await refusalOf(client().requests.inspect(requestId));
    expect(refused).toMatchObject({ Status: 404, Code: 'request_not_found' });
    expect(refused.message).toContain('reads and replays');
    const first = await client().transfers.create({ amount: 1, card_id }, { idempotencyKey: card_id });
    const replay = await client().transfers.create({ amount: 1, card_id }, { idempotencyKey: card_id });
    const unknown = await refusalOf(client().requests.inspect(replay.response.requestId ?? ''));
    expect(unknown.Code).toBe('request_not_found');
    expect(unknown.Message).toContain("'Original-Request-Id'");
    const original = replay.response.headers.get('original-request-id') ?? '';
    expect(original).toBe(first.request_id);
    expect(await client().requests.inspect(original)).toMatchObject({ transfer_count: 1 });
  });

  test('for unknown ids: a malformed one, one from 1970, one from the far future', async () => {
    for (const id of [
      'req_1',
      'tr_00000000000000000000000000000000',
      'req_00000000000070008000000000000000',
      `req_${'f'.repeat(32)}`,
    ]) {
      const refused = await refusalOf(client().requests.inspect(id));
      expect(refused).toMatchObject({ Status: 404, Code: 'request_not_found' });
    }
  });
});

describe('get_request, for a key of the card program', () => {
  let programId: string;
  let own: TransferService;
  let card_id: string;

  const clientOf = async (body: Parameters<TransferService['keys']['create']>[0]): Promise<TransferService> => {
    const { key } = await withSecret(client().keys.create(body));
    return new TransferService({ baseUrl: running().url, key, timeoutMilliseconds: 120_000 });
  };
  const ownTrace = async (making: Promise<Made>) => own.requests.get(await requestOf(making));
  const notFound = async (from: TransferService, requestId: string) =>
    expect(await refusalOf(from.requests.get(requestId))).toMatchObject({
      Status: 404,
      Code: 'request_not_found',
      Message: expect.stringContaining(`Nothing is stored about a request '${requestId}' in this card program.`),
    });

  beforeAll(async () => {
    programId = (await client().programs.create({ name: 'Looks up', currency: 'USD' })).program_id;
    await client().deposits.create(programId, { amount: 100_000 });
    own = await clientOf(programKey('Shop', programId));
    card_id = await newCard(own);
  });

  test('shows a transfer as operators see it, without the audit log', async () => {
    const made = await own.transfers.create({ amount: 1250, card_id });
    const trace = await own.requests.get(made.request_id);
    const { audit_entries: _, ...ofOperators } = await client().requests.inspect(made.request_id);
    expect({ ...trace }).toEqual(ofOperators);
    expect(trace).toMatchObject({ program_id: programId, caller: made.created_by, transfers: [{ ...made }] });
  });

  test('shows reversals, changes of cards, and batches', async () => {
    const { transfer_id } = await own.transfers.create({ amount: 700, card_id });
    const reversal = await own.transfers.reverse(transfer_id, { amount: 300 });
    expect(await ownTrace(Promise.resolve(reversal))).toMatchObject({
      operation: 'reverse_transfer',
      money_moved: 'yes',
      reversals: [{ ...reversal }],
      transfers: [{ transfer_id }],
    });
    const changed = await ownTrace(own.cards.update(card_id, { holder_reference: 'employee 7' }));
    expect(changed).toMatchObject({ operation: 'update_card', money_moved: 'no', events: [{ subject_id: card_id }] });
    const rows = Array.from({ length: 3 }, (_, index) => ({
      amount: 1,
      card_id,
      idempotency_key: `${card_id}-${index}`,
    }));
    expect(await ownTrace(own.transfers.createBatch(rows))).toMatchObject({
      operation: 'create_transfer_batch',
      transfer_count: 3,
    });
  });

  test('shows a refusal without its checks, causes and kind of caller', async () => {
    const { requestId } = await refusalOf(own.transfers.create({ amount: 99_999_999, card_id }));
    await waitFor('the error to be stored', () => own.errors.get(requestId).then(Boolean, () => false));
    const trace = await own.requests.get(requestId);
    expect(trace).toMatchObject({ outcome: 'failed', status: 409, money_moved: 'no', transfers: [] });
    expect(trace.error).toEqual({ ...(await own.errors.get(requestId)) });
    expect(JSON.stringify(trace)).not.toMatch(/"checks"|"causes"|program_key|audit_entries/);
  });

  test('finds transfers of a sandbox whose clock was moved', async () => {
    const days = 86_400;
    await client().sandbox.moveClock({ seconds_ahead: 30 * days });
    const later = await own.transfers.create({ amount: 8, card_id });
    await client().sandbox.moveClock({ seconds_ahead: 0 });
    expect(await own.requests.get(later.request_id)).toMatchObject({
      transfers: [{ transfer_id: later.transfer_id }],
      events: [{ subject_id: later.transfer_id }],
    });
  });

  test("gives the same response for operators' requests, other programs' requests and unknown ids", async () => {
    const deposit = await requestOf(client().deposits.create(programId, { amount: 5 }));
    const withdrawal = await requestOf(client().withdrawals.create(programId, { amount: 5 }));
    const renamed = await requestOf(client().programs.update(programId, { name: 'Looked up' }));
    const stopped = await requestOf(client().switch.disable({ program_id: programId, reason: 'a test' }));
    const started = await requestOf(client().switch.enable({ program_id: programId }));
    const key = await requestOf(client().keys.create(programKey('Another', programId)));
    const elsewhere = await client().transfers.create({ amount: 5, card_id: await newCard(client()) });
    const never = `req_${'0'.repeat(12)}70008${'0'.repeat(15)}`;
    for (const requestId of [deposit, withdrawal, renamed, stopped, started, key, elsewhere.request_id, never]) {
      await notFound(own, requestId);
    }
  });

  test("shows an operator's use of the program's own operations, because the program can read the result anyway", async () => {
    const { key_id, key } = await withSecret(client().keys.create(operatorKey('Support')));
    const support = new TransferService({ baseUrl: running().url, key, programId, timeoutMilliseconds: 120_000 });
    const made = await support.transfers.create({ amount: 5, card_id });
    expect(await own.requests.get(made.request_id)).toMatchObject({
      caller: key_id,
      transfers: [{ created_by: key_id }],
    });
    expect(await support.requests.get(made.request_id)).toMatchObject({ program_id: programId });
  });

  test('requires the scopes for everything that it shows', async () => {
    const { request_id } = await own.transfers.create({ amount: 5, card_id });
    const scopes = ['errors:read', 'transfers:read', 'events:read'] as const;
    const narrow = await clientOf({ name: 'Narrow', program_id: programId, scopes: [...scopes] });
    expect((await narrow.requests.get(request_id)).transfer_count).toBe(1);
    for (const missing of scopes) {
      const others = scopes.filter((scope) => scope !== missing);
      const lacking = await clientOf({ name: 'Lacking', program_id: programId, scopes: others });
      const refused = await refusalOf(lacking.requests.get(request_id));
      expect(refused).toMatchObject({ Status: 403, Code: 'forbidden' });
      expect(refused.message).toContain(`'${missing}'`);
    }
    const refused = await refusalOf(own.requests.inspect(request_id));
    expect(refused).toMatchObject({ Status: 403, Code: 'forbidden' });
  });
});
