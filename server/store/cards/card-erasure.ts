import type { Row, Statement } from '../connection/database.ts';
import { timeOfId } from '../error.ts';
import { fullPayload } from '../events/transfer-payload.ts';
import { NAMED_TRANSFER } from '../ledger/account.ts';
import {
  columns,
  DATE,
  HEX,
  INTEGER,
  many,
  NUMBER,
  nullable,
  rows,
  SMALLINT,
  statement,
  statementOfRows,
  TEXT,
  UUID,
  word,
} from '../sql.ts';

/** Replaces the erased message of an error. The trigger `error_of_erased_card` uses the same message. */
const ERASED_MESSAGE = 'The texts of this error were erased, together with those about the holder of its card.';

/** Sorts before all other ids. */
const NO_ID = '00000000-0000-0000-0000-000000000000';

/** The steps of an erasure, in order. Each step requires that the previous steps have erased their parts. */
export const ERASURE_STEPS = ['transfers', 'responses', 'events', 'errors', 'cases'] as const;

export type ErasureStep = (typeof ERASURE_STEPS)[number];

const PLACE = columns({ round: SMALLINT, step: word<ErasureStep>(), cursor: nullable(UUID) });

const ERASURE = columns({
  programId: UUID,
  cardId: UUID,
  cardName: TEXT,
  requestedAt: DATE,
  eventsFrom: DATE,
  completedAt: nullable(DATE),
  transfers: NUMBER,
  events: NUMBER,
  errors: NUMBER,
  ...PLACE.columns,
});

/** An erasure and its progress. `cursor` is the last transfer, batch, request or case that the current step has processed. */
export type CardErasure = ReturnType<typeof ERASURE.read>;

export const toErasure: (row: Row) => CardErasure = ERASURE.read;

const CARD_IN_PROGRAM = columns({ programId: UUID, cardName: TEXT });

export const readErasure = statement(
  'read_card_erasure',
  CARD_IN_PROGRAM.columns,
  `select ${ERASURE.names} from card_erasure where program_id = :programId and card_name = :cardName`,
);

/** Reads which transfers have a card whose holder was erased. Must come after the accounts were read. */
export const readErasuresOfTransfers = statementOfRows(
  'read_erasures_of_transfers',
  NAMED_TRANSFER,
  `select sent.program_id, sent.transfer_id, found.card_name
    from :sent
    cross join lateral (
      select card_name from transfer join card_erasure
          on card_erasure.program_id = transfer.program_id
            and card_erasure.card_id in (transfer.card_id, transfer.destination_card_id)
        where transfer.program_id = sent.program_id and transfer.transfer_id = sent.transfer_id limit 1
    ) as found`,
);

export const toErasureOfTransfer = columns({ ...NAMED_TRANSFER.columns, cardName: TEXT }).read;

const INSERT_ERASURE = statement(
  'insert_card_erasure',
  { ...CARD_IN_PROGRAM.columns, cardId: UUID, requestedAt: DATE, createdAt: DATE, holderHash: nullable(HEX) },
  // A sandbox's clock may have been ahead when the card was created, and have been set back since.
  `with first as materialized (
      select case when exists (select from sandbox_clock where furthest > '0')
        then '1970-01-01'::timestamptz else :createdAt end as event_at
    )
    insert into card_erasure
      (program_id, card_id, card_name, requested_at, events_from, holder_hash, round, step, next_at)
    select :programId, :cardId, :cardName, :requestedAt, first.event_at, :holderHash, 1, 'transfers', statement_timestamp()
    from first`,
);

/**
 * Inserts an erasure of a card, which was created at `createdAt`. The card's account must be locked. `holderHash` is the SHA-256
 * of the holder reference, in hex.
 */
export function insertErasure(
  erasure: Pick<CardErasure, 'programId' | 'cardId' | 'cardName' | 'requestedAt'> & {
    readonly createdAt: Date;
    readonly holderHash: string | null;
  },
): Statement {
  return INSERT_ERASURE(erasure);
}

/** Reads erasures that may continue now, longest wait first. */
export const readDueErasures = statement(
  'read_due_card_erasures',
  { count: INTEGER },
  `select ${ERASURE.names} from card_erasure where completed_at is null and next_at <= clock_timestamp()
    order by next_at limit :count`,
);

const ONE = columns({ programId: UUID, cardId: UUID });

const LOCK_ERASURE = statement(
  'lock_card_erasure',
  { ...ONE.columns, ...PLACE.columns },
  `select from card_erasure
    where program_id = :programId and card_id = :cardId and completed_at is null
      and round = :round and step = :step and cursor is not distinct from :cursor
    for update skip locked`,
);

/**
 * Locks an erasure if it is unchanged since it was read. Returns no row if another process is working on it or has continued it.
 */
export function lockErasure({ programId, cardId, round, step, cursor }: CardErasure): Statement {
  return LOCK_ERASURE({ programId, cardId, round, step, cursor });
}

const MOVE_ERASURE = statement(
  'move_card_erasure',
  {
    ...ONE.columns,
    ...PLACE.columns,
    transfers: NUMBER,
    events: NUMBER,
    errors: NUMBER,
    pauseMilliseconds: INTEGER,
  },
  `update card_erasure set round = :round, step = :step, cursor = :cursor,
      transfers = transfers + :transfers, events = events + :events, errors = errors + :errors,
      next_at = statement_timestamp() + make_interval(secs => :pauseMilliseconds / 1000.0)
    where program_id = :programId and card_id = :cardId`,
);

/**
 * The result of a batch: the counts of erased records, where the erasure continues, and the minimum pause before that, in
 * milliseconds.
 */
export type ErasureProgress = Pick<CardErasure, 'round' | 'step' | 'cursor' | 'transfers' | 'events' | 'errors'> & {
  readonly pauseMilliseconds: number;
};

export function moveErasure({ programId, cardId }: CardErasure, progress: ErasureProgress): Statement {
  return MOVE_ERASURE({ ...progress, programId, cardId });
}

export const completeErasure = statement(
  'complete_card_erasure',
  ONE.columns,
  `update card_erasure set completed_at = service_now(), cursor = null, holder_hash = null
    where program_id = :programId and card_id = :cardId`,
);

/**
 * Removes the fields of a card that identify its holder. The account must be locked. A trigger (migration 0030) removes the
 * metadata when {@link insertErasure} runs.
 */
export const eraseHolderOfCard = statement(
  'erase_holder_of_card',
  { ...ONE.columns, updatedAt: DATE },
  `update card set holder_reference = null, last_four = null, processor_token = null, updated_at = :updatedAt
    where program_id = :programId and card_id = :cardId`,
);

/**
 * Locks the account of a card. Every change to a transfer of the card locks this account, or fails if the account's version was
 * raised. So an earlier decision cannot write free text after it was erased.
 */
export const lockAccountOfCard = statement(
  'lock_account_of_card',
  ONE.columns,
  `select account.account_id from account
    where program_id = :programId and account_id = (
      select account_id from card where card.program_id = :programId and card.card_id = :cardId
    )
    for no key update`,
);

export const raiseVersionOfCard = statement(
  'raise_version_of_card',
  ONE.columns,
  `update account set version = version + 1
    where program_id = :programId and account_id = (
      select account_id from card where card.program_id = :programId and card.card_id = :cardId
    )`,
);

const LOCK_TRANSFERS_OF_CARD = statement(
  'lock_transfers_of_card',
  { ...ONE.columns, after: nullable(UUID), count: INTEGER },
  `select transfer_id, description is not null or metadata <> '{}' or exists (
      select from reversal
      where reversal.program_id = transfer.program_id and reversal.transfer_id = transfer.transfer_id
        and reversal.description is not null
    ) as has_texts
    from transfer
    where program_id = :programId and transfer_id = any (array(
      select transfer_id from (
        (select transfer_id from transfer
          where program_id = :programId and card_id = :cardId
            and transfer_id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000')
          order by transfer_id limit :count)
        union
        (select transfer_id from transfer
          where program_id = :programId and destination_card_id = :cardId
            and transfer_id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000')
          order by transfer_id limit :count)
      ) as of_card order by transfer_id limit :count
    ))
    order by transfer_id
    for no key update of transfer`,
);

/**
 * Locks the next transfers from or to a card against changes of their metadata, in the order of their ids. Each row has the
 * `transfer_id`, and in `has_texts` whether the transfer has free text.
 */
export function lockTransfersOfCard({ programId, cardId, cursor: after }: CardErasure, count: number): Statement {
  return LOCK_TRANSFERS_OF_CARD({ programId, cardId, after, count });
}

const TRANSFERS = { programId: UUID, transferIds: many(UUID) } as const;

/** Removes the free text of locked transfers. Everything else is kept. */
export const eraseTransfers = statement(
  'erase_transfers',
  TRANSFERS,
  `update transfer set description = null, metadata = '{}'
    where program_id = :programId and transfer_id = any (:transferIds)`,
);

export const eraseMetadata = statement(
  'erase_metadata',
  TRANSFERS,
  'delete from transfer_metadata where program_id = :programId and transfer_id = any (:transferIds)',
);

export const eraseReversals = statement(
  'erase_reversals',
  TRANSFERS,
  `update reversal set description = null
    where program_id = :programId and transfer_id = any (:transferIds) and description is not null`,
);

/**
 * Removes the responses about a card, its transfers and their reversals that earlier versions stored with a separate body. Replays
 * then return the current record.
 */
export const eraseResponses = statement(
  'erase_responses',
  ONE.columns,
  `update idempotency set body = null
    where body is not null and program_id = :programId and (
      operation = 'create_card' and subject_id = :cardId
      or operation in ('create_transfer', 'capture_transfer', 'cancel_transfer') and exists (
        select from transfer
        where transfer.program_id = :programId and transfer.transfer_id = idempotency.subject_id
          and :cardId in (card_id, destination_card_id)
      )
      or operation = 'reverse_transfer' and exists (
        select from reversal join transfer using (program_id, transfer_id)
        where reversal.program_id = :programId and reversal.reversal_id = idempotency.subject_id
          and :cardId in (transfer.card_id, transfer.destination_card_id)
      )
    )`,
);

const FOUND_EVENT = columns({
  batchId: UUID,
  index: INTEGER,
  createdAt: DATE,
  payload: TEXT,
});

const ORIGIN = columns({ programId: nullable(UUID), subjectId: TEXT });

/** An event about an erased card, with its full payload. */
export type FoundEvent = ReturnType<typeof FOUND_EVENT.read>;

const READ_EVENTS_OF_CARD = statement(
  // Planned each time, because a plan for any time would read the partitions of all days.
  '',
  { ...CARD_IN_PROGRAM.columns, cardId: UUID, from: DATE, after: nullable(UUID), count: INTEGER },
  `with gone_through as materialized (
      select batch_id from event
      where created_at >= :from and batch_id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000')
      order by batch_id limit :count
    ), last as materialized (select batch_id from gone_through order by batch_id desc limit 1)
    select last.batch_id as last_batch_id, found.* from last left join lateral (
      select ${FOUND_EVENT.names}, ${ORIGIN.names} from event
      where created_at >= :from and batch_id > coalesce(:after::uuid, '00000000-0000-0000-0000-000000000000')
        and batch_id <= last.batch_id and program_id = :programId and (
          -- This also finds destination_card_id. It may find texts of callers, which the reader of the JSON excludes.
          -- In the compact form, the name of a card has no field name before it.
          position(case when left(payload, 1) = '[' then '' else 'card_id":' end || to_json(:cardName::text)::text in payload) > 0
          or type = 'reversal.completed' and exists (
            select from transfer
            where transfer.program_id = :programId and :cardId in (transfer.card_id, transfer.destination_card_id)
              and transfer.transfer_id = substr(event.payload::json ->> 'transfer_id', 4)::uuid
          )
        )
    ) as found on true`,
);

/** Reads the next `count` events of all programs, and returns the ones about a card. The last batch is always read completely. */
export function readEventsOfCard(
  { programId, cardId, cardName, eventsFrom: from, cursor: after }: CardErasure,
  count: number,
): Statement {
  return READ_EVENTS_OF_CARD({ programId, cardId, cardName, from, after, count });
}

/** Returns the events from the rows of {@link readEventsOfCard}, and the last batch that was read, or null at the end. */
export function toFoundEvents(found: readonly Row[]): {
  readonly events: readonly FoundEvent[];
  readonly lastBatchId: string | null;
} {
  const events = found.filter((row) => row.batch_id !== null).map(toFoundEvent);
  return { events, lastBatchId: (found[0]?.last_batch_id as string | undefined) ?? null };
}

function toFoundEvent(row: Row): FoundEvent {
  const event = FOUND_EVENT.read(row);
  return { ...event, payload: fullPayload(event.payload, ORIGIN.read(row)) };
}

/** Replaces the payloads of events. Their position, time and place in the batch stay the same. */
export const writePayloads = statement(
  'write_event_payloads',
  { events: rows(FOUND_EVENT) },
  `with found as materialized (select events.*, created_at + interval '1 millisecond' as before from :events)
    update event set payload = found.payload from found
    where event.batch_id = found.batch_id and event.index = found.index
      and event.created_at >= found.created_at and event.created_at < found.before`,
);

/** Removes the stored responses of webhook receivers to events, because they may quote erased text. */
export const eraseAnswers = statement(
  'erase_webhook_answers',
  { eventIds: many(UUID) },
  `update webhook_attempt set response_start = null
    where event_id = any (:eventIds) and response_start is not null`,
);

/** Makes every process reload the webhooks that receive the events of a program. */
export const rereadWebhooks = statement(
  'reread_webhooks',
  { programId: UUID },
  'update webhook set revision = revision + 1 where program_id = :programId or program_id is null',
);

const ERASE_ERRORS = statement(
  'erase_errors',
  { programId: UUID, after: UUID, afterTime: DATE, count: INTEGER },
  `with gone_through as materialized (
      select created_at, request_id, is_about_erased_card(program_id, card_name, transfer_id, operation, request) as is_about
      from error where program_id = :programId and (created_at, request_id) > (
        -- The stored time, so that the next batch begins after this error, even if the id does not contain the time.
        coalesce((select max(created_at) from error where request_id = :after), :afterTime), :after
      )
      order by created_at, request_id limit :count
    ), erased as (
      update error set message = '${ERASED_MESSAGE}', field = null, request = null, checks = null, causes = '[]'
      from gone_through
      where is_about and error.created_at = gone_through.created_at and error.request_id = gone_through.request_id
        and message <> '${ERASED_MESSAGE}'
      returning 1
    )
    select (select count(*) from gone_through)::int as count, (select count(*) from erased)::int as erased,
      (select request_id from gone_through order by created_at desc, request_id desc limit 1) as last_request_id`,
);

/**
 * Erases the free text of errors about a card whose holder was erased, among the next `count` errors of the program. See {@link
 * toErasedErrors}.
 */
export function eraseErrors({ programId, cursor }: CardErasure, count: number): Statement {
  return ERASE_ERRORS({
    programId,
    after: cursor ?? NO_ID,
    afterTime: cursor === null ? new Date(0) : timeOfId(cursor),
    count,
  });
}

/** Returns how many errors {@link eraseErrors} erased, and the last request id that it read, or null at the end. */
export function toErasedErrors([row]: readonly Row[]): {
  readonly erased: number;
  readonly lastRequestId: string | null;
} {
  return {
    erased: Number(row?.erased ?? 0),
    lastRequestId: (row?.last_request_id as string | null | undefined) ?? null,
  };
}

const POSTPONE_ERASURE = statement(
  'postpone_card_erasure',
  { ...ONE.columns, pauseMilliseconds: INTEGER },
  `update card_erasure set next_at = statement_timestamp() + make_interval(secs => :pauseMilliseconds / 1000.0)
    where program_id = :programId and card_id = :cardId`,
);

/** Postpones an erasure that failed, so that it does not delay others. */
export function postponeErasure({ programId, cardId }: CardErasure, pauseMilliseconds: number): Statement {
  return POSTPONE_ERASURE({ programId, cardId, pauseMilliseconds });
}
