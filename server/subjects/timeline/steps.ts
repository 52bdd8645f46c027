import type { TimelineStep, TimelineStepKind, TransferTimeline } from '../../../contract/look-up/timeline.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { formatMoney, toWire } from '../../../domain/ledger/money.ts';
import { contradictionInWords, type Attempt as ProcessorAttempt } from '../../../domain/processors/attempt.ts';
import { endsInWords } from '../../../domain/transfers/money-sentence.ts';
import type { Reversal } from '../../../domain/transfers/reverse-transfer.ts';
import { statusAt, type Transfer } from '../../../domain/transfers/transfer.ts';
import { toReversalRecord } from '../../calls/records/transfer.ts';
import { type LoggedError, timeOfId } from '../../store/error.ts';
import type { SubjectEvent } from '../../store/events/events-of-subjects.ts';
import type { CausedPosting } from '../../store/ledger/statement.ts';
import type { Attempt } from '../../store/webhooks/attempt.ts';
import type { Wait } from '../../store/webhooks/delivery.ts';
import { TIMELINE_LIMITS, type TimelineFacts } from './read-facts.ts';

/**
 * A step and its time by the database's clock. Steps are ordered by this time, and not by sandbox time. The sandbox's clock may
 * have been moved between two steps, and webhook attempts and errors have no sandbox time.
 */
type Placed = { readonly step: TimelineStep; readonly order: number };

/** The order of steps with the same time. */
const RANKS: readonly TimelineStepKind[] = [
  'request',
  'scheduled',
  'hold',
  'processor',
  'reversal',
  'posting',
  'release',
  'canceled',
  'expired',
  'failed',
  'event',
  'webhook_attempt',
  'webhook_waiting',
  'error',
];

export function stepsOf(facts: TimelineFacts): TimelineStep[] {
  const placed = [
    ...beginning(facts),
    ...executionOf(facts),
    ...facts.processorAttempts.flatMap((attempt) => processorSteps(attempt, facts)),
    ...endingOf(facts),
    ...facts.reversals.flatMap((reversal) => reversalSteps(reversal, facts)),
    ...facts.events.map((event) => eventStep(event, facts)),
    ...facts.attempts.map(attemptStep),
    ...facts.waits.flatMap((wait) => waitStep(wait, facts)),
    ...facts.errors.map(errorStep),
  ];
  return placed
    .toSorted(
      (left, right) => left.order - right.order || RANKS.indexOf(left.step.kind) - RANKS.indexOf(right.step.kind),
    )
    .map(({ step }) => step);
}

type Given = Partial<Omit<TimelineStep, 'at' | 'kind' | 'text'>>;

function place(order: number, at: number, kind: TimelineStepKind, text: string, given: Given = {}): Placed {
  const step: TimelineStep = {
    at: new Date(at).toISOString(),
    kind,
    text,
    amount: null,
    balances: [],
    request_id: null,
    reversal_id: null,
    event_id: null,
    event_type: null,
    webhook_id: null,
    attempt_id: null,
    code: null,
    status: null,
    ...given,
  };
  return { order, step };
}

/** Returns the request, and the schedule or hold that came with it. */
function beginning(facts: TimelineFacts): readonly Placed[] {
  const { transfer } = facts;
  const { createdAt, requestId, scheduledFor } = transfer;
  const order = timeOfId(requestId).getTime();
  const { source, destination } = endsInWords(transfer);
  const amount = toWire(transfer.amount);
  const key = transfer.idempotencyKey === null ? '' : `, with the idempotency key '${transfer.idempotencyKey}'`;
  const request = `The request asked for ${moneyOf(transfer)} from ${source} to ${destination}${key}.`;
  const steps = [place(order, createdAt, 'request', request, { amount, request_id: toWireId('req', requestId) })];
  if (scheduledFor !== null) {
    const text = `The transfer was scheduled for ${momentOf(scheduledFor)}.`;
    steps.push(place(order, createdAt, 'scheduled', text, { amount }));
  } else if (isHeld(facts)) steps.push(place(order, createdAt, 'hold', holdText(transfer), { amount }));
  return steps;
}

/** Returns whether a transfer holds its money before the money moves: for its caller, or for its card's processor. */
function isHeld({ transfer, processorAttempts }: TimelineFacts): boolean {
  return transfer.capture === 'manual' || processorAttempts.length > 0;
}

/** Returns the order to the card's processor and its answers, as far as the attempt still contains them. */
function processorSteps(attempt: ProcessorAttempt, { transfer }: TimelineFacts): readonly Placed[] {
  const { connectorId, tries, sentAt, unknownSince, detail, status, code, processorReference, updatedAt } = attempt;
  // Attempts use the sandbox's clock. The clock can only have been moved before the transfer was created, so the
  // difference at its creation applies to all its attempts.
  const ahead = transfer.createdAt - timeOfId(transfer.requestId).getTime();
  const attemptId = toWireId('pat', attempt.attemptId);
  const step = (at: number, text: string): Placed =>
    place(at - ahead, at, 'processor', text, { attempt_id: attemptId, amount: toWire(attempt.amount) });
  const steps: Placed[] = [];
  if (sentAt !== null) {
    const often = tries > 1 ? `, for the ${tries}th time`.replace('2th', '2nd').replace('3th', '3rd') : '';
    steps.push(step(sentAt, `The order was sent to the processor '${connectorId}'${often}.`));
  }
  if (unknownSince !== null) {
    const why = detail === null ? '.' : `: ${detail}`;
    steps.push(step(unknownSince, `It was unknown what the processor '${connectorId}' had done${why}`));
  }
  const { lateApprovalAt, breakId, lateApprovalSettledAt } = attempt;
  if (lateApprovalAt !== null && breakId !== null) {
    const money = formatMoney(attempt.amount, attempt.currency);
    const which = `(break ${toWireId('brk', breakId)})`;
    const what = `The processor '${connectorId}' said that it had moved ${money} after all`;
    steps.push(step(lateApprovalAt, `${what}${toBeSettled(which, lateApprovalSettledAt)}`));
    if (lateApprovalSettledAt !== null) {
      steps.push(step(lateApprovalSettledAt, `An operator of the service settled the late approval ${which}.`));
    }
  }
  const { contradictedAt, contradiction, contradictionBreakId, contradictionSettledAt } = attempt;
  if (contradictedAt !== null && contradiction !== null && contradictionBreakId !== null) {
    const which = `(break ${toWireId('brk', contradictionBreakId)})`;
    const what = `The processor '${connectorId}' said ${contradictionInWords(contradiction)}, which contradicts the recorded outcome`;
    steps.push(step(contradictedAt, `${what}${toBeSettled(which, contradictionSettledAt)}`));
    if (contradictionSettledAt !== null) {
      steps.push(step(contradictionSettledAt, `An operator of the service settled the contradiction ${which}.`));
    }
  }
  const said = SAID[status];
  if (said === undefined) return steps;
  const facts = [
    ...(code === null ? [] : [`code ${code}`]),
    ...(processorReference === null ? [] : [`its reference is ${processorReference}`]),
  ];
  const by =
    attempt.resolvedBy === null ? `The processor '${connectorId}'` : 'An operator found out that the processor';
  steps.push(step(updatedAt, `${by} ${said}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}.`));
  return steps;
}

/**
 * Returns the last clause of a sentence about a break. Until the break is settled, the clause says that an operator will settle
 * it.
 */
function toBeSettled(which: string, settledAt: number | null): string {
  return settledAt === null ? `. An operator of the service will settle this ${which}.` : ` ${which}.`;
}

/** The processor's answer that an attempt's status implies, or undefined if there is no answer yet. */
const SAID: Readonly<Partial<Record<ProcessorAttempt['status'], string>>> = {
  pending: 'has accepted it and moves the money later',
  approved: 'has moved the money',
  declined: 'has declined it',
  failed: 'has not moved the money',
  reversed: 'has reversed it',
};

/** Returns the hold that a scheduled transfer placed when it was due. */
function executionOf(facts: TimelineFacts): readonly Placed[] {
  const { transfer, events } = facts;
  const { scheduledFor } = transfer;
  if (scheduledFor === null || !isHeld(facts)) return [];
  const event = events.find(({ type }) => type === 'transfer.pending');
  // Without the event, it is unknown whether there was a hold.
  if (event === undefined && transfer.status !== 'pending' && transfer.completedAt === null) return [];
  const at = event?.createdAt.getTime() ?? scheduledFor;
  // Without the event, it is only known that the hold was placed before the capture.
  const captured = events.find(({ type }) => type === 'transfer.completed')?.begunAt.getTime();
  const order = event?.begunAt.getTime() ?? Math.min(at, captured ?? at);
  return [place(order, at, 'hold', holdText(transfer), { amount: toWire(transfer.amount) })];
}

/** Returns the posting of a completed transfer. For other transfers, returns how they ended. */
function endingOf(facts: TimelineFacts): readonly Placed[] {
  const { transfer, events, now } = facts;
  const status = statusAt(transfer, now);
  if (status === 'completed') return completion(facts);
  if (status !== 'canceled' && status !== 'expired' && status !== 'failed') return [];
  const event = events.find(({ type }) => type === `transfer.${status}`);
  const stored = status === 'expired' ? (transfer.expiresAt ?? transfer.updatedAt) : transfer.updatedAt;
  const at = event?.createdAt.getTime() ?? stored;
  const order = event?.begunAt.getTime() ?? at;
  const isReleased = transfer.capture === 'manual' && transfer.scheduledFor === null;
  const released = isReleased ? ` and its hold of ${moneyOf(transfer)} was released` : '';
  if (status === 'failed') {
    const { Code: code = null, Status: http = null, Message: message = '' } = Object(transfer.error);
    const isOfProcessor = facts.processorAttempts.length > 0;
    const why = isOfProcessor
      ? `The transfer failed and its hold of ${moneyOf(transfer)} was released: ${message}`
      : `The transfer was refused when it was due: ${message}`;
    return [place(order, at, 'failed', why, { code, status: http })];
  }
  const text = `The transfer ${status === 'canceled' ? 'was canceled' : 'expired'}${released}.`;
  return [place(order, at, status, text, requestOf(event))];
}

function completion(facts: TimelineFacts): readonly Placed[] {
  const { transfer, events } = facts;
  const { amount, capturedAmount, currency, createdAt, requestId } = transfer;
  const at = transfer.completedAt ?? transfer.updatedAt;
  const isAtOnce = !isHeld(facts) && transfer.scheduledFor === null;
  const event = isAtOnce ? undefined : events.find(({ type }) => type === 'transfer.completed');
  const order = isAtOnce && at === createdAt ? timeOfId(requestId).getTime() : (event?.begunAt.getTime() ?? at);
  const { source, destination } = endsInWords(transfer);
  const text = `${formatMoney(capturedAmount, currency)} moved from ${source} to ${destination}.`;
  const posting = facts.postings.find(({ causeId }) => causeId === transfer.transferId);
  const balances = balancesOf(posting, transfer);
  const of = isAtOnce ? { request_id: toWireId('req', requestId) } : requestOf(event);
  const steps = [place(order, at, 'posting', text, { amount: toWire(capturedAmount), balances, ...of })];
  if (capturedAmount < amount) {
    const rest = amount - capturedAmount;
    const released = `The other ${formatMoney(rest, currency)} of the hold was released.`;
    steps.push(place(order, at, 'release', released, { amount: toWire(rest), ...of }));
  }
  return steps;
}

function reversalSteps(reversal: Reversal, { transfer, postings }: TimelineFacts): readonly Placed[] {
  const order = timeOfId(reversal.requestId).getTime();
  const { source, destination } = endsInWords(transfer);
  const amount = toWire(reversal.amount);
  const money = formatMoney(reversal.amount, reversal.currency);
  const { created_by: creator } = toReversalRecord(reversal);
  const by = /^(key|per)_/.test(creator ?? '') ? ` by ${creator}` : '';
  const reason = reversal.description === null ? '.' : `: ${reversal.description}`;
  const ids = { reversal_id: toWireId('rev', reversal.reversalId), request_id: toWireId('req', reversal.requestId) };
  const posting = postings.find(({ causeId }) => causeId === reversal.reversalId);
  const { createdAt } = reversal;
  return [
    place(order, createdAt, 'reversal', `${money} was reversed${by}${reason}`, { amount, ...ids }),
    place(order, createdAt, 'posting', `${money} reversed: it moved from ${destination} to ${source}.`, {
      amount,
      balances: balancesOf(posting, transfer),
      ...ids,
    }),
  ];
}

/** Returns the balances of the transfer's cards before and after a posting. The balance of the funding account is omitted. */
function balancesOf(posting: CausedPosting | undefined, transfer: Transfer): TimelineStep['balances'] {
  if (posting === undefined) return [];
  const { amount, sourceBalance, destinationBalance } = posting;
  const { type, cardName, destinationCardName } = transfer;
  const ends = type === 'load' ? [null, cardName] : [cardName, type === 'unload' ? null : destinationCardName];
  const [source, destination] = posting.purpose === 'reversal' ? ends.toReversed() : ends;
  const change = (name: string | null | undefined, before: bigint, after: bigint): TimelineStep['balances'] =>
    name === null || name === undefined ? [] : [{ card_id: name, before: toWire(before), after: toWire(after) }];
  return [
    ...change(source, sourceBalance + amount, sourceBalance),
    ...change(destination, destinationBalance - amount, destinationBalance),
  ];
}

function eventStep(event: SubjectEvent, { transfer, reversals }: TimelineFacts): Placed {
  const { eventId, type, subjectId, position, createdAt, begunAt } = event;
  const reversal = reversals.find(({ reversalId }) => toWireId('rev', reversalId) === subjectId);
  // The event of a creation has no separate request id, because the record in the event contains it.
  const isFirst = reversal === undefined && createdAt.getTime() === transfer.createdAt;
  const creator = reversal?.requestId ?? (isFirst ? transfer.requestId : null);
  const text = `The event ${type} was written, at position ${position}.`;
  return place(begunAt.getTime(), createdAt.getTime(), 'event', text, {
    event_id: toWireId('evt', eventId),
    event_type: type,
    ...requestOf({ requestId: event.requestId ?? creator }),
    ...(reversal === undefined ? {} : { reversal_id: subjectId }),
  });
}

/** Returns the id of the request that caused an event, if the event contains it, such as for a capture or a cancellation. */
function requestOf(event: Pick<SubjectEvent, 'requestId'> | undefined): Given {
  const requestId = event?.requestId ?? null;
  return requestId === null ? {} : { request_id: toWireId('req', requestId) };
}

function attemptStep(attempt: Attempt): Placed {
  const { startedAt, milliseconds, succeeded, status, error } = attempt;
  const webhookId = toWireId('wh', attempt.webhookId);
  const answer = status === null ? (error ?? 'no response') : `status ${status}`;
  const result = succeeded ? 'was delivered' : 'was not delivered';
  const text = `${attempt.eventType} ${result} to the webhook ${webhookId}: ${answer} after ${milliseconds} ms, attempt ${attempt.try}.`;
  return place(startedAt, startedAt, 'webhook_attempt', text, {
    event_id: toWireId('evt', attempt.eventId),
    event_type: attempt.eventType,
    webhook_id: webhookId,
    attempt_id: toWireId('att', attempt.attemptId),
    status,
  });
}

/**
 * Returns a step for an event that waits for a webhook. The wait begins at the latest of three times: the event's own time, its
 * last attempt, and the webhook's first failure.
 */
function waitStep(wait: Wait, { events, attempts }: TimelineFacts): readonly Placed[] {
  const event = events.find(({ eventId }) => eventId === wait.eventId);
  if (event === undefined) return [];
  const tried = attempts
    .filter(({ webhookId, eventId }) => webhookId === wait.webhookId && eventId === wait.eventId)
    .map(({ startedAt, milliseconds }) => startedAt + milliseconds);
  const begunAt = event.begunAt.getTime();
  const order = Math.max(begunAt, wait.failingSince ?? begunAt, ...tried);
  const webhookId = toWireId('wh', wait.webhookId);
  const text = `${event.type} is waiting for the webhook ${webhookId}, which is ${stateOf(wait)}.`;
  const ids = { event_id: toWireId('evt', event.eventId), event_type: event.type, webhook_id: webhookId };
  return [place(order, order === begunAt ? event.createdAt.getTime() : order, 'webhook_waiting', text, ids)];
}

function stateOf({ status, failingSince, nextProbeAt }: Wait): string {
  if (status === 'disabled') return 'disabled: nothing is sent to it until it is enabled';
  const since = failingSince === null ? '' : `: it has failed since ${momentOf(failingSince)}`;
  return `paused${since}${nextProbeAt === null ? '' : `, and its oldest event is sent again at ${momentOf(nextProbeAt)}`}`;
}

function errorStep({ requestId, operation, code, status, message }: LoggedError): Placed {
  const at = timeOfId(requestId).getTime();
  const text = `${operation ?? 'A request'} ${status < 500 ? 'was refused' : 'failed'}: ${message}`;
  return place(at, at, 'error', text, { request_id: toWireId('req', requestId), code, status });
}

/** Describes in sentences what may be missing from the timeline. */
export function truncationsOf(facts: TimelineFacts): TransferTimeline['truncated'] {
  const { isCutShort, transfer, postings, reversals, events } = facts;
  const { reversals: mostReversals, duplicates, attempts, waits } = TIMELINE_LIMITS;
  const found: TransferTimeline['truncated'] = [];
  const add = (isMissing: boolean, kind: (typeof found)[number]['kind'], text: string): void => {
    if (isMissing) found.push({ kind, text });
  };
  add(
    isCutShort.reversals,
    'reversal',
    `Only the latest ${mostReversals} reversals are shown. list_reversals has all.`,
  );
  const isPosted = transfer.completedAt !== null;
  const expected = isPosted ? 1 + reversals.length : 0;
  const unfound = 'The balances of some postings were not found. list_postings has the postings of the card.';
  add(postings.length < expected, 'posting', unfound);
  const subjects = new Set(events.map(({ subjectId }) => subjectId));
  const gone = 'Some events were not found: old events are deleted, and new events appear within a second.';
  const isHoldUnknown =
    isPosted &&
    transfer.scheduledFor !== null &&
    transfer.capture === 'manual' &&
    !events.some(({ type }) => type === 'transfer.pending');
  add(subjects.size < 1 + reversals.length || isHoldUnknown, 'event', gone);
  const more = `Only the latest ${attempts} attempts to send events are shown. list_webhook_attempts has all.`;
  add(isCutShort.attempts, 'webhook_attempt', more);
  const held = `Only ${waits} events that wait for webhooks are shown.`;
  add(isCutShort.waits, 'webhook_waiting', held);
  const unseen =
    'There are many errors at that time, and not all were compared. list_errors has the errors of the card.';
  add(isCutShort.errors, 'error', unseen);
  const alike = `Only ${duplicates} transfers of the same type and amount are shown. list_likely_duplicates has all.`;
  add(isCutShort.duplicates, 'likely_duplicate', alike);
  return found;
}

function holdText(transfer: Transfer): string {
  const { source, destination } = endsInWords(transfer);
  return `${moneyOf(transfer)} was held on ${source} for ${destination}${transfer.expiresAt === null ? '' : `, until ${momentOf(transfer.expiresAt)}`}.`;
}

function moneyOf({ amount, currency }: Transfer): string {
  return formatMoney(amount, currency);
}

function momentOf(time: number | null): string {
  return time === null ? 'its end' : new Date(time).toISOString();
}
