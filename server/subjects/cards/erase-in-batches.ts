import { isAboutCard, withoutHolder } from '../../../domain/cards/erase-card-holder.ts';
import { transact } from '../../commit/transaction.ts';
import {
  type CardErasure,
  completeErasure,
  ERASURE_STEPS,
  type ErasureProgress,
  eraseAnswers,
  eraseErrors,
  eraseMetadata,
  eraseResponses,
  eraseReversals,
  eraseTransfers,
  type FoundEvent,
  lockAccountOfCard,
  lockErasure,
  lockTransfersOfCard,
  moveErasure,
  postponeErasure,
  raiseVersionOfCard,
  readDueErasures,
  readEventsOfCard,
  rereadWebhooks,
  toErasedErrors,
  toErasure,
  toFoundEvents,
  writePayloads,
} from '../../store/card-erasure.ts';
import type { Database, Statement, Steps } from '../../store/connection/database.ts';
import { eventIdOf } from '../../store/events/read-events.ts';

// Invariant: When the holder of a card is erased, no text about the holder is left or comes back
// Kept by: this file, the trigger of `error`
// Tested by: `test/api/erasure`, `test/store/erasure`, `test/delivery/erasure.test.ts`

/** How an erasure goes on. Tests set other values. */
export type ErasureSettings = {
  /** Rows that one transaction goes through at most: few enough to stay well within the statement timeout. */
  readonly maxTransfers: number;
  readonly maxEvents: number;
  readonly maxErrors: number;
  /**
   * From the first round to the second one: in between ends what had read the texts before they were erased, such as a
   * request to a webhook that is waiting for its response, or an error on its way to the database.
   */
  readonly settleMilliseconds: number;
  /** How long an erasure waits after a failure. */
  readonly retryMilliseconds: number;
};

/** The defaults. */
export const ERASURE_SETTINGS: ErasureSettings = {
  maxTransfers: 500,
  // All of them can be about the card: on a busy machine, 4,000 took up to 1.9 s.
  maxEvents: 1500,
  maxErrors: 1000,
  settleMilliseconds: 60_000,
  retryMilliseconds: 60_000,
};

/** Erasures that take turns. */
const MAX_ERASURES = 10;

/** Time for one transaction. */
const TIMEOUT_MILLISECONDS = 5_000;

/** What a batch came to: undefined where another process is at this erasure. */
type Batch = { readonly isComplete: boolean } | undefined;

/** What happens around the batches. */
export type ErasureReports = {
  readonly onFailure: (error: unknown) => void;
  /** Called after each batch with its duration; false ends the work. */
  readonly pause: (milliseconds: number) => Promise<boolean>;
};

/**
 * Goes on with every erasure that is due, batch by batch, each in a transaction of its own, until none is. A process that
 * is killed leaves the erasure where its last batch has ended. Several processes may do this at once: each batch is done
 * by one of them.
 */
export async function eraseInBatches(
  database: Database,
  { onFailure, pause }: ErasureReports,
  settings: ErasureSettings = ERASURE_SETTINGS,
): Promise<void> {
  for (;;) {
    const due = (await database.read(readDueErasures({ count: MAX_ERASURES }))).map(toErasure);
    let hasGoneOn = false;
    for (const erasure of due) {
      const startedAt = performance.now();
      try {
        hasGoneOn = (await eraseBatch(database, erasure, settings)) !== undefined || hasGoneOn;
      } catch (error) {
        onFailure(error);
        await database.read(postponeErasure(erasure, settings.retryMilliseconds));
      }
      if (!(await pause(performance.now() - startedAt))) return;
    }
    if (!hasGoneOn) return;
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
  }
}

/**
 * Runs a batch in a transaction that has locked the erasure where it was read, and does nothing if another process has
 * gone on with it.
 */
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

/** Transfers and their reversals. The account of the card is locked first, so nothing is in flight that has read them. */
function eraseTexts(database: Database, erasure: CardErasure, settings: ErasureSettings): Promise<Batch> {
  const { programId } = erasure;
  const load = {
    account: lockAccountOfCard(erasure),
    transfers: lockTransfersOfCard(erasure, settings.maxTransfers),
  };
  return run(database, erasure, load, ({ transfers }) => {
    const last = transfers.at(-1);
    if (last === undefined) return { writes: [raiseVersionOfCard(erasure), endStep(erasure, settings)] };
    const ids = transfers.filter((row) => row.has_texts === true).map((row) => row.transfer_id as string);
    const named = { programId, transferIds: ids };
    const erasing =
      ids.length === 0
        ? []
        : [eraseTransfers(named), eraseMetadata(named), eraseReversals(named), raiseVersionOfCard(erasure)];
    return {
      writes: [...erasing, goOn(erasure, { cursor: last.transfer_id as string, transfers: ids.length })],
    };
  });
}

/** Events, whose payloads are also the responses to idempotency keys, and what receivers of webhooks answered to them. */
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
        goOn(erasure, { cursor: lastBatchId, events: changed.length }),
      ],
    };
  });
}

/** An event about the card without texts; undefined for one that is about something else. */
function rewritten(
  event: FoundEvent,
  cardName: string,
): { readonly event: FoundEvent; readonly isChanged: boolean } | undefined {
  const record = JSON.parse(event.payload) as Readonly<Record<string, unknown>>;
  if (!isAboutCard(record, cardName)) return undefined;
  const payload = JSON.stringify(withoutHolder(record));
  return { event: { ...event, payload }, isChanged: payload !== event.payload };
}

/** Errors of the log; those that are stored later are erased when they are (migration 0021). */
function eraseErrorTexts(database: Database, erasure: CardErasure, settings: ErasureSettings): Promise<Batch> {
  const load = { errors: eraseErrors(erasure, settings.maxErrors) };
  return run(database, erasure, load, ({ errors: found }) => {
    const { erased: errors, lastRequestId } = toErasedErrors(found);
    if (lastRequestId !== null) return { writes: [goOn(erasure, { cursor: lastRequestId, errors })] };
    return { writes: [endStep(erasure, settings)] };
  });
}

function goOn(erasure: CardErasure, done: Partial<ErasureProgress>): Statement {
  const { round, step, cursor } = erasure;
  return moveErasure(erasure, { ...NOTHING, round, step, cursor, ...done });
}

const NOTHING = { transfers: 0, events: 0, errors: 0, pauseMilliseconds: 0 } as const;

/** To the next step, to the second round, or to the end. */
function endStep(erasure: CardErasure, { settleMilliseconds }: ErasureSettings): Statement {
  const { round } = erasure;
  const next = ERASURE_STEPS[ERASURE_STEPS.indexOf(erasure.step) + 1];
  if (next !== undefined) return moveErasure(erasure, { ...NOTHING, round, step: next, cursor: null });
  if (round === 2) return completeErasure(erasure);
  const first = { round: 2, step: ERASURE_STEPS[0], cursor: null, pauseMilliseconds: settleMilliseconds };
  return moveErasure(erasure, { ...NOTHING, ...first });
}
