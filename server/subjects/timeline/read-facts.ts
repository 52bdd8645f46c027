import { DUPLICATE_WINDOW_SECONDS } from '../../../contract/look-up/timeline.ts';
import { toWireId } from '../../../domain/identifier.ts';
import type { Attempt as ProcessorAttempt } from '../../../domain/processors/attempt.ts';
import type { Reversal } from '../../../domain/transfers/reverse-transfer.ts';
import type { Transfer } from '../../../domain/transfers/transfer.ts';
import { readRows, toOperationFailure } from '../../calls/read-rows.ts';
import { readInTurn, type TurnCall } from '../../calls/turns.ts';
import type { Database, Row, Statement } from '../../store/connection/database.ts';
import { type LoggedError, readErrorsAbout, timeOfId, toErrorsAbout } from '../../store/error.ts';
import { type EventMoment, readEventsOfSubjects, type SubjectEvent } from '../../store/events/events-of-subjects.ts';
import { type CausedPosting, readPostingsOfCauses, toCausedPostings } from '../../store/ledger/statement.ts';
import { readAttemptsOfTransfer, toAttempt as toProcessorAttempt } from '../../store/processors/attempt.ts';
import { readTransfersAlike, toTransfersAlike } from '../../store/transfers/likely-duplicates.ts';
import { listReversals, readTransfers, toReversal, toTransfer } from '../../store/transfers/transfer.ts';
import { type Attempt, readAttemptsOfEvents, toAttempt } from '../../store/webhooks/attempt.ts';
import { readWaitsOfEvents, toWait, type Wait } from '../../store/webhooks/delivery.ts';

export const TIMELINE_LIMITS = {
  reversals: 50,
  attemptsOfEvent: 50,
  attempts: 200,
  waits: 50,
  errors: 50,
  duplicates: 10,
} as const;

export type TimelineFacts = {
  readonly transfer: Transfer;
  /** The service's time, in milliseconds since 1970. */
  readonly now: number;
  /** The orders to the card's processor, oldest first. */
  readonly processorAttempts: readonly ProcessorAttempt[];
  /** Oldest first. */
  readonly reversals: readonly Reversal[];
  readonly postings: readonly CausedPosting[];
  readonly events: readonly SubjectEvent[];
  readonly attempts: readonly Attempt[];
  /** Events that wait for paused or disabled webhooks. */
  readonly waits: readonly Wait[];
  readonly errors: readonly LoggedError[];
  readonly duplicates: readonly Transfer[];
  /** The kinds of facts that were cut short, so there may be more. */
  readonly isCutShort: {
    readonly reversals: boolean;
    readonly attempts: boolean;
    readonly waits: boolean;
    readonly errors: boolean;
    readonly duplicates: boolean;
  };
};

/** Operations whose errors name the transfer, but not its card. */
const ACTIONS = ['capture_transfer', 'cancel_transfer', 'reverse_transfer', 'update_transfer'] as const;

const SECOND = 1000;

/** Every request gets its response within 5 s, so its transaction has begun by then. The rest allows for clock differences. */
const LONGEST_REQUEST = 10 * SECOND;

/** Maximum normal delay of the job that releases expired holds and executes scheduled transfers. */
const JOB_DELAY = 10 * SECOND;

/** All times of one decision differ by less than this. */
const SAME_MOMENT = SECOND;

const DAY = 24 * 60 * 60 * SECOND;

/** Limits of two searches: for transactions that may contain the events of one moment, and for lines of a posting. */
const PLACES = { maxExamined: 5000, count: 20 } as const;
const POSTING_LOOK = 300;

/** Maximum number of errors that are compared, from the oldest and from the newest, for the card and for each action. */
const MAX_ERRORS_EXAMINED = 500;

/** Maximum number of transfers of the card that are compared with this one. */
const MAX_DUPLICATES_EXAMINED = 5000;

/**
 * Reads everything stored about a transfer. Each statement is limited and waits for its turn among the long reads, so that requests
 * that move money always find a connection.
 */
export async function readFacts(database: Database, call: TurnCall, transfer: Transfer): Promise<TimelineFacts> {
  const read = (statement: Statement): Promise<readonly Row[]> => readInTurn(call, () => readRows(database, statement));
  const { reversals, isCutShort } = await findReversals(transfer, read);
  const asked = (await read(readAttemptsOfTransfer(transfer.programId, transfer.transferId))).map(toProcessorAttempt);
  const [postings, events, about, alike] = await Promise.all([
    findPostings(transfer, reversals, read),
    findEvents(database, call, transfer, { reversals, asked }),
    findErrors(transfer, read),
    findDuplicates(transfer, read),
  ]);
  // Waits are read first. An event that is sent in the meantime is then shown twice instead of being left out.
  const waits = await findWaits(transfer.programId, events, read);
  const found = await findAttempts(events, read);
  return {
    transfer,
    now: alike.now,
    processorAttempts: asked,
    reversals,
    postings,
    events,
    attempts: found.attempts,
    waits: waits.slice(0, TIMELINE_LIMITS.waits),
    errors: about.errors,
    duplicates: alike.duplicates,
    isCutShort: {
      reversals: isCutShort,
      attempts: found.isCutShort,
      waits: waits.length > TIMELINE_LIMITS.waits,
      errors: about.isCutShort,
      duplicates: alike.duplicates.length === TIMELINE_LIMITS.duplicates,
    },
  };
}

type Read = (statement: Statement) => Promise<readonly Row[]>;

/** Returns the reversals up to the time when the transfer was read. */
async function findReversals(
  transfer: Transfer,
  read: Read,
): Promise<{ readonly reversals: readonly Reversal[]; readonly isCutShort: boolean }> {
  if (transfer.reversedAmount === 0n) return { reversals: [], isCutShort: false };
  const rows = await read(listReversals(transfer, null, TIMELINE_LIMITS.reversals + 1));
  const isCutShort = rows.length > TIMELINE_LIMITS.reversals;
  const reversals = rows.slice(0, TIMELINE_LIMITS.reversals).map(toReversal);
  let sum = reversals.reduce((total, { amount }) => total + amount, 0n);
  while (sum > transfer.reversedAmount) sum -= reversals.shift()?.amount ?? sum;
  return { reversals: reversals.toReversed(), isCutShort };
}

async function findPostings(
  transfer: Transfer,
  reversals: readonly Reversal[],
  read: Read,
): Promise<readonly CausedPosting[]> {
  const { programId, transferId, cardId, completedAt } = transfer;
  if (completedAt === null) return [];
  const causes = [
    { causeId: transferId, moment: new Date(completedAt) },
    ...reversals.map(({ reversalId, createdAt }) => ({ causeId: reversalId, moment: new Date(createdAt) })),
  ];
  return toCausedPostings(await read(readPostingsOfCauses(programId, cardId, causes, POSTING_LOOK)));
}

async function findEvents(
  database: Database,
  call: TurnCall,
  transfer: Transfer,
  { reversals, asked }: { readonly reversals: readonly Reversal[]; readonly asked: readonly ProcessorAttempt[] },
): Promise<readonly SubjectEvent[]> {
  const { programId, transferId } = transfer;
  const subjects = [toWireId('tr', transferId), ...reversals.map(({ reversalId }) => toWireId('rev', reversalId))];
  const unknown = asked.flatMap(({ unknownSince: since }) =>
    since === null ? [] : [ofTime(since, since + JOB_DELAY)],
  );
  const late = asked.flatMap(({ lateApprovalAt: at }) => (at === null ? [] : [ofTime(at, at)]));
  const moments = [...momentsOf(transfer, reversals), ...unknown, ...late];
  try {
    return await readInTurn(call, () => readEventsOfSubjects(database, programId, subjects, moments, PLACES));
  } catch (error) {
    throw toOperationFailure(error);
  }
}

/** Returns the distinct times of the actions that have an event. */
function momentsOf(transfer: Transfer, reversals: readonly Reversal[]): readonly EventMoment[] {
  const { createdAt, completedAt, updatedAt, scheduledFor, expiresAt, status, requestId } = transfer;
  const moments = [ofRequest(requestId, createdAt)];
  for (const reversal of reversals) moments.push(ofRequest(reversal.requestId, reversal.createdAt));
  const known = new Set([createdAt, ...reversals.map((reversal) => reversal.createdAt)]);
  for (const moment of [completedAt, updatedAt]) {
    if (moment === null || known.has(moment)) continue;
    known.add(moment);
    moments.push(ofTime(moment, moment));
  }
  if (scheduledFor !== null && status !== 'scheduled') moments.push(ofTime(scheduledFor, scheduledFor + JOB_DELAY));
  if (expiresAt !== null && status === 'expired') moments.push(ofTime(expiresAt, expiresAt + JOB_DELAY));
  return moments;
}

function ofRequest(requestId: string, decidedAt: number): EventMoment {
  const begun = timeOfId(requestId).getTime();
  return {
    earliest: new Date(begun - SECOND),
    latest: new Date(begun + LONGEST_REQUEST),
    isServiceTime: false,
    since: new Date(decidedAt - SAME_MOMENT),
    until: new Date(decidedAt + SAME_MOMENT),
  };
}

function ofTime(from: number, to: number): EventMoment {
  return {
    earliest: new Date(from - LONGEST_REQUEST),
    latest: new Date(to + SECOND),
    isServiceTime: true,
    since: new Date(from - SAME_MOMENT),
    until: new Date(to + SAME_MOMENT),
  };
}

async function findErrors(transfer: Transfer, read: Read): Promise<ReturnType<typeof toErrorsAbout>> {
  const { programId, transferId, cardName, requestId } = transfer;
  const about = {
    programId,
    transferId,
    cardName,
    key: transfer.idempotencyKey,
    operations: ACTIONS,
    since: new Date(timeOfId(requestId).getTime() - DAY),
    maxExamined: MAX_ERRORS_EXAMINED,
    count: TIMELINE_LIMITS.errors + 1,
  };
  const { errors, isCutShort } = toErrorsAbout(await read(readErrorsAbout(about)), about);
  const shown = errors.slice(0, TIMELINE_LIMITS.errors);
  return { errors: shown, isCutShort: isCutShort || shown.length < errors.length };
}

async function findDuplicates(
  transfer: Transfer,
  read: Read,
): Promise<{ readonly duplicates: readonly Transfer[]; readonly now: number }> {
  const bounds = {
    windowSeconds: DUPLICATE_WINDOW_SECONDS,
    maxExamined: MAX_DUPLICATES_EXAMINED,
    count: TIMELINE_LIMITS.duplicates,
  };
  const { ids, now } = toTransfersAlike(await read(readTransfersAlike(transfer, bounds)));
  const rows = ids.length === 0 ? [] : await read(readTransfers(transfer.programId, ids));
  return { duplicates: rows.map(toTransfer).toSorted((left, right) => left.createdAt - right.createdAt), now };
}

async function findAttempts(
  events: readonly SubjectEvent[],
  read: Read,
): Promise<{ readonly attempts: readonly Attempt[]; readonly isCutShort: boolean }> {
  if (events.length === 0) return { attempts: [], isCutShort: false };
  const { attemptsOfEvent, attempts: most } = TIMELINE_LIMITS;
  // Limits the partitions that are read: an event is never sent before its transaction begins.
  const since = new Date(Math.min(...events.map(({ begunAt }) => begunAt.getTime())) - SECOND);
  const ids = events.map(({ eventId }) => eventId);
  const found = (await read(readAttemptsOfEvents(ids, since, attemptsOfEvent + 1))).map(toAttempt);
  const isOneCut = [...Map.groupBy(found, ({ eventId }) => eventId).values()].some(
    ({ length }) => length > attemptsOfEvent,
  );
  const attempts = found.toSorted((left, right) => left.startedAt - right.startedAt).slice(-most);
  return { attempts, isCutShort: isOneCut || attempts.length < found.length };
}

async function findWaits(programId: string, events: readonly SubjectEvent[], read: Read): Promise<readonly Wait[]> {
  if (events.length === 0) return [];
  const sent = events.map(({ eventId, type: eventType, position }) => ({ eventId, eventType, position }));
  return (await read(readWaitsOfEvents({ sent, programId, count: TIMELINE_LIMITS.waits + 1 }))).map(toWait);
}
