import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import type { CardRecord } from '../../contract/cards.ts';
import type { TransferRecord } from '../../contract/transfers.ts';
import { toWireId } from '../../domain/identifier.ts';
import type { Attempt } from '../../domain/processors/attempt.ts';
import { heldStep, lostStep, nextStep, resolvedStep, type Step } from '../../domain/processors/next-step.ts';
import { Refusal } from '../../domain/refusal.ts';
import { recordContradiction } from '../../server/background/processors/record-contradiction.ts';
import { recordAnswer } from '../../server/background/processors/report.ts';
import type { WrittenReply } from '../../server/http/wire/reply.ts';
import {
  claimAttempts,
  insertAttempts,
  markSent,
  readAttemptsForReport,
  toAttempt,
  updateAttempt,
  updateReportedAttempts,
} from '../../server/store/processors/attempt.ts';
import { closeBreaker, openBreaker } from '../../server/store/processors/connector-state.ts';
import { settleDue } from '../../server/subjects/transfers/change-transfer.ts';
import { waitForEnd } from '../../server/subjects/transfers/create-transfer.ts';
import { answered, attemptOf, report, SilentProcessors, stepFor, TRAITS } from '../fixtures/processors.ts';
import { openLedger, UNLIMITED } from '../harness/ledger.ts';
import { waitFor } from '../harness/process.ts';
import { checkBalances, useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

// Two ledgers on one database act as two service processes.
const server = await useServer();
const processors = new SilentProcessors();
const ledger = useLedger(server.connection, undefined, undefined, undefined, processors);
const other = useLedger(server.connection, undefined, undefined, undefined, new SilentProcessors());
/** A service that waits without a time limit while a test holds a lock. */
const patient = useLedger(server.connection, undefined, undefined, UNLIMITED, new SilentProcessors());
const client = await useConnection(server.connection);
const watcher = await useConnection(server.connection);

checkBalances(ledger);

afterEach(() => {
  processors.state = 'up';
});

const fail = (error: unknown): never => {
  throw error;
};

const bodyOf = <Body>(reply: WrittenReply): Body => JSON.parse(reply.body) as Body;

async function newCard(more: object = {}): Promise<string> {
  const processor = { connector_id: 'simulator', processor_token: 'sim_approve' };
  return bodyOf<CardRecord>(await ledger.call('create_card', { ...processor, ...more })).card_id;
}

async function create(members: object, to = ledger, more: object = {}): Promise<TransferRecord> {
  return bodyOf(await to.call('create_transfer', members, more));
}

async function transferOf(id: string): Promise<TransferRecord> {
  return bodyOf(await other.call('get_transfer', {}, { params: { transfer_id: id } }));
}

async function codeOf(reply: Promise<unknown>): Promise<string> {
  try {
    const value = await reply;
    return value instanceof Refusal ? value.code : 'done';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

/** Resolves when a statement of a service is waiting for a lock. */
async function untilWaiting(): Promise<void> {
  const text = `select from pg_stat_activity
    where wait_event_type = 'Lock' and application_name = 'transfer-service' and datname = current_database()`;
  await waitFor('a statement that waits', async () => (await watcher.query(text)).rowCount === 1);
}

async function accountOf(cardId: string): Promise<object> {
  const { rows } = await client.query(
    `select account.kind, account.balance::int, account.held::int, account.incoming::int from card
      join account using (program_id, account_id) where card.name = $1`,
    [cardId],
  );
  return rows[0];
}

async function eventsOf(transferId: string): Promise<readonly string[]> {
  const { rows } = await client.query('select type from event where subject_id = $1 order by created_at', [transferId]);
  return rows.map(({ type }) => type);
}

/** Marks a transfer's attempt as sent, as the service does before it sends the order. */
async function send(transferId: string): Promise<Attempt> {
  const ready = await attemptOf(ledger, transferId);
  const [row] = await ledger.database.write(markSent([ready], 30_000));
  if (row === undefined) throw new Error('the attempt was not ready');
  return toAttempt(row);
}

const approved = answered('approved', { processorReference: 'theirs 1' });

describe('a transfer with a card at a processor', () => {
  test('is held indefinitely, with an attempt that is due immediately, in one transaction', async () => {
    const card = await newCard();
    const made = await create({ amount: 1000, card_id: card });
    expect(made).toMatchObject({
      status: 'pending',
      outcome: 'open',
      capture: 'automatic',
      expires_at: null,
      captured_amount: 0,
      completed_at: null,
    });
    const attempt = await attemptOf(ledger, made.transfer_id);
    expect(attempt).toMatchObject({ status: 'ready', kind: 'push', amount: 1000n, currency: 'USD', tries: 0 });
    expect(attempt.nextAt).toBe(Date.parse(made.created_at));
    expect(await accountOf(card)).toEqual({ kind: 'clearing', balance: 0, held: 0, incoming: 1000 });
    const { rows } = await client.query(
      `select transfer.xmin = processor_attempt.xmin and transfer.xmin = hold.xmin as is_one, hold.expires_at
        from transfer join processor_attempt using (program_id, transfer_id) join hold using (program_id, transfer_id)
        where transfer_id = $1`,
      [attempt.transferId],
    );
    expect(rows).toEqual([{ is_one: true, expires_at: null }]);
    expect(await eventsOf(made.transfer_id)).toEqual(['transfer.pending']);
  });

  test.each(['load', 'unload'] as const)('is completed once by an approval, as a %s', async (type) => {
    const card = await newCard();
    const made = await create({ amount: 700, card_id: card, type });
    const sent = await send(made.transfer_id);
    const step = stepFor(sent, 'send', approved);
    expect(await report(ledger, sent, step)).toMatchObject({ record: { status: 'completed', outcome: 'final' } });
    const done = await transferOf(made.transfer_id);
    expect(done).toMatchObject({ status: 'completed', captured_amount: 700, error: null });
    expect(done.completed_at).not.toBeNull();
    const balance = type === 'load' ? 700 : -700;
    expect(await accountOf(card)).toEqual({ kind: 'clearing', balance, held: 0, incoming: 0 });
    expect(await attemptOf(ledger, made.transfer_id)).toMatchObject({
      status: 'approved',
      processorReference: 'theirs 1',
      nextAt: null,
    });
    // Repeating the report changes nothing, in this process or in another.
    for (const one of [ledger, other]) {
      expect(await codeOf(report(one, sent, step))).toBe('invalid_transfer_status');
      expect(await codeOf(report(one, await attemptOf(one, made.transfer_id), step))).toBe('invalid_transfer_status');
    }
    expect(await accountOf(card)).toEqual({ kind: 'clearing', balance, held: 0, incoming: 0 });
    expect(await eventsOf(made.transfer_id)).toEqual(['transfer.pending', 'transfer.completed']);
  });

  test('fails with the processor’s reason, and releases the hold and the limits', async () => {
    const card = await newCard({ limits: { in: { daily_amount: 1000 } } });
    const made = await create({ amount: 1000, card_id: card });
    expect(await codeOf(create({ amount: 1, card_id: card }))).toBe('limit_exceeded');
    const sent = await send(made.transfer_id);
    await report(ledger, sent, stepFor(sent, 'send', answered('declined', { code: '51' })));
    const failed = await transferOf(made.transfer_id);
    expect(failed).toMatchObject({ status: 'failed', outcome: 'final', captured_amount: 0, completed_at: null });
    expect(failed.error).toMatchObject({ Code: 'insufficient_funds' });
    expect(await accountOf(card)).toEqual({ kind: 'clearing', balance: 0, held: 0, incoming: 0 });
    expect(await attemptOf(ledger, made.transfer_id)).toMatchObject({ status: 'declined', code: '51' });
    expect(await eventsOf(made.transfer_id)).toEqual(['transfer.pending', 'transfer.failed']);
    expect(await create({ amount: 1000, card_id: card })).toMatchObject({ status: 'pending' });
  });

  test('stays on hold while the outcome is unknown, and becomes open again once the processor answers', async () => {
    const card = await newCard();
    const made = await create({ amount: 500, card_id: card });
    const sent = await send(made.transfer_id);
    await report(ledger, sent, stepFor(sent, 'send', answered('unknown', { detail: 'No answer came in 10 s.' })));
    expect(await transferOf(made.transfer_id)).toMatchObject({ status: 'pending', outcome: 'unknown' });
    expect(await accountOf(card)).toMatchObject({ balance: 0, incoming: 500 });
    const unknown = await attemptOf(other, made.transfer_id);
    expect(unknown).toMatchObject({ status: 'unknown', detail: 'No answer came in 10 s.' });
    // Another process continues.
    await report(other, unknown, stepFor(unknown, 'inquire', answered('pending')));
    expect(await transferOf(made.transfer_id)).toMatchObject({ status: 'pending', outcome: 'open' });
    const waiting = await attemptOf(ledger, made.transfer_id);
    expect([unknown.acknowledged, waiting.acknowledged]).toEqual([false, true]);
    await report(ledger, waiting, stepFor(waiting, 'notice', approved));
    expect(await transferOf(made.transfer_id)).toMatchObject({ status: 'completed', outcome: 'final' });
    expect(await eventsOf(made.transfer_id)).toEqual([
      'transfer.pending',
      'transfer.unknown',
      'transfer.pending',
      'transfer.completed',
    ]);
  });

  test('has only one outcome if two processes report different ones at the same time', async () => {
    const card = await newCard();
    let balance = 0;
    for (let round = 0; round < 20; round += 1) {
      const made = await create({ amount: 10, card_id: card }, round % 2 === 0 ? ledger : other);
      const sent = await send(made.transfer_id);
      const outcomes = await Promise.all([
        codeOf(report(ledger, sent, stepFor(sent, 'send', approved))),
        codeOf(report(other, sent, stepFor(sent, 'notice', answered('declined', { code: '05' })))),
        codeOf(report(other, sent, stepFor(sent, 'notice', approved))),
        codeOf(report(ledger, sent, stepFor(sent, 'send', answered('unknown')))),
      ]);
      expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1);
      const { status, outcome } = await transferOf(made.transfer_id);
      const after = await attemptOf(ledger, made.transfer_id);
      const expected = { approved: 'completed final', declined: 'failed final', unknown: 'pending unknown' };
      expect(`${status} ${outcome}`).toBe(expected[after.status as keyof typeof expected]);
      if (status === 'completed') balance += 10;
    }
    expect(await accountOf(card)).toMatchObject({ balance });
  });

  test('keeps the newest state of its attempt, and refuses a report on an earlier state', async () => {
    const made = await create({ amount: 10, card_id: await newCard() });
    const sent = await send(made.transfer_id);
    await report(ledger, sent, stepFor(sent, 'send', answered('unknown')));
    const unknown = await attemptOf(ledger, made.transfer_id);
    const again = stepFor(unknown, 'inquire', answered('unknown'));
    const after = { ...unknown, ...again, updatedAt: unknown.updatedAt };
    expect(await ledger.database.write(updateAttempt({ before: unknown, after }))).toHaveLength(1);
    expect(await ledger.database.write(updateAttempt({ before: unknown, after }))).toHaveLength(0);
    expect(await codeOf(report(ledger, unknown, stepFor(unknown, 'inquire', approved)))).toBe(
      'invalid_transfer_status',
    );
    const now = await attemptOf(ledger, made.transfer_id);
    expect(now).toMatchObject({ status: 'unknown', looks: 1 });
    expect(await codeOf(report(ledger, now, stepFor(now, 'inquire', approved)))).toBe('done');
  });

  test('ignores the outcome of the first order after the order was sent again', async () => {
    const made = await create({ amount: 10, card_id: await newCard() });
    const first = await send(made.transfer_id);
    // The sending process is paused. Other processes consider the order lost, and the processor reports that it has no
    // such order.
    await report(other, first, lostStep(first, TRAITS, Date.now()));
    const unknown = await attemptOf(other, made.transfer_id);
    const missed = { ...unknown, misses: 1 };
    const step = nextStep(missed, 'inquire', answered('not_found'), TRAITS, Date.now() + 100_000) as Step;
    const after = { ...unknown, ...step, updatedAt: unknown.updatedAt };
    expect(await other.database.write(updateAttempt({ before: unknown, after }))).toHaveLength(1);
    const second = await send(made.transfer_id);
    expect(second).toMatchObject({ status: 'sent', looks: first.looks, tries: 2 });
    // The first process reports that it did not send the order: first at a time that fails the transfer, then earlier.
    for (const seconds of [100, 1]) {
      const now = () => first.createdAt + seconds * 1000;
      const said = { attempt: first, question: 'send', answer: answered('not_sent'), traits: TRAITS, now } as const;
      const { database, service } = ledger;
      expect(await recordAnswer({ database, transfers: service.transfers, onFailure: fail }, said)).toBe(true);
      expect(await attemptOf(ledger, made.transfer_id)).toEqual(second);
      expect(await transferOf(made.transfer_id)).toMatchObject({ status: 'pending', outcome: 'unknown' });
    }
  });

  test('is not marked as sent by a process that claimed it before another process put it on hold', async () => {
    const made = await create({ amount: 10, card_id: await newCard() });
    const ready = await attemptOf(ledger, made.transfer_id);
    const off = { code: 'service_disabled', message: 'Off.' } as const;
    const after = { ...ready, ...heldStep(ready, off, TRAITS, Date.now()), updatedAt: ready.updatedAt };
    expect(await other.database.write(updateAttempt({ before: ready, after }))).toHaveLength(1);
    expect(await ledger.database.write(markSent([ready], 30_000))).toEqual([]);
    expect(await attemptOf(ledger, made.transfer_id)).toMatchObject({ status: 'ready', tries: 0, looks: 1 });
  });

  test('is recorded as approved after any change of the card, its limits or the switch', async () => {
    const card = await newCard();
    const made = await create({ amount: 10, card_id: card });
    const sent = await send(made.transfer_id);
    await ledger.call('update_card', { status: 'stolen' }, { params: { card_id: card } });
    await ledger.call('update_card', { limits: null }, { params: { card_id: card } });
    expect(await codeOf(report(ledger, sent, stepFor(sent, 'send', approved)))).toBe('done');
    expect(await transferOf(made.transfer_id)).toMatchObject({ status: 'completed' });
  });

  test('can be ended by an operator once its outcome is unknown, with an entry in the audit log', async () => {
    const made = await create({ amount: 10, card_id: await newCard() });
    const sent = await send(made.transfer_id);
    await report(ledger, sent, stepFor(sent, 'send', answered('unknown')));
    const unknown = await attemptOf(ledger, made.transfer_id);
    const step = resolvedStep(unknown, false, 'key_1');
    if (step === undefined) throw new Error('an unknown outcome cannot be resolved');
    expect(await codeOf(report(ledger, unknown, step, 'key_1'))).toBe('done');
    expect(await transferOf(made.transfer_id)).toMatchObject({ status: 'failed', error: { Code: 'processor_error' } });
    expect(await attemptOf(ledger, made.transfer_id)).toMatchObject({ status: 'failed', resolvedBy: 'key_1' });
    const { rows } = await client.query('select action, subject_id, actor from audit_entry where subject_id = $1', [
      toWireId('pat', unknown.attemptId),
    ]);
    expect(rows).toMatchObject([{ action: 'resolve_attempt', actor: 'key_1' }]);
  });

  test('has at most one open or approved attempt', async () => {
    const made = await create({ amount: 10, card_id: await newCard() });
    const attempt = await attemptOf(ledger, made.transfer_id);
    const second = { ...attempt, attemptId: randomUUID() };
    await expect(ledger.database.write(insertAttempts([second]))).rejects.toThrow();
    const sent = await send(made.transfer_id);
    await report(ledger, sent, stepFor(sent, 'send', approved));
    await expect(ledger.database.write(insertAttempts([second]))).rejects.toThrow();
  });

  test('is locked together with others in the order of the ids of their attempts', async () => {
    const ready: Attempt[] = [];
    for (const card_id of [await newCard(), await newCard()]) {
      ready.push(await attemptOf(ledger, (await create({ amount: 10, card_id })).transfer_id));
    }
    const [first, second] = ready.toSorted((one, next) => (one.attemptId < next.attemptId ? -1 : 1));
    if (first === undefined || second === undefined) throw new Error('there are no attempts');
    const isFree = async ({ attemptId }: Attempt): Promise<boolean> =>
      (
        await watcher.query('select from processor_attempt where attempt_id = $1 for no key update skip locked', [
          attemptId,
        ])
      ).rowCount === 1;
    const changed = [second, first].map((attempt) => ({
      before: attempt,
      after: { ...attempt, looks: attempt.looks },
    }));
    for (const statement of [
      readAttemptsForReport([second, first], true),
      updateReportedAttempts(changed),
      markSent([second, first], 30_000),
    ]) {
      await client.query('begin');
      await client.query('select from processor_attempt where attempt_id = $1 for no key update', [first.attemptId]);
      const waits = patient.database.writeUnguarded(statement);
      await untilWaiting();
      // The statement waits for the first attempt and has not locked the second.
      expect(await isFree(second), statement.name).toBe(true);
      await client.query('commit');
      await waits;
    }
  });

  test('is claimed by only one of several processes that look for due attempts', async () => {
    const made = await create({ amount: 10, card_id: await newCard() });
    const claims = await Promise.all(
      [ledger, other].map(({ database }) =>
        database.writeUnguarded(claimAttempts(['simulator'], 100, { ready: 30, other: 30 })),
      ),
    );
    const found = claims.flat().filter((row) => toWireId('tr', row.transfer_id as string) === made.transfer_id);
    expect(found).toMatchObject([{ card_status: 'active', processor_token: 'sim_approve', is_disabled: false }]);
  });
});

describe('a connector does not support', () => {
  test.each([
    [{ type: 'card_to_card', destination_card_id: 'card_active' }, 'connector_not_supported'],
    [{ capture: 'manual' }, 'connector_not_supported'],
  ])('these transfers: %o', async (members, code) => {
    expect(await codeOf(create({ amount: 10, card_id: await newCard(), ...members }))).toBe(code);
  });

  test('a transfer to a destination card', async () => {
    const members = { type: 'card_to_card', card_id: 'card_active', destination_card_id: await newCard() };
    expect(await codeOf(create({ amount: 10, ...members }))).toBe('connector_not_supported');
  });

  test.each(['down', 'missing'] as const)('new transfers while it is %s', async (state) => {
    const card = await newCard();
    processors.state = state;
    expect(await codeOf(create({ amount: 10, card_id: card }))).toBe('processor_unavailable');
    expect(await accountOf(card)).toMatchObject({ incoming: 0 });
  });

  test('a capture, a cancellation or an expiry of a waiting transfer, or a reversal of a completed one', async () => {
    const card = await newCard();
    const made = await create({ amount: 10, card_id: card });
    const change = (name: 'capture_transfer' | 'cancel_transfer' | 'reverse_transfer') =>
      codeOf(ledger.call(name, {}, { params: { transfer_id: made.transfer_id } }));
    expect(await change('capture_transfer')).toBe('invalid_transfer_status');
    expect(await change('cancel_transfer')).toBe('invalid_transfer_status');
    expect(await change('reverse_transfer')).toBe('invalid_transfer_status');
    expect(await settleDue(ledger.service)).toMatchObject({ settled: 0, failed: 0 });
    const sent = await send(made.transfer_id);
    await report(ledger, sent, stepFor(sent, 'send', approved));
    expect(await change('reverse_transfer')).toBe('connector_not_supported');
  });

  test('closing a card with an open attempt, although it supports closing a card with a balance at the processor', async () => {
    const card = await newCard();
    const made = await create({ amount: 10, card_id: card });
    const close = (members: object = {}) =>
      codeOf(ledger.call('update_card', { status: 'closed', ...members }, { params: { card_id: card } }));
    expect(await close()).toBe('card_not_empty');
    expect(await close({ balance_to: 'funding' })).toBe('card_not_empty');
    await expect(ledger.call('update_card', { status: 'closed' }, { params: { card_id: card } })).rejects.toThrow(
      "Wait until the processor 'simulator' has reported the outcome of the pending transfers.",
    );
    const sent = await send(made.transfer_id);
    await report(ledger, sent, stepFor(sent, 'send', approved));
    expect(await close({ balance_to: 'funding' })).toBe('done');
    expect(await accountOf(card)).toMatchObject({ balance: 10 });
  });
});

test('a scheduled transfer with a card at a processor waits for the processor when it is due', async () => {
  const card = await newCard();
  const scheduled_for = new Date(Date.now() + 3_600_000).toISOString();
  const made = await create({ amount: 30, card_id: card, scheduled_for });
  expect(made).toMatchObject({ status: 'scheduled', outcome: 'open' });
  await ledger.call('move_clock', { seconds_ahead: 3_601 });
  try {
    expect(await settleDue(ledger.service)).toMatchObject({ settled: 1 });
    expect(await transferOf(made.transfer_id)).toMatchObject({ status: 'pending', outcome: 'open', expires_at: null });
    const sent = await send(made.transfer_id);
    expect(sent.kind).toBe('push');
    await report(other, sent, stepFor(sent, 'send', approved));
    expect(await transferOf(made.transfer_id)).toMatchObject({ status: 'completed', captured_amount: 30 });
  } finally {
    await ledger.call('move_clock', { seconds_ahead: 0 });
  }
});

test('a due scheduled transfer waits while its processor is unreachable, and does not delay others', async () => {
  const scheduled_for = new Date(Date.now() + 3_600_000).toISOString();
  processors.state = 'down';
  const made = await create({ amount: 30, card_id: await newCard(), scheduled_for });
  const local = await create({ amount: 30, card_id: 'card_active', scheduled_for });
  await ledger.database.writeUnguarded(openBreaker('simulator', 'It does not answer.', 15));
  await ledger.call('move_clock', { seconds_ahead: 3_601 });
  try {
    expect(await settleDue(ledger.service)).toMatchObject({ settled: 1, failed: 0 });
    expect(await transferOf(local.transfer_id)).toMatchObject({ status: 'completed' });
    expect(await transferOf(made.transfer_id)).toMatchObject({ status: 'scheduled' });
    // This process has not yet read that the connector works again, but the other process has.
    await ledger.database.writeUnguarded(closeBreaker('simulator'));
    expect(await settleDue(ledger.service)).toMatchObject({ settled: 0, failed: 0 });
    expect(await transferOf(made.transfer_id)).toMatchObject({ status: 'scheduled' });
    expect(await settleDue(other.service)).toMatchObject({ settled: 1 });
    expect(await transferOf(made.transfer_id)).toMatchObject({ status: 'pending' });
  } finally {
    await ledger.call('move_clock', { seconds_ahead: 0 });
  }
});

describe('the shown outcome', () => {
  type Timeline = {
    readonly money: { readonly moved: string; readonly sentence: string };
    readonly steps: readonly { readonly kind: string; readonly text: string }[];
  };
  const timelineOf = async (id: string): Promise<Timeline> =>
    bodyOf(await ledger.call('get_transfer_timeline', {}, { params: { transfer_id: id } }));
  const summaryOf = async (id: string): Promise<{ readonly money_moved: string; readonly summary: string }> =>
    bodyOf(await ledger.call('get_request', {}, { params: { request_id: id } }));
  const kindsOf = ({ steps }: Timeline) => steps.map(({ kind }) => kind).filter((kind) => kind !== 'event');

  test('is correct before the order is sent, while the outcome is unknown, and after the transfer has ended', async () => {
    const card = await newCard();
    const made = await create({ amount: 1000, card_id: card });
    const whole = { transfer: made.transfer_id, request: made.request_id };
    const shown = async () => {
      const [timeline, summary] = [await timelineOf(whole.transfer), await summaryOf(whole.request)];
      expect(summary.summary).toContain(timeline.money.sentence);
      return { timeline, moved: [timeline.money.moved, summary.money_moved], sentence: timeline.money.sentence };
    };
    const ready = await shown();
    expect(ready.moved).toEqual(['held', 'no']);
    expect(ready.sentence).toContain("nothing has been sent to the processor 'simulator' yet");
    expect(kindsOf(ready.timeline)).toEqual(['request', 'hold']);
    const sent = await send(made.transfer_id);
    expect((await shown()).moved).toEqual(['unknown', 'unknown']);
    await report(ledger, sent, stepFor(sent, 'send', answered('unknown', { detail: 'No answer came.' })));
    const unknown = await shown();
    const attempt = await attemptOf(ledger, made.transfer_id);
    expect(unknown.moved).toEqual(['unknown', 'unknown']);
    expect(unknown.sentence).toContain(
      `It has been unknown since ${new Date(attempt.unknownSince ?? 0).toISOString()}`,
    );
    expect(unknown.sentence).toContain(`asked again at ${new Date(attempt.nextAt ?? 0).toISOString()}`);
    expect(kindsOf(unknown.timeline)).toEqual(['request', 'hold', 'processor', 'processor']);
    await report(ledger, attempt, stepFor(attempt, 'inquire', answered('declined', { code: '51' })));
    const failed = await shown();
    expect(failed.moved).toEqual(['no', 'no']);
    expect(failed.sentence).toBe('No money moved: the transfer was declined: insufficient funds.');
    expect(failed.timeline.steps.map(({ text }) => text)).toContain(
      "The processor 'simulator' has declined it (code 51).",
    );
    expect(kindsOf(failed.timeline).filter((kind) => kind === 'failed')).toHaveLength(1);
  });

  /** Makes the processor approve a transfer that it had declined. */
  async function approveLate(sent: Attempt): Promise<void> {
    await report(ledger, sent, stepFor(sent, 'send', answered('declined', { code: '51' })));
    const ended = await attemptOf(ledger, toWireId('tr', sent.transferId));
    const late = { kind: 'late_approval', expected: 'declined', found: 'approved', stated: 1000n } as const;
    await recordContradiction(ledger.database, ended, late, Date.now());
  }

  test('reports that the money moved after a late approval, which has a separate event', async () => {
    const made = await create({ amount: 1000, card_id: await newCard() });
    await approveLate(await send(made.transfer_id));
    expect(await eventsOf(made.transfer_id)).toEqual(['transfer.pending', 'transfer.failed', 'transfer.late_approval']);
    const { money_moved, summary } = await summaryOf(made.request_id);
    expect(money_moved).toBe('yes');
    expect(summary).toContain('after all');
  });

  test('mentions a contradiction that arrived while the request was waiting', async () => {
    const made = await create({ amount: 1000, card_id: await newCard() });
    const sent = await send(made.transfer_id);
    await report(other, sent, stepFor(sent, 'send', approved));
    const ended = await attemptOf(ledger, made.transfer_id);
    const contrary = { kind: 'contradiction', expected: 'approved', found: 'declined', stated: 0n } as const;
    await recordContradiction(ledger.database, ended, contrary, Date.now());
    const { wait } = waitForEnd(ledger.service, { programId: sent.programId }, made, 1);
    expect(await wait.resume(false)).toMatchObject({ record: { status: 'completed' }, moneyMoved: 'unknown' });
  });

  test("includes the posting of an approval, after the processor's response", async () => {
    const made = await create({ amount: 1000, card_id: await newCard(), type: 'unload' });
    const sent = await send(made.transfer_id);
    await report(ledger, sent, stepFor(sent, 'send', approved));
    const timeline = await timelineOf(made.transfer_id);
    expect(timeline.money.moved).toBe('yes');
    expect(kindsOf(timeline)).toEqual(['request', 'hold', 'processor', 'processor', 'posting']);
    // The report has its own request id without an operation.
    const { rows } = await client.query(
      "select request_id from event where subject_id = $1 and type = 'transfer.completed'",
      [made.transfer_id],
    );
    const found = await ledger.call('get_request', {}, { params: { request_id: toWireId('req', rows[0].request_id) } });
    expect(bodyOf(found)).toMatchObject({ operation: null, outcome: 'succeeded', money_moved: 'yes' });
  });

  test('includes no balance of a card whose money is at the processor, and no expiry of its holds', async () => {
    const card = await newCard();
    const made = await create({ amount: 10, card_id: card });
    const shown = bodyOf(await ledger.call('get_card', {}, { params: { card_id: card } }));
    expect(shown).toMatchObject({ connector_id: 'simulator', balance: 0, held: 0, available: 0, incoming: 0 });
    const holds = bodyOf(await ledger.call('list_holds', {}, { params: { card_id: card } }));
    expect(holds).toMatchObject({ data: [{ transfer_id: made.transfer_id, expires_at: null }] });
  });

  test('is the same in explain_transfer and create_transfer', async () => {
    const members = { amount: 10, card_id: await newCard() };
    const explain = async (more = {}) => bodyOf(await ledger.call('explain_transfer', members, more));
    const result = (behavior = '') => ({
      status: 'pending',
      money_moved: 'unknown',
      sentence: expect.stringMatching(
        RegExp(`^0.10 USD would be held on .* The processor 'simulator' is asked to move the money, .*${behavior}.$`),
      ),
    });
    expect(await explain()).toMatchObject({ would_succeed: true, result: result() });
    const declined = await explain({ sandboxBehavior: 'decline=51' });
    expect(declined).toMatchObject({ result: result("'simulator' is asked to behave as 'decline=51'") });
    processors.state = 'down';
    expect(await explain()).toMatchObject({
      would_succeed: false,
      first_failure: 'processor_unavailable',
      result: null,
    });
  });

  test('reports for each row of a batch whether its money moved', async () => {
    const card_id = await newCard();
    const rows = ['1', '2'].map((amount) => ({ amount, card_id, idempotency_key: randomUUID() }));
    const replay = async () =>
      bodyOf<{ data: { status: number; money_moved: string; replayed: boolean; transfer: TransferRecord }[] }>(
        await ledger.call('create_transfer_batch', { transfers: rows }),
      ).data;
    const first = await replay();
    expect(first).toMatchObject(rows.map(() => ({ status: 201, money_moved: 'unknown', replayed: false })));
    expect(await replay()).toMatchObject(rows.map(() => ({ status: 201, money_moved: 'unknown', replayed: true })));
    const request = first[0]?.transfer.request_id ?? '';
    expect((await summaryOf(request)).summary).toContain('No money has moved with 2 transfers.');
    const attempts: Attempt[] = [];
    for (const { transfer } of first) attempts.push(await send(transfer.transfer_id));
    const { money_moved, summary } = await summaryOf(request);
    expect(money_moved).toBe('unknown');
    expect(summary).toContain('Whether the money of 2 moved is not known yet');
    for (const attempt of attempts.slice(0, 1)) await approveLate(attempt);
    const later = await summaryOf(request);
    expect(later.money_moved).toBe('yes');
    expect(later.summary).toContain('0.01 USD moved with 1 of 2 transfers. The processor moved the money of 1 after');
    expect(later.summary).toContain('Whether the money of 1 moved is not known yet');
  });
});

describe('a card at a processor', () => {
  test('has both a connector and a processor token', async () => {
    const create = (members: object) => codeOf(ledger.call('create_card', members));
    expect(await create({ connector_id: 'simulator' })).toBe('create_card_schema');
    expect(await create({ processor_token: 'token' })).toBe('create_card_schema');
    expect(await create({ connector_id: 'missing', processor_token: 'token' })).toBe('connector_not_found');
  });

  test('is created once with a key, even if its connector was removed before the second request', async () => {
    const members = { card_id: randomUUID(), connector_id: 'simulator', processor_token: 'token' };
    const first = await ledger.call('create_card', members, { idempotencyKey: 'one' });
    const gone = openLedger(server.connection);
    const again = await gone.call('create_card', members, { idempotencyKey: 'one' });
    expect([again.replayed, again.body]).toEqual([true, first.body]);
    await gone.close();
  });
});
