import { hash } from 'node:crypto';
import type { CardErasureRecord } from '../../../contract/cards.ts';
import { isAboutCard, refuseErasure, withoutHolder } from '../../../domain/cards/card.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import type { Call, Reply, Service } from '../../calls/call.ts';
import { readRows } from '../../calls/read-rows.ts';
import { toCardRecord } from '../../calls/records/card.ts';
import { transact } from '../../commit/transaction.ts';
import { transactUnderKey } from '../../commit/under-key.ts';
import { expireApprovalsAbout } from '../../store/approval.ts';
import { readCardDetails, toCardDetails } from '../../store/card.ts';
import {
  type CardErasure,
  completeErasure,
  ERASURE_STEPS,
  type ErasureProgress,
  eraseAnswers,
  eraseErrors,
  eraseHolderOfCard,
  eraseMetadata,
  eraseResponses,
  eraseReversals,
  eraseTransfers,
  type FoundEvent,
  insertErasure,
  lockAccountOfCard,
  lockErasure,
  lockTransfersOfCard,
  moveErasure,
  postponeErasure,
  raiseVersionOfCard,
  readDueErasures,
  readErasure,
  readEventsOfCard,
  rereadWebhooks,
  toErasedErrors,
  toErasure,
  toFoundEvents,
  writePayloads,
} from '../../store/cards/card-erasure.ts';
import type { Database, Statement, Steps } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { eventIdOf } from '../../store/events/read-events.ts';
import { lockAccounts } from '../../store/ledger/account.ts';
import { eraseNotesOfAttempts, eraseNotesOfBreaks } from '../../store/processors/notes.ts';
import { eraseTextsOfCases, toLastCase } from '../../store/support/case.ts';
import { auditOf } from '../audit/audit.ts';

/**
 * erase_card_holder: returns the progress of the erasure. The first request erases the fields of the card and records the erasure.
 * A job erases the rest (`eraseInBatches`). Later requests change nothing.
 */
export async function eraseCardHolder(
  service: Service,
  call: Call<'erase_card_holder'>,
): Promise<Reply<'erase_card_holder'>> {
  const { programId } = call;
  const { card_id: cardName } = call.params;
  const named = { programId, cardName };
  return transactUnderKey(service, call, {
    programId,
    load: {
      lockAccounts: lockAccounts([{ programId, name: cardName, withFunding: false }], []),
      card: readCardDetails(programId, cardName),
      erasure: readErasure(named),
    },
    decide: ({ card: [row], erasure: [known] }, { batchId, now }) => {
      const details = row && toCardDetails(row);
      const refusal = refuseErasure(cardName, details?.card);
      if (refusal !== undefined) throw refusal;
      if (details === undefined) throw new Error('the card whose holder is being erased does not exist');
      const { cardId } = details.card;
      if (known !== undefined) return { record: toErasureRecord(toErasure(known)), subjectId: cardId, writes: [] };
      const { holderReference, createdAt } = details;
      const requestedAt = new Date(now);
      const begun = { ...named, cardId, requestedAt, completedAt: null, transfers: 0, events: 0, errors: 0 };
      const record = toErasureRecord(begun);
      const nothing = { holderReference: null, lastFour: null, metadata: {} };
      const erased = toCardRecord({ ...details, ...nothing, updatedAt: requestedAt });
      const event = {
        type: 'card.erased' as const,
        programId,
        subjectId: cardName,
        payload: JSON.stringify(erased),
      };
      const writes = [
        eraseHolderOfCard({ programId, cardId, updatedAt: requestedAt }),
        insertErasure({
          ...begun,
          createdAt,
          holderHash: holderReference === null ? null : hash('sha256', holderReference),
        }),
        insertEvents(batchId, [event], now, call),
        ...auditOf(call, { programId, subjectId: cardName, details: JSON.stringify(record) }),
      ];
      return { record, subjectId: cardId, writes };
    },
    recall: async () => {
      const [row] = await readRows(service.database, readErasure(named));
      if (row === undefined) throw new Error('the erasure of a stored response does not exist');
      return toErasureRecord(toErasure(row));
    },
  });
}

function toErasureRecord({
  programId,
  cardName,
  completedAt,
  requestedAt,
  transfers,
  events,
  errors,
}: Omit<CardErasure, 'eventsFrom' | 'round' | 'step' | 'cursor'>): CardErasureRecord {
  return {
    card_id: cardName,
    program_id: toWireId('prog', programId),
    status: completedAt === null ? 'running' : 'completed',
    transfers,
    events,
    errors,
    requested_at: requestedAt.toISOString(),
    completed_at: completedAt?.toISOString() ?? null,
  };
}

// Invariant: After the holder of a card is erased, no text about the holder is left or reappears
// Kept by: this file, the trigger of `error`
// Tested by: `test/api/erasure`, `test/store/erasure`, `test/delivery/erasure.test.ts`

/** Limits and pauses of the job. Tests set other values. */
export type ErasureSettings = {
  /**
   * Maximum number of rows that one transaction processes. It is small, so that the transaction stays well within the statement
   * timeout.
   */
  readonly maxTransfers: number;
  readonly maxEvents: number;
  readonly maxErrors: number;
  readonly maxCases: number;
  /**
   * Pause between the two rounds. It is longer than any work that may still hold the erased text, such as a request to a webhook
   * or an error that is about to be stored.
   */
  readonly settleMilliseconds: number;
  /** Pause of an erasure after a failure. */
  readonly retryMilliseconds: number;
};

export const ERASURE_SETTINGS: ErasureSettings = {
  maxTransfers: 500,
  // All of the events may be about the card. On a busy machine, 4,000 events took up to 1.9 s.
  maxEvents: 1500,
  maxErrors: 1000,
  // A snapshot can have 16,000 characters, and every snapshot is searched.
  maxCases: 200,
  settleMilliseconds: 60_000,
  retryMilliseconds: 60_000,
};

/** Maximum number of erasures that take turns. */
const MAX_ERASURES = 10;

const TIMEOUT_MILLISECONDS = 5_000;

/** The result of a batch. Undefined if another process is working on this erasure. */
type Batch = { readonly isComplete: boolean } | undefined;

type ErasureReports = {
  readonly onFailure: (error: unknown) => void;
  /** Called after each batch with its duration. Resolves to false when the job must stop. */
  readonly pause: (milliseconds: number) => Promise<boolean>;
};

/**
 * Processes all due erasures, batch by batch, until none is left. Each batch is a separate transaction. If a process is killed, the
 * erasure continues after its last committed batch. Several processes can do this at once, because only one of them processes each
 * batch.
 */
export async function eraseInBatches(
  database: Database,
  { onFailure, pause }: ErasureReports,
  settings: ErasureSettings = ERASURE_SETTINGS,
): Promise<void> {
  for (;;) {
    const due = (await database.read(readDueErasures({ count: MAX_ERASURES }))).map(toErasure);
    let hasProgressed = false;
    for (const erasure of due) {
      const startedAt = performance.now();
      try {
        hasProgressed = (await eraseBatch(database, erasure, settings)) !== undefined || hasProgressed;
      } catch (error) {
        onFailure(error);
        await database.writeUnguarded(postponeErasure(erasure, settings.retryMilliseconds));
      }
      if (!(await pause(performance.now() - startedAt))) return;
    }
    if (!hasProgressed) return;
  }
}

function eraseBatch(database: Database, erasure: CardErasure, settings: ErasureSettings): Promise<Batch> {
  switch (erasure.step) {
    case 'transfers':
      return eraseTexts(database, erasure, settings);
    case 'responses':
      return run(database, erasure, {}, () => ({ writes: [eraseResponses(erasure), endStep(erasure, settings)] }));
    case 'events':
      return eraseEvents(database, erasure, settings);
    case 'errors':
      return eraseErrorTexts(database, erasure, settings);
    case 'cases':
      return eraseCases(database, erasure, settings);
  }
}

/** Runs a batch under the lock of the erasure. Does nothing if another process is working on the erasure or has continued it. */
async function run<Name extends string>(
  database: Database,
  erasure: CardErasure,
  load: Steps<unknown, Name>['load'],
  decide: (loaded: Parameters<Steps<unknown, Name>['decide']>[0]) => { readonly writes: readonly Statement[] },
): Promise<Batch> {
  const deadline = performance.now() + TIMEOUT_MILLISECONDS;
  return transact<Batch, Name | 'erasure'>(
    database,
    deadline,
    { erasure: lockErasure(erasure), ...load } as Steps<Batch, Name | 'erasure'>['load'],
    (loaded) => {
      if (loaded.erasure.length === 0) return { result: undefined, writes: [], readsOnly: true };
      const { writes } = decide(loaded);
      return { result: { isComplete: false }, writes };
    },
  );
}

/**
 * Erases the free text of transfers and their reversals. Locks the account of the card first, so that a group that has read the
 * old text cannot commit it.
 */
function eraseTexts(database: Database, erasure: CardErasure, settings: ErasureSettings): Promise<Batch> {
  const { programId } = erasure;
  const load = {
    account: lockAccountOfCard(erasure),
    transfers: lockTransfersOfCard(erasure, settings.maxTransfers),
  };
  return run(database, erasure, load, ({ transfers }) => {
    const last = transfers.at(-1);
    if (last === undefined) {
      const waiting = expireApprovalsAbout({ ...erasure, transferIds: [] });
      return { writes: [raiseVersionOfCard(erasure), endStep(erasure, settings), waiting] };
    }
    const ids = transfers.filter((row) => row.has_texts === true).map((row) => row.transfer_id as string);
    const named = { programId, transferIds: ids };
    const erasing =
      ids.length === 0
        ? []
        : [eraseTransfers(named), eraseMetadata(named), eraseReversals(named), raiseVersionOfCard(erasure)];
    // Operators may have written notes even about a transfer without free text.
    const all = { ...erasure, transferIds: transfers.map((row) => row.transfer_id as string) };
    const notes = [eraseNotesOfAttempts(all), eraseNotesOfBreaks(all), expireApprovalsAbout(all)];
    return {
      writes: [...erasing, ...notes, advance(erasure, { cursor: last.transfer_id as string, transfers: ids.length })],
    };
  });
}

/** Erases the payloads of events, which are also the stored responses, and the responses of webhook receivers to them. */
function eraseEvents(database: Database, erasure: CardErasure, settings: ErasureSettings): Promise<Batch> {
  const { programId, cardName } = erasure;
  return run(database, erasure, { events: readEventsOfCard(erasure, settings.maxEvents) }, ({ events: found }) => {
    const { events, lastBatchId } = toFoundEvents(found);
    if (lastBatchId === null) return { writes: [rereadWebhooks({ programId }), endStep(erasure, settings)] };
    const about = events.map((event) => rewritten(event, cardName)).filter((event) => event !== undefined);
    const changed = about.filter(({ isChanged }) => isChanged).map(({ event }) => event);
    return {
      writes: [
        ...(changed.length === 0 ? [] : [writePayloads({ events: changed })]),
        ...(about.length === 0 ? [] : [eraseAnswers({ eventIds: about.map(({ event }) => eventIdOf(event)) })]),
        advance(erasure, { cursor: lastBatchId, events: changed.length }),
      ],
    };
  });
}

/** Returns the event without the free text about the holder, or undefined if it is not about the card. */
function rewritten(
  event: FoundEvent,
  cardName: string,
): { readonly event: FoundEvent; readonly isChanged: boolean } | undefined {
  const record = parseJson(event.payload) as Readonly<Record<string, unknown>>;
  if (!isAboutCard(record, cardName)) return undefined;
  const payload = JSON.stringify(withoutHolder(record));
  return { event: { ...event, payload }, isChanged: payload !== event.payload };
}

/** Erases the free text of stored errors. A trigger does this for errors that are stored later (migration 0021). */
function eraseErrorTexts(database: Database, erasure: CardErasure, settings: ErasureSettings): Promise<Batch> {
  const load = { errors: eraseErrors(erasure, settings.maxErrors) };
  return run(database, erasure, load, ({ errors: found }) => {
    const { erased: errors, lastRequestId } = toErasedErrors(found);
    if (lastRequestId !== null) return { writes: [advance(erasure, { cursor: lastRequestId, errors })] };
    return { writes: [endStep(erasure, settings)] };
  });
}

/**
 * Erases the free text of cases. A trigger has already erased the cases that name the card (migration 0039). This step finds all
 * others, including cases that were written while the trigger ran.
 */
function eraseCases(database: Database, erasure: CardErasure, settings: ErasureSettings): Promise<Batch> {
  const load = { cases: eraseTextsOfCases(erasure, settings.maxCases) };
  return run(database, erasure, load, ({ cases: found }) => {
    const cursor = toLastCase(found);
    return { writes: [cursor === null ? endStep(erasure, settings) : advance(erasure, { cursor })] };
  });
}

function advance(erasure: CardErasure, done: Partial<ErasureProgress>): Statement {
  const { round, step, cursor } = erasure;
  return moveErasure(erasure, { ...NOTHING, round, step, cursor, ...done });
}

const NOTHING = { transfers: 0, events: 0, errors: 0, pauseMilliseconds: 0 } as const;

/** Starts the next step or the second round, or completes the erasure. */
function endStep(erasure: CardErasure, { settleMilliseconds }: ErasureSettings): Statement {
  const { round } = erasure;
  const next = ERASURE_STEPS[ERASURE_STEPS.indexOf(erasure.step) + 1];
  if (next !== undefined) return moveErasure(erasure, { ...NOTHING, round, step: next, cursor: null });
  if (round === 2) return completeErasure(erasure);
  const first = { round: 2, step: ERASURE_STEPS[0], cursor: null, pauseMilliseconds: settleMilliseconds };
  return moveErasure(erasure, { ...NOTHING, ...first });
}
