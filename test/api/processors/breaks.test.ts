import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { BreakRecord } from '../../../contract/processors/breaks.ts';
import type { ConnectorRecord } from '../../../contract/processors/connectors.ts';
import { toWireId } from '../../../domain/identifier.ts';
import type { Attempt } from '../../../domain/processors/attempt.ts';
import { BREAK_KINDS, type BreakKind } from '../../../domain/processors/break.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import { startHandlingNotices } from '../../../server/background/processors/handle-notices.ts';
import { openHttpConnector } from '../../../server/background/processors/http-connector.ts';
import { simulatorSettings } from '../../../server/background/processors/start-simulator.ts';
import { idAt } from '../../../server/foundation/ids.ts';
import { insertNotice } from '../../../server/store/processors/notices.ts';
import { answered, attemptOf, report, SilentProcessors, stepFor } from '../../fixtures/processors.ts';
import { waitFor } from '../../harness/process.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';

const server = await useServer();
const processors = new SilentProcessors();
const ledger = useLedger(server.connection, undefined, undefined, undefined, processors);
const client = await useConnection(server.connection);

const bodyOf = async <Body>(reply: Promise<{ readonly body: string }>): Promise<Body> =>
  JSON.parse((await reply).body) as Body;

const list = (query: object = {}) =>
  bodyOf<{ data: readonly BreakRecord[]; next_cursor: string | null }>(ledger.call('list_breaks', query));

const get = (breakId: string) => bodyOf<BreakRecord>(ledger.call('get_break', {}, { params: { break_id: breakId } }));

const close = (breakId: string, note: string) =>
  bodyOf<BreakRecord>(ledger.call('close_break', { note }, { params: { break_id: breakId } }));

let made = 0;

/** Inserts a break like one that a processor's response would cause. The ids ascend. */
async function insert(kind: BreakKind, of: 'attempt' | 'nothing' = 'attempt'): Promise<string> {
  made += 1;
  const breakId = idAt(Date.now(), made);
  const about =
    of === 'attempt' ? [DEMO_PROGRAM_ID, randomUUID(), randomUUID(), 1000, 'USD'] : [null, null, null, null, null];
  await client.query(
    `insert into processor_break (break_id, kind, connector_id, program_id, attempt_id, transfer_id, amount, currency,
        expected, found, created_at)
      values ($1, $2, 'simulator', $3, $4, $5, $6, $7, 'failed', 'approved', now() - interval '90 s')`,
    [breakId, kind, ...about],
  );
  return toWireId('brk', breakId);
}

describe('list_breaks', () => {
  beforeAll(() => client.query('delete from processor_break'));

  test('lists breaks page by page, oldest first, with both values, the amount and the age', async () => {
    const ids = [];
    for (const kind of BREAK_KINDS) ids.push(await insert(kind));
    const { data } = await list();
    expect(data.map((one) => one.break_id)).toEqual(ids);
    expect(data[0]).toMatchObject({
      kind: 'late_approval',
      connector_id: 'simulator',
      amount: 1000,
      currency: 'USD',
      expected: 'failed',
      found: 'approved',
      closed_at: null,
      closed_by: null,
      note: null,
    });
    expect(data[0]?.age_seconds).toBeGreaterThanOrEqual(90);
    expect(data[0]?.settlement_lines).toEqual([]);
    const limit = Math.ceil(ids.length / 2);
    const first = await list({ limit });
    const second = await list({ limit, cursor: first.next_cursor });
    expect([...first.data, ...second.data].map((one) => one.break_id)).toEqual(ids);
    expect(second.next_cursor).toBeNull();
  });

  test('filters by kind, connector and card program, and by open or closed', async () => {
    const breakId = await insert('unknown_attempt', 'nothing');
    const found = await list({ kind: 'unknown_attempt' });
    expect(found.data.at(-1)).toMatchObject({
      break_id: breakId,
      program_id: null,
      attempt_id: null,
      transfer_id: null,
      amount: null,
      currency: null,
    });
    expect(new Set(found.data.map((one) => one.kind))).toEqual(new Set(['unknown_attempt']));
    expect((await list({ connector_id: 'another' })).data).toEqual([]);
    const ofProgram = await list({ program_id: toWireId('prog', DEMO_PROGRAM_ID) });
    expect(ofProgram.data.some((one) => one.break_id === breakId)).toBe(false);
    await close(breakId, 'A test by them.');
    const another = await insert('contradiction');
    await close(another, 'Settled.');
    expect((await list()).data.some((one) => one.break_id === breakId)).toBe(false);
    expect((await list({ status: 'closed' })).data.map((one) => one.break_id)).toEqual([another, breakId]);
  });
});

describe('close_break', () => {
  test('closes a break once, and keeps its note out of the audit log, where nothing can be erased', async () => {
    const breakId = await insert('late_approval');
    const closed = await close(breakId, 'They returned it.');
    expect(closed).toMatchObject({ note: 'They returned it.', closed_by: 'sandbox', closed_at: expect.any(String) });
    const again = await close(breakId, 'Something else.');
    expect(again).toMatchObject({ note: 'They returned it.', closed_at: closed.closed_at });
    const { rows } = await client.query('select action, actor, details::json from audit_entry where subject_id = $1', [
      breakId,
    ]);
    const { note, ...kept } = closed;
    expect(rows).toEqual([{ action: 'close_break', actor: 'sandbox', details: { ...kept, omitted: ['note'] } }]);
  });

  test('shows the closed break to get_break, as close_break returned it', async () => {
    const breakId = await insert('late_approval');
    expect(await get(breakId)).toMatchObject({ break_id: breakId, kind: 'late_approval', closed_at: null, note: null });
    const { age_seconds: _, ...closed } = await close(breakId, 'They returned it.');
    expect(await get(breakId)).toMatchObject(closed);
  });

  test('stores its note without keys and card numbers', async () => {
    const key = `ts_test_${'a1'.repeat(24)}`;
    const closed = await close(await insert('late_approval'), `They have ${key} and password=hunter2`);
    expect(closed.note).toBe('They have [redacted] and password=[redacted]');
  });

  test.each(['brk_0', toWireId('brk', randomUUID())])('refuses the missing break %s', async (id) => {
    const answer = await close(id, 'x').catch((error: unknown) => error);
    expect(answer).toBeInstanceOf(Refusal);
    expect(answer).toMatchObject({ code: 'break_not_found' });
    await expect(get(id)).rejects.toMatchObject({ code: 'break_not_found' });
  });
});

/** Creates an attempt that its processor has approved or declined. */
async function endedAttempt(
  status: 'approved' | 'declined' = 'approved',
  type = 'load',
  currency = 'USD',
): Promise<Attempt> {
  const card_id = `card-${randomUUID()}`;
  const card = { connector_id: 'simulator', processor_token: 'sim_approve', card_id, currency };
  await ledger.call('create_card', card);
  const { transfer_id: id } = await bodyOf<{ transfer_id: string }>(
    ledger.call('create_transfer', { amount: 1000, card_id, type }),
  );
  const ready = await attemptOf(ledger, id);
  await report(ledger, ready, stepFor(ready, 'notice', answered(status, status === 'declined' ? { code: '51' } : {})));
  return attemptOf(ledger, id);
}

/** Stores notices from the processor and waits until the service has handled them. */
async function say(about: Attempt, ...said: readonly { readonly status: string; readonly amount?: number }[]) {
  for (const { status, amount = 1000 } of said) {
    const body = { attempt_id: toWireId('pat', about.attemptId), status, amount, currency: about.currency };
    const notice = { connectorId: 'simulator', noticeId: randomUUID(), sentAttemptId: about.attemptId, body };
    await ledger.database.write(insertNotice(notice as Parameters<typeof insertNotice>[0]));
  }
  const { database, service } = ledger;
  const connector = openHttpConnector(simulatorSettings());
  const handling = startHandlingNotices(new Map([['simulator', connector]]), {
    database,
    transfers: service.transfers,
    onFailure: () => undefined,
  });
  const waiting = 'select from processor_notice where handled_at is null';
  await waitFor('the notices to be handled', async () => (await client.query(waiting)).rowCount === 0);
  await handling.stop();
  connector.close();
}

const breaksOf = async ({ attemptId }: Attempt) => {
  const { data } = await list();
  return data.filter((one) => one.attempt_id === toWireId('pat', attemptId));
};

describe('closing a break with a booking', () => {
  type Against = NonNullable<BreakRecord['booked_against']>;

  const bookAgainst = (found: BreakRecord | undefined, book_against: Against, sent?: number) => {
    const amount = sent ?? found?.bookings.find((one) => one.book_against === book_against)?.amount ?? 1;
    const body = { note: 'settled', book_against, amount };
    return ledger.call('close_break', body, { params: { break_id: found?.break_id ?? '' } });
  };

  const refusal = (found: BreakRecord | undefined, against: Against, amount?: number) =>
    bookAgainst(found, against, amount).then(
      () => undefined,
      ({ code, message }: Refusal) => ({ code, message }),
    );

  /** Returns the balances of the demo program by kind of account. */
  async function balances(): Promise<Readonly<Record<string, number>>> {
    const { rows } = await client.query(
      "select kind, sum(balance)::float8 as balance from account where program_id = $1 and currency = 'USD' group by kind",
      [DEMO_PROGRAM_ID],
    );
    const none = { funding: 0, clearing: 0, suspense: 0, loss: 0 };
    return { ...none, ...Object.fromEntries(rows.map(({ kind, balance }) => [kind, balance])) };
  }

  const CASES = [
    ['late_approval', 'load', 'declined', { status: 'approved' }, ['funding', 'clearing', 'loss']],
    ['late_approval', 'unload', 'declined', { status: 'approved' }, ['funding', 'clearing', 'loss']],
    ['contradiction', 'load', 'approved', { status: 'declined' }, ['funding', 'loss']],
    ['contradiction', 'unload', 'approved', { status: 'reversed' }, ['funding', 'loss']],
    ['contradiction', 'load', 'approved', { status: 'approved', amount: 1300 }, ['funding', 'loss']],
    ['contradiction', 'unload', 'approved', { status: 'approved', amount: 400 }, ['funding', 'loss']],
    ['contradiction', 'load', 'declined', { status: 'approved', amount: 700 }, ['funding', 'loss']],
  ] as const;

  test.each(
    CASES.flatMap(([kind, type, was, said, accounts]) =>
      accounts.map((against) => ({ kind, type, was, said, against })),
    ),
  )(
    'books the difference of a $kind against the $against: a $type that was $was and is reported as $said',
    async (of) => {
      const attempt = await endedAttempt(of.was, of.type);
      const empty = await balances();
      await say(attempt, of.said);
      const [found] = await breaksOf(attempt);
      expect(found).toMatchObject({ kind: of.kind, booked_against: null });
      const shown = found?.bookings.find(({ book_against }) => book_against === of.against);
      const before = await balances();
      const { body } = await bookAgainst(found, of.against);
      expect(JSON.parse(body)).toMatchObject({ booked_against: of.against, bookings: [], note: 'settled' });
      const { from = '', to = '', amount = 0 } = shown ?? {};
      const after = await balances();
      const moved = { [from]: (before[from] ?? 0) - amount, [to]: (before[to] ?? 0) + amount };
      expect(after).toEqual({ ...before, ...moved });
      // The amount in suspense is now explained.
      expect(after.suspense).toBe(empty.suspense);
      await bookAgainst(found, of.against);
      expect(await balances()).toEqual(after);
      expect(await refusal(found, of.against === 'loss' ? 'funding' : 'loss')).toMatchObject({
        code: 'close_break_schema',
      });
      expect(await balances()).toEqual(after);
    },
  );

  test('is still possible after the break was closed with only a note, and happens once if two callers try', async () => {
    const attempt = await endedAttempt('declined');
    await say(attempt, { status: 'approved' });
    const [found] = await breaksOf(attempt);
    await close(found?.break_id ?? '', 'They are checking it.');
    const before = await balances();
    await Promise.all([bookAgainst(found, 'funding'), bookAgainst(found, 'funding')]);
    expect(await balances()).toMatchObject({
      funding: (before.funding ?? 0) - 1000,
      suspense: (before.suspense ?? 0) + 1000,
    });
  });

  test('books the difference when the processor reports something else later', async () => {
    const attempt = await endedAttempt();
    const before = await balances();
    await say(attempt, { status: 'approved', amount: 1300 });
    const [first] = await breaksOf(attempt);
    await bookAgainst(first, 'funding');
    await say(attempt, { status: 'declined' });
    const [second] = await breaksOf(attempt);
    expect(second).toMatchObject({ break_id: first?.break_id, bookings: [{ amount: 1300 }, { amount: 1300 }] });
    await bookAgainst(second, 'funding');
    // The result is the same as if the load had never been created.
    expect((await balances()).funding).toBe((before.funding ?? 0) + 1000);
    await say(attempt, { status: 'approved' });
    const [third] = await breaksOf(attempt);
    expect(third).toMatchObject({ break_id: first?.break_id, bookings: [{ amount: 1000 }, { amount: 1000 }] });
    await bookAgainst(third, 'funding');
    expect(await balances()).toEqual(before);
    // The processor repeats its earlier decline, which is no longer true.
    await say(attempt, { status: 'declined' });
    expect(await breaksOf(attempt)).toMatchObject([{ bookings: [{ amount: 1000 }, { amount: 1000 }] }]);
  });

  test('is not offered once the processor withdraws its contradiction', async () => {
    const attempt = await endedAttempt();
    await say(attempt, { status: 'declined' });
    const [found] = await breaksOf(attempt);
    await close(found?.break_id ?? '', 'They are checking it.');
    await say(attempt, { status: 'approved' });
    const { data } = await list({ status: 'closed' });
    expect(data.find(({ break_id: id }) => id === found?.break_id)).toMatchObject({
      bookings: [],
      booked_against: null,
    });
    expect((await refusal(found, 'funding'))?.message).toContain('has no difference that can be booked');
  });

  const timelineOf = (found: BreakRecord | undefined) =>
    bodyOf<{ money: object }>(
      ledger.call('get_transfer_timeline', {}, { params: { transfer_id: found?.transfer_id ?? '' } }),
    );

  test('counts when the service reports whether money moved', async () => {
    const attempt = await endedAttempt();
    await say(attempt, { status: 'declined' });
    const [found] = await breaksOf(attempt);
    expect((await timelineOf(found)).money).toMatchObject({ moved: 'unknown' });
    await bookAgainst(found, 'funding');
    const sentence = expect.stringMatching(/settled at \S+ and booked: the money is back where it came from/);
    expect((await timelineOf(found)).money).toMatchObject({ moved: 'moved_back', sentence });
  });

  test('moves the difference of a late approval only once, even if the processor has undone the approval', async () => {
    const attempt = await endedAttempt('declined');
    const before = await balances();
    await say(attempt, { status: 'approved' }, { status: 'reversed' });
    const [late, contradiction] = await breaksOf(attempt);
    expect([late?.kind, contradiction?.kind, contradiction?.bookings.length]).toEqual([
      'late_approval',
      'contradiction',
      2,
    ]);
    await bookAgainst(late, 'clearing');
    expect(await balances()).toEqual(before);
    expect((await refusal(contradiction, 'funding'))?.message).toContain('has no difference that can be booked');
    await close(contradiction?.break_id ?? '', 'They undid it.');
    const sentence = expect.stringContaining('so no money moved in the end.');
    expect((await timelineOf(late)).money).toMatchObject({ moved: 'no', sentence });
  });

  test('moves only the amount that the operator saw', async () => {
    const attempt = await endedAttempt();
    await say(attempt, { status: 'approved', amount: 1300 });
    const [seen] = await breaksOf(attempt);
    await say(attempt, { status: 'declined' });
    const before = await balances();
    expect(await refusal(seen, 'funding')).toEqual({
      code: 'close_break_schema',
      message:
        'The difference of this break is now 10.00 USD from clearing to funding, and you sent 3.00 USD. Read the break again.',
    });
    expect(await balances()).toEqual(before);
  });

  test('sends funding.low if the funding falls below its threshold', async () => {
    const attempt = await endedAttempt('declined');
    await say(attempt, { status: 'approved' });
    const [found] = await breaksOf(attempt);
    const { funding = 0 } = await balances();
    const program = { params: { program_id: toWireId('prog', DEMO_PROGRAM_ID) } };
    await ledger.call('update_program', { funding_low_threshold: funding }, program);
    await bookAgainst(found, 'funding');
    const { rows } = await client.query(
      "select payload from event where type = 'funding.low' order by created_at desc limit 1",
    );
    expect(JSON.parse(rows[0]?.payload ?? '{}')).toMatchObject({
      available: funding - 1000,
      transfer_id: found?.transfer_id,
      movement_id: null,
    });
    // The threshold applies only to the currency of the program.
    const inEuro = await endedAttempt('declined', 'load', 'EUR');
    await say(inEuro, { status: 'approved' });
    const [other] = await breaksOf(inEuro);
    const { rows: euro } = await client.query(
      "select balance from account where kind = 'funding' and currency = 'EUR'",
    );
    await ledger.call('update_program', { funding_low_threshold: Number(euro[0]?.balance) }, program);
    const countLow = async () => (await client.query("select from event where type = 'funding.low'")).rowCount;
    const count = await countLow();
    await bookAgainst(other, 'funding');
    expect(await countLow()).toBe(count);
    await ledger.call('update_program', { funding_low_threshold: null }, program);
  });

  test('appears in the statement of the card, with its transfer', async () => {
    const attempt = await endedAttempt('declined');
    await say(attempt, { status: 'approved' });
    const [found] = await breaksOf(attempt);
    await bookAgainst(found, 'clearing');
    const { rows } = await client.query('select name from card where card_id = $1', [attempt.cardId]);
    const params = { card_id: String(rows[0]?.name) };
    const { data } = await bodyOf<{ data: readonly object[] }>(ledger.call('list_postings', {}, { params }));
    const line = { amount: 1000, transfer_id: found?.transfer_id, reversal_id: null };
    expect(data).toEqual([
      expect.objectContaining({ ...line, purpose: 'correction', direction: 'out' }),
      expect.objectContaining({ ...line, purpose: 'load', direction: 'in' }),
    ]);
  });

  test('requires enough money in the account, and a booking that the break allows', async () => {
    const attempt = await endedAttempt('declined');
    await say(attempt, { status: 'approved' });
    const [found] = await breaksOf(attempt);
    const before = await balances();
    await client.query("update account set held = balance where kind = 'funding' and program_id = $1", [
      DEMO_PROGRAM_ID,
    ]);
    expect(await refusal(found, 'funding')).toEqual({
      code: 'insufficient_funds',
      message:
        'The funding account has 0.00 USD available, and the booking needs 10.00 USD. Choose another account, or make a deposit first.',
    });
    await client.query("update account set held = 0 where kind = 'funding' and program_id = $1", [DEMO_PROGRAM_ID]);
    expect([await balances(), (await breaksOf(attempt)).length]).toEqual([before, 1]);
    const other = await endedAttempt();
    await say(other, { status: 'declined' });
    const [contradiction] = await breaksOf(other);
    expect(await refusal(contradiction, 'clearing')).toMatchObject({
      message: "The difference of this break can only be booked against 'funding' or 'loss'.",
    });
  });
});

describe('a notice about a settled attempt', () => {
  test('is added to the break, and reopens a closed break if the processor reports something new', async () => {
    const attempt = await endedAttempt();
    await say(attempt, { status: 'declined' }, { status: 'declined' });
    const [first, ...others] = await breaksOf(attempt);
    expect([first, others]).toEqual([
      expect.objectContaining({ kind: 'contradiction', expected: 'approved', found: 'declined' }),
      [],
    ]);
    const breakId = first?.break_id ?? '';
    await close(breakId, 'Their mistake.');
    await say(attempt, { status: 'declined' }, { status: 'approved' });
    expect(await breaksOf(attempt)).toEqual([]);
    await say(attempt, { status: 'reversed' });
    expect(await breaksOf(attempt)).toMatchObject([
      { break_id: breakId, found: 'declined, reversed', closed_at: null, closed_by: null, note: null },
    ]);
  });

  test('shows the amount in the break if it differs from the ordered amount', async () => {
    const attempt = await endedAttempt();
    await say(attempt, { status: 'approved', amount: 123_456 });
    expect(await breaksOf(attempt)).toMatchObject([
      { kind: 'contradiction', amount: 1000, expected: 'approved', found: 'approved of 1,234.56 USD' },
    ]);
  });

  test("is compared with the attempt's state after the previous notice", async () => {
    const card_id = `card-${randomUUID()}`;
    await ledger.call('create_card', { connector_id: 'simulator', processor_token: 'sim_approve', card_id });
    const { transfer_id: id } = await bodyOf<{ transfer_id: string }>(
      ledger.call('create_transfer', { amount: 1000, card_id }),
    );
    await say(await attemptOf(ledger, id), { status: 'declined' }, { status: 'approved' }, { status: 'reversed' });
    expect(await breaksOf(await attemptOf(ledger, id))).toMatchObject([
      { kind: 'late_approval', expected: 'declined', found: 'approved' },
      { kind: 'contradiction', expected: 'approved', found: 'reversed' },
    ]);
  });
});

describe('list_connectors', () => {
  const connectors = async () =>
    (await bodyOf<{ data: readonly ConnectorRecord[] }>(ledger.call('list_connectors'))).data;

  test('counts the waiting attempts of a connector by status', async () => {
    const none = { ready: 0, sent: 0, unknown: 0, pending: 0, reversing: 0, attention: 0 };
    const shown = {
      connector_id: 'simulator',
      kind: 'simulator',
      since: null,
      reason: null,
      in_flight: 0,
      disabled_by: [],
    };
    expect(await connectors()).toEqual([{ ...shown, state: 'up', open: none, oldest_unknown_since: null }]);
    await ledger.call('create_card', { connector_id: 'simulator', processor_token: 'sim_slow', card_id: 'counted' });
    const attempts = [];
    for (let at = 0; at < 3; at += 1) {
      const transfer = await bodyOf<{ transfer_id: string }>(
        ledger.call('create_transfer', { amount: 5, card_id: 'counted' }),
      );
      attempts.push((await attemptOf(ledger, transfer.transfer_id)).attemptId);
    }
    await client.query(
      "update processor_attempt set status = 'attention', unknown_since = '2026-01-31T09:30:00Z' where attempt_id = $1",
      [attempts[0]],
    );
    processors.state = 'down';
    expect(await connectors()).toEqual([
      {
        ...shown,
        state: 'down',
        open: { ...none, ready: 2, attention: 1 },
        oldest_unknown_since: '2026-01-31T09:30:00.000Z',
      },
    ]);
    processors.state = 'up';
  });
});
