import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { toWireId } from '../../../domain/identifier.ts';
import { type Attempt, hasFailed } from '../../../domain/processors/attempt.ts';
import type { Answer, Traits } from '../../../domain/processors/order.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { recordContradiction } from '../../../server/background/processors/record-contradiction.ts';
import { type ReportParts, recordAnswer } from '../../../server/background/processors/report.ts';
import { NO_PROCESSORS } from '../../../server/calls/processors.ts';
import type { Statement } from '../../../server/store/connection/database.ts';
import {
  type ClaimedAttempt,
  claimAttempts,
  markSent,
  readAttemptsForReport,
  readLastAttempts,
  toAttempt,
  toClaimedAttempt,
  updateAttempt,
  updateReportedAttempts,
} from '../../../server/store/processors/attempt.ts';
import {
  closeBreaker,
  openBreaker,
  READ_OPEN_BREAKERS,
  takeProbes,
} from '../../../server/store/processors/connector-state.ts';
import { insertBreakOfUnknown, lockSuspenseAndClearing } from '../../../server/store/processors/contradiction.ts';
import {
  insertNotice,
  markNoticeFailed,
  markNoticeForeign,
  markNoticeHandled,
  readNotice,
  readWaitingNotices,
  saidBy,
  toWaitingNotice,
} from '../../../server/store/processors/notices.ts';
import { handle } from '../../../verification/environments/memory/requests.ts';
import { openService } from '../../../verification/environments/memory/service-process.ts';
import { CARDS_AT_PROCESSOR, CONNECTOR_ID, PROGRAMS } from '../../../verification/environments/memory/world.ts';
import { PROCESSOR_STATEMENTS } from '../../../verification/environments/memory-store/processors.ts';
import type { Request } from '../../../verification/model/commands.ts';
import { TRAITS } from '../../fixtures/processors.ts';
import { connect } from '../../harness/ledger.ts';
import { Random } from '../../harness/random.ts';
import { useBoth } from './both.ts';

// Runs attempts and processors' reports in the simulated store and in PostgreSQL.

const { server, tables, simulated, bugs, compared, database, ...both } = await useBoth(CARDS_AT_PROCESSOR);
const { pairWith, passTime, compareTable, time } = both;
const service = openService(database, { batch: 64, waiting: 64 }, undefined, {
  ...NO_PROCESSORS,
  stateOf: () => 'up',
});
const { transfers } = service;
const parts: ReportParts = {
  database,
  transfers,
  onFailure: (error) => {
    throw error;
  },
};
const random = new Random(20_261_126);
const programId = PROGRAMS[0]?.programId ?? '';
const cards = [...CARDS_AT_PROCESSOR];
const traits: Traits = { ...TRAITS, canResend: true, settleDelaySeconds: 2, notFoundFinalSeconds: 5 };

async function ask(wanted: Request): Promise<string> {
  const deadline = performance.now() + 240_000;
  const own = { ...service, database: database.forProgram(programId) };
  try {
    await handle(own, wanted, { requestId: randomUUID(), key: null, trace: undefined, deadline });
    return 'done';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

const load = (amount: number): Request => ({
  ...{ does: 'create', program: '0', waits: null, isPoison: false },
  asked: {
    ...{ program: '0', type: random.chance(0.6) ? 'load' : 'unload', card: random.pick(cards), destination: null },
    ...{ amount: BigInt(amount), capture: 'automatic', expiresAt: null, scheduledFor: null },
    ...{ reference: null, currency: null },
  },
});

const allow = (disabled: boolean): Request => ({
  ...{ does: 'change_switch', program: '0', setting: { program: '0', type: 'load', disabled, until: null } },
});

const attempts = (): readonly Attempt[] => tables.all('processor_attempt').map(toAttempt);
const drawAttempt = (): Attempt => random.pick(attempts());

const OUTCOMES = [
  'approved',
  'declined',
  'pending',
  'unknown',
  'unknown',
  'not_found',
  'not_found',
  'not_sent',
] as const;

function drawAnswer(): Answer {
  const outcome = random.pick(OUTCOMES);
  const code = outcome === 'declined' ? random.pick(['51', '94', null]) : null;
  return {
    outcome,
    code,
    processorReference: random.pick(['one', null]),
    retryAfterSeconds: random.pick([9, null]),
    detail: null,
  };
}

/** Claims due attempts, sends them and records an answer. Returns their number. */
async function carryOut(): Promise<number> {
  const lease = { ready: 5, other: 40 };
  const claimed = (await database.writeUnguarded(claimAttempts([CONNECTOR_ID], 100, lease))).map(toClaimedAttempt);
  const ready = claimed.filter(({ attempt }) => attempt.status === 'ready');
  const sent = (
    await database.write(
      markSent(
        ready.map(({ attempt }) => attempt),
        30_000,
      ),
    )
  ).map(toAttempt);
  // An attempt is not sent twice.
  expect(
    await database.write(
      markSent(
        ready.map(({ attempt }) => attempt),
        30_000,
      ),
    ),
  ).toEqual([]);
  const asked = claimed.filter(({ attempt }) => attempt.status !== 'ready');
  for (const attempt of [...sent, ...asked.map((one: ClaimedAttempt) => one.attempt)]) {
    if (random.chance(0.3)) continue;
    const question = attempt.status === 'sent' ? 'send' : attempt.status === 'reversing' ? 'reverse' : 'inquire';
    await recordAnswer(parts, { attempt, question, answer: drawAnswer(), traits, now: () => time.clock });
  }
  return claimed.length;
}

/** Stores a processor's notice twice, and lets the service handle it. */
async function notify(number: number): Promise<void> {
  const { attemptId, amount, currency } = drawAttempt();
  const isForeign = random.chance(0.3);
  const wireId = isForeign ? `pat_${'0'.repeat(32)}` : toWireId('pat', attemptId);
  const body = { attempt_id: wireId, status: 'approved', amount: Number(amount), currency } as const;
  const noticeId = `notice ${number}`;
  const sentAttemptId = isForeign ? null : attemptId;
  for (let copy = 0; copy < 2; copy += 1) {
    await database.write(insertNotice({ connectorId: CONNECTOR_ID, noticeId, sentAttemptId, body }));
  }
  const other = { ...body, amount: body.amount + 1 };
  for (const sent of [body, other]) {
    await database.read(readNotice({ connectorId: CONNECTOR_ID, noticeId, sentAttemptId, body: sent }));
  }
  const of = { connectorId: CONNECTOR_ID, sentAttemptId: wireId, amount, currency, createdAt: time.clock };
  const said = { kind: 'reused_notice_id', expected: saidBy(body), found: saidBy(random.pick([body, other])) } as const;
  if (isForeign) await database.write(insertBreakOfUnknown({ breakId: randomUUID(), ...of, ...said }));
  for (const notice of (await database.read(readWaitingNotices([CONNECTOR_ID], 5))).map(toWaitingNotice)) {
    const { attempt } = notice;
    if (random.chance(0.2)) {
      await database.write(markNoticeFailed(notice));
      continue;
    }
    if (attempt === undefined) await database.write(markNoticeForeign(notice, randomUUID()));
    else {
      const answer: Answer = { ...drawAnswer(), outcome: 'approved' };
      await recordAnswer(parts, { attempt, question: 'notice', answer, traits, now: () => time.clock });
      await database.write(markNoticeHandled(CONNECTOR_ID, notice.noticeId));
    }
  }
}

/** Reports on an outdated attempt. The resulting decision is not written. */
async function reportLate(): Promise<void> {
  const before = drawAttempt();
  const stale = { ...before, looks: before.looks + 1 };
  expect(await database.write(updateAttempt({ before: stale, after: stale }))).toEqual([]);
  await expect(database.write(updateReportedAttempts([{ before: stale, after: stale }]))).rejects.toThrow();
}

async function operate(): Promise<void> {
  const { attemptId, status } = drawAttempt();
  const resolution = { does: 'resolve', program: '0', attempt: toWireId('pat', attemptId) } as const;
  await ask({ ...resolution, wasExecuted: random.chance(0.5) });
  await database.read(readLastAttempts(attempts().slice(0, 3)));
  if (!hasFailed(status)) return;
  const attempt = attempts().find((one) => one.attemptId === attemptId);
  if (attempt === undefined) return;
  for (const kind of ['late_approval', 'contradiction', 'agreement', 'late_approval'] as const) {
    const said = { kind, expected: status, found: 'approved', stated: attempt.amount };
    await recordContradiction(database, attempt, said, time.clock);
  }
}

/** Opens a breaker, probes it and closes it. */
async function tryBreaker(): Promise<void> {
  const read = () => database.read(READ_OPEN_BREAKERS);
  await database.writeUnguarded(openBreaker(CONNECTOR_ID, 'five requests had no valid answer', 15));
  await database.writeUnguarded(openBreaker(CONNECTOR_ID, 'another reason', 15));
  expect(await read()).toHaveLength(1);
  await database.writeUnguarded(takeProbes([CONNECTOR_ID], 15));
  await passTime(15_000);
  await database.writeUnguarded(takeProbes([CONNECTOR_ID], 15));
  if (random.chance(0.5)) await database.writeUnguarded(closeBreaker(CONNECTOR_ID));
  await read();
}

test('random histories of attempts have the same results in PostgreSQL', async () => {
  await ask({ does: 'deposit', program: '0', currency: 'USD', amount: 5_000n, reference: null });
  let taken = 0;
  for (let count = 0; count < 120; count += 1) {
    if (count % 2 === 0) await ask(load(1 + random.below(30)));
    taken += await carryOut();
    if (count % 5 === 0) await notify(count);
    if (count % 7 === 0) await reportLate();
    if (count % 4 === 0) await operate();
    if (count % 30 === 0) await tryBreaker();
    if (count % 20 === 0) await ask(allow(count % 40 === 0));
    await passTime(random.pick([10, 3_000, 31_000, 100_000]));
  }
  expect(taken).toBeGreaterThan(80);
  const statuses = new Set(attempts().map(({ status }) => status));
  expect([...statuses]).toEqual(expect.arrayContaining(['approved', 'declined', 'failed']));
  expect(attempts().some(({ lateApprovalAt }) => lateApprovalAt !== null)).toBe(true);
  expect(bugs).toEqual([]);
  for (const table of COMPARED) await compareTable(table);
});

/** The tables that must be equal when everything has run. */
const COMPARED = [
  ...['account', 'audit_entry', 'connector_state', 'event', 'hold', 'limit_counter', 'posting'],
  ...['processor_attempt', 'processor_break', 'processor_notice', 'switch', 'transfer'],
];

const WAITING = {
  ...{ connectorId: CONNECTOR_ID, noticeId: 'a notice that waits', sentAttemptId: null },
  body: { attempt_id: `pat_${'1'.repeat(32)}`, status: 'approved', amount: 1, currency: 'USD' },
} as const;

/** Statements with locks. The statement that comes second waits for the lock, skips the locked rows, or continues. */
const LOCKING: Readonly<Record<string, () => Statement>> = {
  'an attempt to report about': () => readAttemptsForReport(firstAttempts(), true),
  'attempts that are due': () => claimAttempts([CONNECTOR_ID], 100, { ready: 5, other: 40 }),
  'an attempt that has changed': () => updateAttempt({ before: firstAttempt(), after: firstAttempt() }),
  'the attempts to mark as sent': () => markSent(firstAttempts(), 30_000),
  'the accounts of a late approval': () => lockSuspenseAndClearing(firstAttempt()),
  'a notice': () => markNoticeHandled(CONNECTOR_ID, WAITING.noticeId),
  'a notice that has failed': () => markNoticeFailed({ ...WAITING, attempt: undefined, tries: 0, now: time.clock }),
  'a breaker': () => openBreaker(CONNECTOR_ID, 'a reason', 15),
};

const firstAttempts = (): readonly Attempt[] => attempts().filter(({ status }) => status === 'ready');
function firstAttempt(): Attempt {
  const [attempt] = firstAttempts();
  if (attempt === undefined) throw new Error('no attempt is ready');
  return attempt;
}
const PAIRS = Object.keys(LOCKING).flatMap((first) => Object.keys(LOCKING).map((second) => [first, second] as const));

test.each(PAIRS)('a lock on %s delays a statement on %s in both stores or in neither', async (first, second) => {
  if (firstAttempts().length === 0) await ask(load(1));
  await database.write(insertNotice(WAITING));
  const [one, other] = [await connect(server.connection), await connect(server.connection)];
  const [mine, theirs] = [pairWith(one), pairWith(other)];
  try {
    // With this limit, a statement ends only because of a lock, even on a slow machine.
    await other.query("set lock_timeout = '20ms'");
    for (const pair of [mine, theirs]) await pair.query('begin');
    await mine.query(LOCKING[first]?.() as Statement);
    await theirs.query(LOCKING[second]?.() as Statement).catch((error: unknown) => {
      expect(error).toMatchObject({ code: '55P03' });
    });
  } finally {
    for (const pair of [mine, theirs]) pair.own.cut(new Error('the test is over'), 0);
    for (const connection of simulated.connections) while (connection.canExecute) connection.execute();
    await Promise.all([one.end(), other.end()]);
  }
});

test('every statement about processors was compared', () => {
  expect(Object.keys(PROCESSOR_STATEMENTS).filter((statement) => !compared.has(statement))).toEqual([]);
});
