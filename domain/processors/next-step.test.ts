import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TRAITS as OF_TESTS } from '../../test/fixtures/processors.ts';
import { ATTEMPT_STATUSES, type Attempt, hasFailed, isEnded } from './attempt.ts';
import {
  expiredStep,
  heldStep,
  lostStep,
  nextStep,
  overdueStep,
  type Question,
  resolvedStep,
  type Step,
  unreachable,
} from './next-step.ts';
import type { Answer, Traits } from './order.ts';

const T = 1_800_000_000_000;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const NOT_AFTER = T + 30_000;

const TRAITS: Traits = { ...OF_TESTS, canResend: false };

const SENT: Attempt = {
  programId: '00000000-0000-0000-0000-000000000001',
  attemptId: '00000000-0000-0000-0000-000000000002',
  transferId: '00000000-0000-0000-0000-000000000003',
  cardId: '00000000-0000-0000-0000-000000000004',
  connectorId: 'simulator',
  kind: 'push',
  amount: 1000n,
  currency: 'USD',
  status: 'sent',
  tries: 1,
  looks: 0,
  misses: 0,
  acknowledged: false,
  sentAt: T,
  notAfter: NOT_AFTER,
  unknownSince: null,
  nextAt: NOT_AFTER,
  processorReference: null,
  code: null,
  retryAfterSeconds: null,
  detail: null,
  resolvedBy: null,
  lateApprovalAt: null,
  breakId: null,
  contradictedAt: null,
  contradiction: null,
  contradictionBreakId: null,
  lateApprovalSettledAt: null,
  contradictionSettledAt: null,
  correctedAmount: 0n,
  sandboxBehavior: null,
  createdAt: T,
  updatedAt: T,
};
const UNKNOWN: Attempt = { ...SENT, status: 'unknown', unknownSince: T };
const PENDING: Attempt = { ...SENT, status: 'pending', processorReference: 'r-1' };
const REVERSING: Attempt = { ...UNKNOWN, status: 'reversing' };
const READY: Attempt = { ...SENT, status: 'ready', tries: 0, sentAt: null, notAfter: null, nextAt: T };

function answer(outcome: Answer['outcome'], more: Partial<Answer> = {}): Answer {
  return { outcome, processorReference: null, code: null, retryAfterSeconds: null, detail: null, ...more };
}

/** Describes a step by its status, its effect, and the pause in seconds until the next step. */
function judge(attempt: Attempt, question: Question, said: Answer, { now = T, traits = TRAITS } = {}): unknown {
  const step = nextStep(attempt, question, said, traits, now);
  if (step === undefined || 'kind' in step) return step;
  return [step.status, step.effect, step.nextAt === null ? null : (step.nextAt - now) / 1000];
}

describe('an answer to an order', () => {
  it.each([
    ['approved', {}, ['approved', 'complete', null]],
    ['declined', { code: '51' }, ['declined', 'fail', null]],
    ['not_executed', {}, ['failed', 'fail', null]],
    ['pending', {}, ['pending', null, 1800]],
    ['unknown', {}, ['unknown', 'unknown', 40]],
    ['not_found', {}, ['unknown', 'unknown', 40]],
    ['reversed', {}, ['unknown', 'unknown', 40]],
    ['declined', { code: '68' }, ['unknown', 'unknown', 40]],
    ['declined', { code: '94' }, ['unknown', 'unknown', 40]],
    ['not_sent', {}, ['ready', null, 1]],
  ] as const)('decides the next step: %s %j', (outcome, more, expected) => {
    expect(judge(SENT, 'send', answer(outcome, more))).toEqual(expected);
  });

  it('ends an attempt that counts as lost only if the answer is final', () => {
    expect(judge(UNKNOWN, 'send', answer('approved'))).toEqual(['approved', 'complete', null]);
    for (const outcome of ['unknown', 'not_sent', 'not_found'] as const) {
      expect(judge(UNKNOWN, 'send', answer(outcome)), outcome).toBeUndefined();
      expect(judge({ ...READY, tries: 1 }, 'send', answer(outcome)), outcome).toBeUndefined();
    }
  });
});

describe('an order that could not be sent', () => {
  it('is sent again after growing pauses, and its try does not count', () => {
    let attempt = SENT;
    const pauses: number[] = [];
    for (let now = T; attempt.status !== 'failed'; now = attempt.nextAt ?? now) {
      const step = nextStep({ ...attempt, status: 'sent', tries: 1 }, 'send', answer('not_sent'), TRAITS, now) as Step;
      attempt = { ...attempt, ...step };
      expect(attempt.tries).toBe(0);
      if (step.nextAt !== null) pauses.push((step.nextAt - now) / 1000);
    }
    expect(pauses).toEqual([1, 2, 5, 10, 10, 10, 10, 10]);
  });

  it('fails with processor_unavailable when its time is over', () => {
    const step = nextStep(SENT, 'send', answer('not_sent'), TRAITS, T + 60_000) as Step;
    expect(step).toMatchObject({ status: 'failed', effect: 'fail', failure: { code: 'processor_unavailable' } });
  });

  it('has an unknown outcome if an earlier try was sent', () => {
    expect(judge({ ...SENT, tries: 2 }, 'send', answer('not_sent'))).toEqual(['unknown', 'unknown', 40]);
  });

  it('waits while it must not be sent, and then fails with the reason', () => {
    const failure = { code: 'service_disabled', message: 'Off.' } as const;
    expect(heldStep(READY, failure, TRAITS, T)).toMatchObject({ status: 'ready', nextAt: T + 5000, effect: null });
    expect(heldStep(READY, failure, TRAITS, T + 58_000)).toMatchObject({ nextAt: T + 60_000 });
    expect(heldStep(READY, failure, TRAITS, T + 60_000)).toMatchObject({ status: 'failed', effect: 'fail', failure });
    expect(unreachable(READY).code).toBe('processor_unavailable');
  });

  it('waits just as long before a second send, if the processor has proved that the order was not executed', () => {
    const traits = { ...TRAITS, canResend: true, keyMemorySeconds: 3600 };
    // Long after the transfer was created.
    const later = T + 30 * MINUTE;
    let attempt: Attempt = { ...READY, tries: 1, sentAt: T };
    let now = later;
    for (;;) {
      const step = heldStep(attempt, unreachable(attempt), traits, now);
      attempt = { ...attempt, ...step };
      if (step.nextAt === null) {
        const message = expect.stringContaining(
          'It did not execute the order, and could not be reached when the order had to be sent again.',
        );
        expect(step).toMatchObject({ status: 'failed', effect: 'fail', failure: { message } });
        break;
      }
      expect(step).toMatchObject({ status: 'ready', effect: null, tries: 1 });
      now = step.nextAt;
    }
    expect(now - later).toBe(traits.readySeconds * 1000);
    // The processor may have forgotten the key, and could execute the order a second time.
    const forgotten = heldStep({ ...READY, tries: 1, sentAt: T }, unreachable(READY), traits, T + 3_600_000);
    expect(forgotten).toMatchObject({ status: 'failed', effect: 'fail' });
    expect(heldStep({ ...READY, tries: 1, sentAt: T }, unreachable(READY), TRAITS, later)).toMatchObject({
      status: 'failed',
    });
  });

  it('fails if no process sent it in time', () => {
    expect(expiredStep(READY, TRAITS, T + 59_999)).toBeUndefined();
    expect(expiredStep(READY, TRAITS, T + 60_000)).toMatchObject({ status: 'failed', effect: 'fail' });
  });
});

describe('the error of a transfer', () => {
  const messageOf = (said: Answer, attempt = SENT): string | undefined =>
    (nextStep(attempt, 'send', said, TRAITS, T) as Step).failure?.message;

  it('names the code, and the advice', () => {
    const start = "The processor 'simulator' declined the load of 10.00 USD";
    expect(messageOf(answer('declined'))).toBe(`${start}.`);
    expect(messageOf(answer('declined', { code: '51' }))).toBe(`${start} (code 51).`);
    const advice = { code: '05', retryAfterSeconds: 3601 };
    const waits = 'It advises waiting 2 h before a new transfer.';
    expect(messageOf(answer('declined', advice))).toBe(`${start} (code 05). ${waits}`);
    expect(messageOf(answer('declined', { retryAfterSeconds: 90 }))).toBe(`${start}. ${waits.replace('2 h', '90 s')}`);
    expect(messageOf(answer('declined', { code: '$1$&' }), { ...SENT, kind: 'pull', currency: 'JPY' })).toBe(
      "The processor 'simulator' declined the unload of 1,000 JPY (code $1$&).",
    );
  });
});

describe('an unknown outcome', () => {
  it('is asked about at growing intervals', () => {
    let attempt: Attempt = { ...UNKNOWN, nextAt: T + 40_000 };
    const pauses: number[] = [];
    for (let look = 0; look < 5; look += 1) {
      const now = attempt.nextAt ?? 0;
      attempt = { ...attempt, ...(nextStep(attempt, 'inquire', answer('unknown'), TRAITS, now) as Step) };
      pauses.push(((attempt.nextAt ?? 0) - now) / 1000);
    }
    expect(pauses).toEqual([80, 180, 600, 1800, 1800]);
  });

  it('needs attention after a day, or sooner if the processor cannot be asked', () => {
    expect(overdueStep(UNKNOWN, TRAITS, T + DAY - 1)).toBeUndefined();
    const attention = { status: 'attention', effect: null, nextAt: null };
    expect(overdueStep(UNKNOWN, TRAITS, T + DAY)).toMatchObject(attention);
    const mute = { ...TRAITS, hasInquiry: false };
    expect(overdueStep(UNKNOWN, mute, T)).toMatchObject(attention);
    expect(overdueStep(PENDING, mute, T)).toMatchObject({ ...attention, effect: 'unknown', unknownSince: T });
    expect(overdueStep(PENDING, TRAITS, T + DAY)).toBeUndefined();
  });

  it('is reversed if the processor cannot be asked', () => {
    const advising: Traits = { ...TRAITS, hasInquiry: false, reversal: 'advice' };
    expect(overdueStep(UNKNOWN, advising, T)).toMatchObject({ status: 'reversing', nextAt: T, effect: null });
  });

  it('results from the loss of a process', () => {
    expect(lostStep(SENT, TRAITS, NOT_AFTER)).toMatchObject({ status: 'unknown', effect: 'unknown', tries: 1 });
  });

  it('is asked about as soon as the processor must know the outcome, and ends with the answer', () => {
    const lost = nextStep(SENT, 'send', answer('unknown'), TRAITS, T + 5_000) as Step;
    expect(lost).toMatchObject({ status: 'unknown', unknownSince: T + 5_000, nextAt: T + 45_000 });
    const asked = { ...SENT, ...lost };
    expect(overdueStep(asked, TRAITS, T + 45_000)).toBeUndefined();
    for (const outcome of ['approved', 'declined', 'not_executed'] as const) {
      const said = answer(outcome, { code: outcome === 'declined' ? '51' : null });
      expect(isEnded((nextStep(asked, 'inquire', said, TRAITS, T + 45_000) as Step).status), outcome).toBe(true);
    }
  });

  it.each([
    ['it was executed', 'inquire', { hasInquiry: true }, answer('approved')],
    ['it never arrived', 'inquire', { hasInquiry: true }, answer('not_found')],
    ['it can only be reversed', 'reverse', { hasInquiry: false, reversal: 'advice' }, answer('reversed')],
  ] as const)('ends within a minute after the process was killed, if %s', (_, question, known, said) => {
    const traits: Traits = { ...TRAITS, ...known, settleDelaySeconds: 0, notFoundFinalSeconds: 0 };
    let attempt: Attempt = SENT;
    for (let now = NOT_AFTER; !isEnded(attempt.status); now = attempt.nextAt ?? Number.POSITIVE_INFINITY) {
      expect(now).toBeLessThanOrEqual(T + MINUTE);
      const unasked = attempt.status === 'sent' ? lostStep(attempt, traits, now) : overdueStep(attempt, traits, now);
      attempt = { ...attempt, ...(unasked ?? (nextStep(attempt, question, said, traits, now) as Step)) };
    }
  });

  it('can be ended by an operator only once', () => {
    expect(resolvedStep(UNKNOWN, true, 'key')).toMatchObject({
      status: 'approved',
      effect: 'complete',
      resolvedBy: 'key',
    });
    expect(resolvedStep(UNKNOWN, false, 'key')).toMatchObject({ status: 'failed', effect: 'fail' });
    expect(resolvedStep({ ...SENT, status: 'approved' }, false, 'key')).toBeUndefined();
    expect(resolvedStep(SENT, false, 'key')).toBeUndefined();
  });
});

it('treats an approval as a contradiction after an operator has ended a reversal, because the approval may be older', () => {
  const ended = resolvedStep(REVERSING, false, 'key');
  expect(ended).toMatchObject({ status: 'reversed', effect: 'fail' });
  expect(nextStep({ ...REVERSING, ...ended }, 'notice', answer('approved'), TRAITS, T)).toMatchObject({
    kind: 'contradiction',
  });
});

describe('"not found"', () => {
  const missed = answer('not_found');
  const later = T + 61_000;

  it('does not count while the order may still be executed, or before the settling time is over', () => {
    const traits = { ...TRAITS, notFoundFinalSeconds: 0 };
    expect(nextStep({ ...UNKNOWN, misses: 1 }, 'inquire', missed, traits, NOT_AFTER)).toMatchObject({ misses: 0 });
    expect(nextStep({ ...UNKNOWN, misses: 1 }, 'inquire', missed, TRAITS, T + 60_000)).toMatchObject({
      status: 'unknown',
      misses: 0,
      nextAt: T + 61_000,
    });
  });

  it('is final the second time in a row', () => {
    const first = nextStep(UNKNOWN, 'inquire', missed, TRAITS, later) as Step;
    expect(first).toMatchObject({ status: 'unknown', misses: 1, nextAt: later + 2000, effect: null });
    const second = nextStep({ ...UNKNOWN, ...first }, 'inquire', missed, TRAITS, later + 2000);
    expect(second).toMatchObject({ status: 'failed', effect: 'fail', failure: { code: 'processor_unavailable' } });
    const between = nextStep({ ...UNKNOWN, ...first }, 'inquire', answer('unknown'), TRAITS, later) as Step;
    expect(between.misses).toBe(0);
  });

  it('lets the same order be sent once more while the processor knows its key', () => {
    const resending: Traits = { ...TRAITS, canResend: true, keyMemorySeconds: 120 };
    const once = { ...UNKNOWN, misses: 1 };
    expect(nextStep(once, 'inquire', missed, resending, later)).toMatchObject({
      status: 'ready',
      nextAt: later,
      tries: 1,
    });
    expect(nextStep(once, 'inquire', missed, resending, T + 120_000)).toMatchObject({ status: 'failed' });
    expect(nextStep({ ...once, tries: 2 }, 'inquire', missed, resending, later)).toMatchObject({ status: 'failed' });
    expect(expiredStep({ ...once, status: 'ready' }, resending, later)).toBeUndefined();
    expect(expiredStep({ ...once, status: 'ready' }, resending, T + 120_000)).toMatchObject({ status: 'failed' });
  });

  it('needs attention if the order was acknowledged', () => {
    expect(judge({ ...PENDING, misses: 1 }, 'inquire', missed, { now: later })).toEqual(['attention', 'unknown', null]);
    const known = { ...UNKNOWN, misses: 1, processorReference: 'r-1' };
    expect(judge(known, 'inquire', missed, { now: later })).toEqual(['attention', null, null]);
  });

  it('ends a reversal in the same way', () => {
    expect(judge(REVERSING, 'reverse', missed, { now: later })).toEqual(['reversing', null, 2]);
    expect(judge({ ...REVERSING, misses: 1 }, 'reverse', missed, { now: later })).toEqual(['failed', 'fail', null]);
  });
});

describe('an order that the processor has acknowledged without a reference', () => {
  const later = T + DAY;
  const step = (attempt: Attempt, question: Question, said: Answer, now = T) =>
    nextStep(attempt, question, said, { ...TRAITS, canResend: true }, now) as Step;

  it.each([
    ['unknown', answer('declined', { code: '68' }), UNKNOWN, 'inquire', answer('pending')],
    ['reversing', answer('unknown'), REVERSING, 'notice', answer('approved')],
    ['reversing', answer('unknown'), REVERSING, 'reverse', answer('pending')],
  ] as const)('is neither released nor sent again if it is not found: %s, %o', (status, then, first, asked, said) => {
    const acknowledged = { ...first, ...step(first, asked, said) };
    const question = status === 'reversing' ? 'reverse' : 'inquire';
    const known: Attempt = { ...acknowledged, ...step(acknowledged, question, then), lateApprovalAt: null };
    expect(known).toMatchObject({ status, processorReference: null });
    const missed: Attempt = { ...known, ...step(known, question, answer('not_found'), later) };
    expect(missed).toMatchObject({ status, misses: 1 });
    expect(step(missed, question, answer('not_found'), later)).toMatchObject({ status: 'attention', effect: null });
  });
});

it('keeps the number of requests within the stored range while a processor repeats its answer', () => {
  const most = 2 ** 15 - 1;
  for (const [attempt, said] of [
    [PENDING, 'pending'],
    [REVERSING, 'unknown'],
    [UNKNOWN, 'not_found'],
  ] as const) {
    const step = nextStep(
      { ...attempt, looks: most },
      attempt === PENDING ? 'notice' : questionOf(attempt),
      answer(said),
      TRAITS,
      T,
    );
    expect((step as Step).looks).toBeLessThanOrEqual(most);
    expect((step as Step).looks).not.toBe(most);
  }
  function questionOf({ status }: Attempt): Question {
    return status === 'reversing' ? 'reverse' : 'inquire';
  }
});

describe('a reversal', () => {
  it('is repeated after every answer until one acknowledges it', () => {
    for (const outcome of ['approved', 'pending', 'unknown', 'not_sent'] as const) {
      expect(judge(REVERSING, 'reverse', answer(outcome)), outcome).toEqual(['reversing', null, 5]);
    }
    expect(judge({ ...REVERSING, looks: 99 }, 'reverse', answer('unknown'))).toEqual(['reversing', null, 1800]);
    expect(judge(REVERSING, 'notice', answer('approved'))).toEqual(['reversing', null, 5]);
    expect(judge(REVERSING, 'reverse', answer('reversed'))).toEqual(['reversed', 'fail', null]);
  });

  it('completes the transfer if the processor refuses to undo the order, because the money has moved', () => {
    const traits: Traits = { ...TRAITS, hasInquiry: false, reversal: 'request' };
    expect(judge(REVERSING, 'reverse', answer('approved'), { traits })).toEqual(['approved', 'complete', null]);
    for (const question of ['send', 'notice'] as const)
      expect(judge(REVERSING, question, answer('approved'), { traits })).toEqual(['reversing', null, 5]);
    const advising: Traits = { ...traits, reversal: 'advice' };
    expect(judge(REVERSING, 'reverse', answer('approved'), { traits: advising })).toEqual(['reversing', null, 5]);
  });
});

describe('after an attempt has ended', () => {
  it.each([
    ['failed', 'approved', 'late_approval', SENT.amount],
    ['declined', 'approved', 'late_approval', SENT.amount],
    ['reversed', 'approved', 'contradiction', SENT.amount],
    ['approved', 'declined', 'contradiction', 0n],
    ['approved', 'reversed', 'contradiction', 0n],
    ['approved', 'not_executed', 'contradiction', 0n],
    ['approved', 'approved', undefined, 0n],
    ['declined', 'declined', undefined, 0n],
    ['failed', 'pending', undefined, 0n],
    ['approved', 'not_found', undefined, 0n],
  ] as const)('as %s, the answer %s results in: %s', (status, outcome, kind, stated) => {
    const found = judge({ ...SENT, status }, 'notice', answer(outcome));
    expect(found).toEqual(kind && { kind, expected: status, found: outcome, stated });
  });
});

it('an approval withdraws an earlier contradiction, and contradicts a booking against the attempt', () => {
  const contradicted: Attempt = { ...SENT, status: 'approved', contradictedAt: T };
  const undone = { ...contradicted, correctedAmount: -SENT.amount };
  const found = [judge(contradicted, 'notice', answer('approved')), judge(undone, 'notice', answer('approved'))];
  expect(found).toMatchObject([{ kind: 'agreement', stated: SENT.amount }, { kind: 'contradiction' }]);
});

describe('after a late approval, which is in the books', () => {
  it.each(['failed', 'declined'] as const)('of an order with the status %s, a denial is a contradiction', (status) => {
    const late: Attempt = { ...SENT, status, lateApprovalAt: T, breakId: SENT.attemptId };
    for (const outcome of ['declined', 'reversed', 'not_executed'] as const) {
      const found = { kind: 'contradiction', expected: 'approved', found: outcome, stated: 0n };
      expect(judge(late, 'notice', answer(outcome)), outcome).toEqual(found);
    }
    for (const outcome of ['approved', 'pending', 'not_found'] as const) {
      expect(judge(late, 'notice', answer(outcome)), outcome).toBeUndefined();
    }
  });
});

const OUTCOMES = [
  'approved',
  'declined',
  'pending',
  'not_found',
  'reversed',
  'not_executed',
  'not_sent',
  'unknown',
] as const;
const QUESTIONS = ['send', 'inquire', 'reverse', 'notice'] as const;

const someTraits: fc.Arbitrary<Traits> = fc.record({
  hasInquiry: fc.boolean(),
  canResend: fc.boolean(),
  keyMemorySeconds: fc.constantFrom(null, 30, 1800),
  settleDelaySeconds: fc.nat(60),
  notFoundFinalSeconds: fc.nat(120),
  reversal: fc.constantFrom('none', 'request', 'advice'),
  readySeconds: fc.nat(120),
  whenDown: fc.constantFrom('refuse', 'queue'),
  maxInFlight: fc.constant(16),
  settledWithinHours: fc.constant(48),
});

const someAnswer: fc.Arbitrary<Answer> = fc
  .record({
    outcome: fc.constantFrom(...OUTCOMES),
    code: fc.constantFrom(null, '05', '51', '68', '94', '91', 'x'),
    processorReference: fc.constantFrom(null, 'r-1'),
  })
  .map(({ outcome, ...more }) => answer(outcome, more));

const someAttempt: fc.Arbitrary<Attempt> = fc
  .record({
    status: fc.constantFrom(...ATTEMPT_STATUSES),
    tries: fc.nat(2),
    looks: fc.nat(9),
    misses: fc.nat(3),
    acknowledged: fc.boolean(),
    unknownSince: fc.constantFrom(null, T, T - DAY),
    processorReference: fc.constantFrom(null, 'r-1'),
  })
  .map((some) => ({ ...SENT, ...some }));

it('ends an attempt only for a reason, and schedules the next step of every open attempt', () => {
  fc.assert(
    fc.property(
      someAttempt,
      fc.constantFrom(...QUESTIONS),
      someAnswer,
      someTraits,
      fc.integer({ min: 0, max: 200_000 }),
      (attempt, question, said, traits, after) => {
        const now = T + after;
        const step = nextStep(attempt, question, said, traits, now);
        if (step === undefined) return;
        if ('kind' in step) {
          expect(isEnded(attempt.status)).toBe(true);
          return;
        }
        expect(isEnded(attempt.status)).toBe(false);
        expect(step.effect === 'complete').toBe(step.status === 'approved');
        expect(step.effect === 'fail').toBe(hasFailed(step.status));
        expect(step.effect === 'fail').toBe(step.failure !== null);
        if (!isEnded(step.status)) expect(step.nextAt !== null || step.status === 'attention').toBe(true);
        if (step.status === attempt.status) expect(step.looks).not.toBe(attempt.looks);
        if (step.effect !== 'fail') return;
        const isProved = ['declined', 'reversed', 'not_executed'].includes(said.outcome);
        const isUnsent = said.outcome === 'not_sent' && attempt.status === 'sent' && attempt.tries <= 1;
        const finalAt = Math.max(NOT_AFTER, T + traits.notFoundFinalSeconds * 1000);
        const isMissing = said.outcome === 'not_found' && attempt.misses > 0 && now > finalAt;
        expect(isProved || isUnsent || isMissing).toBe(true);
      },
    ),
    { numRuns: 2000 },
  );
});

/** A processor that loses, delays and omits answers, but follows the contract of adapters. */
class Processor {
  executed = false;
  #canExecuteUntil = 0;
  #visibleFrom = 0;
  #lied = false;
  readonly #pick: (bound: number) => number;

  constructor(pick: (bound: number) => number) {
    this.#pick = pick;
  }

  /** Executes some of the orders that may still be executed. */
  work(now: number): void {
    if (now <= this.#canExecuteUntil && this.#pick(3) === 0) this.executed = true;
  }

  send(now: number, { notFoundFinalSeconds }: Traits, notAfter: number): Answer {
    const choice = this.#pick(6);
    if (choice === 0) return answer('not_sent');
    this.#canExecuteUntil = Math.max(this.#canExecuteUntil, notAfter);
    this.#visibleFrom = now + notFoundFinalSeconds * 1000;
    if (choice === 1) return answer('unknown');
    this.work(now);
    if (this.executed) return answer(choice === 2 ? 'unknown' : 'approved');
    if (choice === 3) return this.#refuse('declined');
    if (choice === 4) return this.#refuse('not_executed');
    return answer(choice === 5 ? 'pending' : 'unknown');
  }

  inquire(now: number): Answer {
    this.work(now);
    const choice = this.#pick(4);
    if (choice === 0) return answer('unknown');
    // The processor may fail to find an executed order once. Before its own delay is over, it may fail any number of times.
    const isBlind = now <= this.#visibleFrom || (!this.#lied && choice === 1);
    if (this.executed && !isBlind) return answer('approved');
    if (this.executed) this.#lied ||= now > this.#visibleFrom;
    return answer('not_found');
  }

  reverse(now: number, { reversal }: Traits): Answer {
    this.work(now);
    const choice = this.#pick(4);
    if (choice === 0) return answer('unknown');
    if (choice === 2 && this.executed && reversal === 'request') return answer('approved');
    this.executed = false;
    this.#canExecuteUntil = 0;
    return choice === 1 ? answer('pending') : answer('reversed');
  }

  get canStillExecute(): number {
    return this.#canExecuteUntil;
  }

  #refuse(outcome: 'declined' | 'not_executed'): Answer {
    this.#canExecuteUntil = 0;
    return answer(outcome);
  }
}

it('never releases money that a processor has moved or may still move, and never takes money that it has not moved', () => {
  fc.assert(
    fc.property(someTraits, fc.infiniteStream(fc.nat()), (traits, stream) => {
      const draws = stream[Symbol.iterator]();
      const processor = new Processor((bound) => (draws.next().value ?? 0) % bound);
      let attempt: Attempt = READY;
      let now = T;
      for (let round = 0; round < 60 && !isEnded(attempt.status) && attempt.status !== 'attention'; round += 1) {
        const step = takeStep(attempt, processor, traits, now);
        if (step.effect === 'complete') expect(processor.executed).toBe(true);
        if (step.effect === 'fail') {
          expect(processor.executed).toBe(false);
          expect(processor.canStillExecute).toBeLessThan(now);
        }
        attempt = { ...attempt, ...step };
        now = Math.max(now, attempt.nextAt ?? now);
      }
    }),
    { numRuns: 3000 },
  );

  type Taken = Partial<Attempt> & Pick<Step, 'effect'>;

  function takeStep(attempt: Attempt, processor: Processor, traits: Traits, now: number): Taken {
    const { status } = attempt;
    if (status === 'ready') {
      const expired = expiredStep(attempt, traits, now);
      if (expired !== undefined) return expired;
      const notAfter = now + 30_000;
      const sent = { ...attempt, status: 'sent' as const, tries: attempt.tries + 1, sentAt: now, notAfter };
      return { ...sent, ...stepOf(sent, 'send', processor.send(now, traits, notAfter)) };
    }
    const overdue = overdueStep(attempt, traits, now);
    if (overdue !== undefined) return overdue;
    return status === 'reversing'
      ? stepOf(attempt, 'reverse', processor.reverse(now, traits))
      : stepOf(attempt, 'inquire', processor.inquire(now));

    function stepOf(asked: Attempt, question: Question, said: Answer): Step {
      const step = nextStep(asked, question, said, traits, now);
      if (step === undefined || 'kind' in step) throw new Error('every answer to an open attempt leads to a step');
      return step;
    }
  }
});
