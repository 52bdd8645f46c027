// Invariant: Money that a processor may have moved is never released: a time-out, a lost answer or one "not found" does not
//   end an attempt
// Kept by: `nextStep`, the only code that decides what follows from an answer
// Tested by: `domain/processors/next-step.test.ts`, `test/processors`
import type { RefusalCode } from '../error-codes.ts';
import { formatMoney } from '../ledger/money.ts';
import { type Attempt, type AttemptStatus, isEnded, isUnknown, movedInBooks } from './attempt.ts';
import { type Answer, codeOfDecline, type Traits } from './order.ts';

/** The request that the processor answered. A `notice` is different: the processor sends it without a request. */
export type Question = 'send' | 'inquire' | 'reverse' | 'notice';

/** The effect on the transfer: captured, failed with its hold released, outcome unknown, outcome open again, or none. */
export type TransferEffect = 'complete' | 'fail' | 'unknown' | 'open' | null;

/** Why a transfer failed: the content of its error. */
export type Failure = { readonly code: RefusalCode; readonly message: string };

/** The fields of an attempt that a step sets. */
export type AttemptChange = Pick<
  Attempt,
  | 'status'
  | 'tries'
  | 'looks'
  | 'misses'
  | 'acknowledged'
  | 'unknownSince'
  | 'nextAt'
  | 'processorReference'
  | 'code'
  | 'retryAfterSeconds'
  | 'detail'
  | 'resolvedBy'
>;

/** The consequence of an answer: how the attempt changes, and the effect on its transfer. */
export type Step = AttemptChange & { readonly effect: TransferEffect; readonly failure: Failure | null };

/** A contradiction to the books. It arrived after the attempt had ended. */
export type Contradiction = {
  /** `agreement`: the processor withdraws an earlier contradiction. */
  readonly kind: 'late_approval' | 'contradiction' | 'agreement';
  /** The status of the attempt in the books. */
  readonly expected: AttemptStatus;
  /** The processor's answer: an outcome, and other differences. */
  readonly found: string;
  /** The amount that the processor says it has moved, in minor units. Null if that cannot be compared with the books. */
  readonly stated: bigint | null;
};

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR_SECONDS = 3600;

/** Pauses between inquiries about an unknown outcome, in milliseconds, after the connector's own pause. The last one repeats. */
const INQUIRY_PAUSES = [80 * SECOND, 3 * MINUTE, 10 * MINUTE, 30 * MINUTE];

/** Pauses between reversals that were not acknowledged, in milliseconds. The last one repeats forever. */
const REVERSAL_PAUSES = [5 * SECOND, 15 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE];

/** Pauses before the next try to send an order that never left this machine, in milliseconds. */
const SEND_PAUSES = [1 * SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND];

/** Pause before the service checks again whether a held order may be sent. */
const HELD_PAUSE = 5 * SECOND;

/** Pause before the service asks about an order that the processor carries out later, if no notice comes. */
const PENDING_PAUSE = 30 * MINUTE;

/** How long an outcome may be unknown before a person must investigate, in milliseconds. */
const ATTENTION_AFTER = 24 * 60 * MINUTE;

/** Pause between two "not found" answers, the second of them final. */
const SECOND_MISS_PAUSE = 2 * SECOND;

/** The highest number of looks. After that, the number starts at 1 again, because a reversal is repeated forever. */
const MAX_LOOKS = 32_767;

/**
 * The maximum number of times that an attempt is sent. It is sent again only after the processor has proved that it does not know
 * the order.
 */
const MAX_SENDS = 2;

/**
 * Decides what an answer changes, or reports that it contradicts the known outcome. Undefined if it changes nothing.
 *
 * An answer to `send` counts as an answer only while the attempt is `sent`. Once the attempt has been declared lost, a late answer
 * counts as a notice.
 */
export function nextStep(
  attempt: Attempt,
  question: Question,
  answer: Answer,
  traits: Traits,
  now: number,
): Step | Contradiction | undefined {
  if (isEnded(attempt.status)) return contradictionOf(attempt, answer);
  const isReversing = attempt.status === 'reversing';
  const isOurSend = question === 'send' && attempt.status === 'sent';
  switch (answer.outcome) {
    case 'approved':
      // A reversal continues until the processor acknowledges or refuses it. An approval without a request may be older than
      // the reversal.
      return isReversing && !(question === 'reverse' && traits.reversal === 'request')
        ? again(attempt, answer, now)
        : end(attempt, answer, 'approved', 'complete', null);
    case 'declined':
      return declined(attempt, answer, traits, now);
    case 'reversed': {
      const detail = 'The processor answered that a new order is reversed.';
      if (isOurSend) return unknown(attempt, { ...answer, detail }, traits, now);
      return end(attempt, answer, 'reversed', 'fail', failureOf(attempt, 'processor_unavailable', answer, REVERSED));
    }
    case 'not_executed':
      return end(attempt, answer, 'failed', 'fail', failureOf(attempt, 'processor_error', answer, NOT_EXECUTED));
    case 'pending':
      return isReversing ? again(attempt, answer, now) : pending(attempt, answer, now);
    case 'not_sent':
      if (isOurSend) return notSent(attempt, answer, traits, now);
      return isAsked(attempt, question) ? again(attempt, answer, now) : undefined;
    case 'not_found': {
      const detail = 'The processor answered that it does not know a new order.';
      if (isOurSend) return unknown(attempt, { ...answer, detail }, traits, now);
      return isAsked(attempt, question) ? notFound(attempt, answer, traits, now) : undefined;
    }
    case 'unknown':
      if (isOurSend) return unknown(attempt, answer, traits, now);
      return isAsked(attempt, question) ? again(attempt, answer, now) : undefined;
  }
}

/** Whether the question fits the current state of the attempt. */
function isAsked({ status }: Attempt, question: Question): boolean {
  if (question === 'reverse') return status === 'reversing';
  return question === 'inquire' && (status === 'unknown' || status === 'pending');
}

/**
 * The step for a `sent` attempt whose process has ended. The outcome is unknown, and the order is not sent again until the
 * processor has been asked.
 */
export function lostStep(attempt: Attempt, traits: Traits, now: number): Step {
  const detail = 'The process that sent the order ended before it had an answer.';
  return unknown(attempt, { ...NO_ANSWER, detail }, traits, now);
}

/**
 * The step that is due because time has passed, before the processor is asked again. An order with an unknown outcome
 * is reversed if the processor cannot be asked, and otherwise needs attention after some time. Undefined if the processor must be
 * asked.
 */
export function overdueStep(attempt: Attempt, traits: Traits, now: number): Step | undefined {
  const { status, unknownSince } = attempt;
  if (status === 'pending') {
    if (traits.hasInquiry) return undefined;
    // Only a notice can end this attempt. If none has come, a person must investigate.
    const change = { status: 'attention' as const, unknownSince: now, nextAt: null, detail: NO_NOTICE };
    return { ...keep(attempt), ...change, effect: 'unknown', failure: null };
  }
  if (status !== 'unknown') return undefined;
  if (!traits.hasInquiry && traits.reversal !== 'none') {
    return { ...keep(attempt), status: 'reversing', looks: 0, misses: 0, nextAt: now, effect: null, failure: null };
  }
  const isTooOld = now - (unknownSince ?? now) >= ATTENTION_AFTER;
  if (traits.hasInquiry && !isTooOld) return undefined;
  return { ...keep(attempt), status: 'attention', nextAt: null, effect: null, failure: null };
}

/** The step for a `ready` attempt that may no longer be sent. */
export function refusedStep(attempt: Attempt, failure: Failure): Step {
  return { ...keep(attempt), status: 'failed', nextAt: null, effect: 'fail', failure };
}

/**
 * The step for a `ready` attempt that may not be sent now. It waits, and fails with the reason if it has waited too long. An
 * attempt that was sent before is `ready` again if the processor has proved that it did not execute the order and no longer can. Such an
 * attempt is sent again only while the processor still knows its key.
 */
export function heldStep(attempt: Attempt, failure: Failure, traits: Traits, now: number): Step {
  const until = attempt.createdAt + traits.readySeconds * SECOND;
  // The start of this wait is not stored, but the number of pauses since then is.
  const pauses = nextLook(attempt);
  const isOver =
    attempt.tries === 0
      ? now >= until
      : !canResend(attempt, traits, now) || pauses * HELD_PAUSE > traits.readySeconds * SECOND;
  if (isOver) return refusedStep(attempt, failure);
  const nextAt = attempt.tries === 0 ? earlier(now + HELD_PAUSE, until) : now + HELD_PAUSE;
  return { ...keep(attempt), looks: nextLook(attempt), nextAt, effect: null, failure: null };
}

/** The step for a `ready` attempt that has become too old to be sent, or undefined if it may be sent. */
export function expiredStep(attempt: Attempt, traits: Traits, now: number): Step | undefined {
  if (attempt.tries === 0) {
    if (now < attempt.createdAt + traits.readySeconds * SECOND) return undefined;
    return refusedStep(attempt, failureOf(attempt, 'processor_unavailable', NO_ANSWER, TOO_LATE));
  }
  if (canResend(attempt, traits, now)) return undefined;
  return refusedStep(attempt, failureOf(attempt, 'processor_unavailable', NO_ANSWER, NOT_EXECUTED));
}

/** The failure of an order whose processor could not be reached in time. */
export function unreachable(attempt: Attempt): Failure {
  const sentence = attempt.tries === 0 ? NOT_REACHED : NOT_REACHED_AGAIN;
  return failureOf(attempt, 'processor_unavailable', NO_ANSWER, sentence);
}

/** The step for an operator who knows what the processor did, or undefined if there is nothing to resolve. */
export function resolvedStep(attempt: Attempt, wasExecuted: boolean, by: string): Step | undefined {
  if (!isUnknown(attempt.status) && attempt.status !== 'pending') return undefined;
  const common = { ...keep(attempt), nextAt: null, resolvedBy: by };
  if (wasExecuted) return { ...common, status: 'approved', effect: 'complete', failure: null };
  const failure = failureOf(attempt, 'processor_error', NO_ANSWER, 'An operator found out that it was not executed.');
  // The order may have been executed before its reversal, so a later approval may be older than the reversal.
  return { ...common, status: attempt.status === 'reversing' ? 'reversed' : 'failed', effect: 'fail', failure };
}

const NO_ANSWER: Answer = {
  outcome: 'unknown',
  processorReference: null,
  code: null,
  retryAfterSeconds: null,
  detail: null,
};

const REVERSED = 'The processor did not say in time what became of the order, and has reversed the order.';
const NOT_EXECUTED = 'The processor did not execute the order.';
const NOT_REACHED = 'It could not be reached, and nothing was sent to it.';
const NOT_REACHED_AGAIN = 'It did not execute the order, and could not be reached when the order had to be sent again.';
const TOO_LATE = 'It could not be sent in time, and nothing was sent.';
const NO_NOTICE =
  'The processor said that it would carry out the order later. It cannot be asked about the order, and has sent no notice.';
const FORGOTTEN = 'The processor answered that it does not know an order that it has acknowledged before.';

/** Answers that say that the processor has not moved the money. */
const MOVED_NOTHING: readonly string[] = ['declined', 'reversed', 'not_executed'];

/** The amount that a processor says it has moved, in minor units. Null if the answer does not say how much. */
export function statedBy(outcome: string, amount: bigint): bigint | null {
  if (outcome === 'approved') return amount;
  return MOVED_NOTHING.includes(outcome) ? 0n : null;
}

function contradictionOf(attempt: Attempt, { outcome }: Answer): Contradiction | undefined {
  const { status, lateApprovalAt, correctedAmount } = attempt;
  const stated = statedBy(outcome, attempt.amount);
  if (stated === null) return undefined;
  const booked = movedInBooks(attempt);
  const found = { expected: booked === 0n ? status : ('approved' as const), found: outcome, stated };
  if (stated === booked) return attempt.contradictedAt === null ? undefined : { kind: 'agreement', ...found };
  // An approval from before the reversal moved nothing. A person finds out whether this one came after it.
  const isLate = booked === 0n && lateApprovalAt === null && correctedAmount === 0n && status !== 'reversed';
  return { kind: isLate ? 'late_approval' : 'contradiction', ...found };
}

function declined(attempt: Attempt, answer: Answer, traits: Traits, now: number): Step {
  const code = codeOfDecline(answer.code);
  if (code !== null) {
    return end(attempt, answer, 'declined', 'fail', failureOf(attempt, code, answer, adviceOf(answer)));
  }
  // The processor does not know the outcome either, or has seen the order before.
  return isUnknown(attempt.status) ? again(attempt, answer, now) : unknown(attempt, answer, traits, now);
}

function adviceOf({ retryAfterSeconds: seconds }: Answer): string {
  if (seconds === null) return '';
  const time = seconds < HOUR_SECONDS ? `${seconds} s` : `${hoursOf(seconds)} h`;
  return `It advises waiting ${time} before a new transfer.`;
}

/** A time in seconds as hours, rounded up. */
function hoursOf(seconds: number): number {
  const rest = seconds % HOUR_SECONDS;
  return (seconds - rest) / HOUR_SECONDS + (rest === 0 ? 0 : 1);
}

/** The processor's failure, by error code. Each wording is different, so that a search for a pasted message finds its code. */
const FAILED_ACTIONS: Readonly<Partial<Record<RefusalCode, string>>> = {
  processor_error: 'could not carry out',
  processor_unavailable: 'was not available for',
};

/** The error of a transfer: the failed action, the processor's code, and other known facts. */
function failureOf(attempt: Attempt, code: RefusalCode, answer: Pick<Answer, 'code'>, sentence: string): Failure {
  const what = attempt.kind === 'push' ? 'load' : 'unload';
  const money = formatMoney(attempt.amount, attempt.currency);
  const named = answer.code === null ? '' : ` (code ${answer.code})`;
  const message = `The processor '${attempt.connectorId}' ${FAILED_ACTIONS[code] ?? 'declined'} the ${what} of ${money}${named}.`;
  return { code, message: sentence === '' ? message : `${message} ${sentence}` };
}

function end(
  attempt: Attempt,
  answer: Answer,
  status: AttemptStatus,
  effect: TransferEffect,
  failure: Failure | null,
): Step {
  const { code, retryAfterSeconds, detail } = answer;
  const facts = { ...learned(attempt, answer), code, retryAfterSeconds, detail, status, nextAt: null };
  return { ...keep(attempt), ...facts, effect, failure };
}

function pending(attempt: Attempt, answer: Answer, now: number): Step {
  const effect = attempt.unknownSince === null ? null : 'open';
  const looks = attempt.status === 'pending' ? nextLook(attempt) : 0;
  const change = { status: 'pending' as const, looks, misses: 0, unknownSince: null, nextAt: now + PENDING_PAUSE };
  return { ...keep(attempt), ...learned(attempt, answer), ...change, acknowledged: true, effect, failure: null };
}

/** The step after a try that sent nothing. The outcome is then known, unless the order was sent in an earlier try. */
function notSent(attempt: Attempt, answer: Answer, traits: Traits, now: number): Step {
  if (attempt.tries > 1) return unknown(attempt, answer, traits, now);
  const pause = at(SEND_PAUSES, attempt.looks);
  const change = { tries: 0, looks: nextLook(attempt), detail: answer.detail };
  if (now + pause < attempt.createdAt + traits.readySeconds * SECOND) {
    return { ...keep(attempt), ...change, status: 'ready', nextAt: now + pause, effect: null, failure: null };
  }
  return { ...keep(attempt), ...change, status: 'failed', nextAt: null, effect: 'fail', failure: unreachable(attempt) };
}

function unknown(attempt: Attempt, answer: Answer, traits: Traits, now: number): Step {
  const change = {
    status: 'unknown' as const,
    looks: 0,
    misses: 0,
    unknownSince: attempt.unknownSince ?? now,
    nextAt: now + traits.settleDelaySeconds * SECOND,
    detail: answer.detail,
  };
  const effect = attempt.unknownSince === null ? ('unknown' as const) : null;
  return { ...keep(attempt), ...learned(attempt, answer), ...change, effect, failure: null };
}

/** The step after an answer without news: the service asks again later. */
function again(attempt: Attempt, answer: Answer, now: number): Step {
  const pauses = attempt.status === 'reversing' ? REVERSAL_PAUSES : INQUIRY_PAUSES;
  const pause = attempt.status === 'pending' ? PENDING_PAUSE : at(pauses, attempt.looks);
  const nextAt = attempt.status === 'attention' ? null : now + pause;
  const acknowledged = attempt.acknowledged || answer.outcome === 'approved' || answer.outcome === 'pending';
  const detail = answer.detail ?? attempt.detail;
  const change = { looks: nextLook(attempt), misses: 0, acknowledged, nextAt, detail };
  return { ...keep(attempt), ...learned(attempt, answer), ...change, effect: null, failure: null };
}

/**
 * "Not found" counts only after the time in the traits, and after the order may no longer be executed. Until then the order may
 * still be on its way. The second "not found" in a row is final, but only if the processor never acknowledged the order.
 */
function notFound(attempt: Attempt, answer: Answer, traits: Traits, now: number): Step {
  const { sentAt, notAfter } = attempt;
  const countsFrom = later((sentAt ?? now) + traits.notFoundFinalSeconds * SECOND, notAfter ?? now);
  const change = { looks: nextLook(attempt), detail: answer.detail ?? attempt.detail };
  if (now <= countsFrom) {
    const pauses = attempt.status === 'reversing' ? REVERSAL_PAUSES : INQUIRY_PAUSES;
    // Asks again as soon as an answer "not found" can count.
    const nextAt = earlier(now + at(pauses, attempt.looks), countsFrom + SECOND);
    return { ...keep(attempt), ...change, misses: 0, nextAt, effect: null, failure: null };
  }
  const misses = attempt.misses + 1;
  if (misses < 2) {
    return { ...keep(attempt), ...change, misses, nextAt: now + SECOND_MISS_PAUSE, effect: null, failure: null };
  }
  if (attempt.acknowledged || attempt.status === 'pending' || attempt.processorReference !== null) {
    const effect = attempt.unknownSince === null ? 'unknown' : null;
    const unknownSince = attempt.unknownSince ?? now;
    const facts = { ...change, misses, unknownSince, detail: FORGOTTEN, nextAt: null };
    return { ...keep(attempt), ...facts, status: 'attention', effect, failure: null };
  }
  if (attempt.status === 'unknown' && canResend(attempt, traits, now)) {
    return { ...keep(attempt), status: 'ready', looks: 0, misses: 0, nextAt: now, effect: null, failure: null };
  }
  return end(attempt, answer, 'failed', 'fail', failureOf(attempt, 'processor_unavailable', answer, NOT_EXECUTED));
}

/**
 * Whether an order that the processor provably does not know may be sent again: only once, and only while the processor still
 * knows the key.
 */
function canResend({ tries, sentAt }: Attempt, { canResend: can, keyMemorySeconds }: Traits, now: number): boolean {
  const isKnown = keyMemorySeconds === null || now < (sentAt ?? now) + keyMemorySeconds * SECOND;
  return can && tries < MAX_SENDS && isKnown;
}

/**
 * The number of the next look. It differs from the previous number, so that other processes notice that the attempt has changed.
 */
function nextLook({ looks }: Attempt): number {
  return looks >= MAX_LOOKS ? 1 : looks + 1;
}

function keep(attempt: Attempt): AttemptChange {
  const { status, tries, looks, misses, acknowledged, unknownSince, nextAt, ...rest } = attempt;
  const { processorReference, code, retryAfterSeconds, detail, resolvedBy } = rest;
  const facts = { processorReference, code, retryAfterSeconds, detail, resolvedBy };
  return { status, tries, looks, misses, acknowledged, unknownSince, nextAt, ...facts };
}

function learned(attempt: Attempt, answer: Answer): Partial<AttemptChange> {
  return {
    processorReference: answer.processorReference ?? attempt.processorReference,
    code: answer.code ?? attempt.code,
    retryAfterSeconds: answer.retryAfterSeconds ?? attempt.retryAfterSeconds,
  };
}

function at(pauses: readonly number[], index: number): number {
  return pauses[index] ?? pauses.at(-1) ?? MINUTE;
}

function earlier(one: number, other: number): number {
  return one < other ? one : other;
}

function later(one: number, other: number): number {
  return one > other ? one : other;
}
