import { toWireId } from '../../../domain/identifier.ts';
import type { Reversal } from '../../../domain/transfers/reverse-transfer.ts';
import {
  type Capture,
  type Hold,
  STATUSES_WITH_REFERENCE,
  type Transfer,
  type TransferOutcome,
  type TransferStatus,
  type TransferType,
  transferAt,
} from '../../../domain/transfers/transfer.ts';
import type { Row, Statement } from '../connection/database.ts';
import { REPLICATED } from '../connection/standby.ts';
import { NAMED_TRANSFER, type NamedTransfer } from '../ledger/account.ts';
import {
  BIGINT,
  BOOLEAN,
  CURRENCY,
  columns,
  insertRows,
  json,
  many,
  NUMBER,
  nullable,
  rows,
  statement,
  statementOfRows,
  statementVariants,
  TEXT,
  TIME,
  UUID,
  word,
  wordList,
} from '../sql.ts';
import { isEnabled } from '../switch.ts';

const TRANSFER = columns({
  programId: UUID,
  transferId: UUID,
  type: word<TransferType>(),
  cardId: UUID,
  destinationCardId: nullable(UUID),
  amount: BIGINT,
  capturedAmount: BIGINT,
  reversedAmount: BIGINT,
  currency: CURRENCY,
  status: word<TransferStatus>(),
  outcome: word<TransferOutcome>(),
  capture: word<Capture>(),
  expiresAt: nullable(TIME),
  scheduledFor: nullable(TIME),
  description: nullable(TEXT),
  reference: nullable(TEXT),
  metadata: json<Transfer['metadata']>(),
  error: nullable(json<object>()),
  requestId: UUID,
  idempotencyKey: nullable(TEXT),
  createdBy: nullable(UUID),
  createdAt: TIME,
  updatedAt: TIME,
  completedAt: nullable(TIME),
});

/** A transfer with the names of its cards: a row with {@link TRANSFER_COLUMNS}. */
const TRANSFER_WITH_CARDS = columns({ ...TRANSFER.columns, cardName: TEXT, destinationCardName: nullable(TEXT) });

/** The columns that {@link toTransfer} reads, from `transfer`, its `card` and its `destination` card. */
export const TRANSFER_COLUMNS = `${TRANSFER.of('transfer')}, card.name as card_name,
  destination.name as destination_card_name, case when transfer.status = 'pending' then service_now() end as now`;

const WITH_CARDS = `join card on card.program_id = transfer.program_id and card.card_id = transfer.card_id
  left join card as destination
    on destination.program_id = transfer.program_id and destination.card_id = transfer.destination_card_id`;

/**
 * Reads which of the references are taken, and by which transfers. A reference can also belong to a finished transfer of the ledger that
 * a card moved in from: then `transfer_id` is the id of the move-in, and `moved_in` is true. Must come after the references were locked. A failed transfer
 * takes its reference again if its processor later says that it has moved, or may have moved, the money.
 */
export const readReferences = statementOfRows(
  'read_references',
  columns({ programId: UUID, reference: TEXT }),
  `select found.* from :sent
    cross join lateral (
      select * from (
        select program_id, reference, transfer_id, status, expires_at, false as moved_in from transfer
        where transfer.program_id = sent.program_id and transfer.reference = sent.reference
          and transfer.status in (${wordList(STATUSES_WITH_REFERENCE)})
        union all
        select ended.* from (
          select program_id, reference, transfer_id, status, expires_at, false as moved_in from transfer
          where transfer.program_id = sent.program_id and transfer.reference = sent.reference offset 0
        ) as ended cross join lateral (
          select late_approval_at, contradicted_at, contradiction_settled_at from processor_attempt
          where processor_attempt.program_id = ended.program_id
            and processor_attempt.transfer_id = ended.transfer_id offset 0
        ) as attempt
        where ended.status = 'failed' and (attempt.late_approval_at is not null
          or attempt.contradicted_at is not null and attempt.contradiction_settled_at is null)
        union all
        select program_id, reference, move_in_id, 'completed', null, true from move_in_line
        where move_in_line.program_id = sent.program_id and move_in_line.reference = sent.reference
          and not move_in_line.is_undone
      ) as taker limit 1
    ) as found`,
);

export const REFERENCE_TAKER = columns({
  programId: UUID,
  reference: TEXT,
  transferId: UUID,
  status: word<TransferStatus>(),
  expiresAt: nullable(TIME),
  movedIn: BOOLEAN,
});

/** The id on the wire of what has a reference: a transfer, or the move-in with a transfer of the old ledger. */
export function takerId({
  transferId,
  movedIn = false,
}: {
  readonly transferId: string;
  readonly movedIn?: boolean;
}): string {
  return toWireId(movedIn ? 'mvi' : 'tr', transferId);
}

/** The columns of a transfer that completes immediately. The others follow from these, and each column costs time. */
const COMPLETED = TRANSFER.omit(
  'capturedAmount',
  'reversedAmount',
  'status',
  'outcome',
  'capture',
  'expiresAt',
  'scheduledFor',
  'error',
  'createdAt',
  'updatedAt',
  'completedAt',
);

const INSERT_COMPLETED = statement(
  'insert_completed_transfers',
  { sent: rows(COMPLETED), now: TIME },
  `insert into transfer (${COMPLETED.names}, captured_amount, status, outcome, capture, created_at, updated_at,
      completed_at)
    select ${COMPLETED.names}, amount, 'completed', 'final', 'automatic', :now::timestamptz, :now, :now from :sent`,
);

export function insertCompletedTransfers(transfers: readonly Transfer[], now: number): Statement {
  return INSERT_COMPLETED({ sent: transfers, now });
}

/** Inserts transfers with other statuses: pending, scheduled, or changed in the transaction that creates them. */
export const insertOpenTransfers = insertRows('insert_open_transfers', 'transfer', TRANSFER);

const READ_TRANSFER = statement(
  'read_transfer',
  { programId: UUID, transferId: UUID },
  `select ${TRANSFER_COLUMNS}, ${REPLICATED} from transfer ${WITH_CARDS}
    where transfer.program_id = :programId and transfer.transfer_id = :transferId`,
);

export function readTransfer(programId: string, transferId: string): Statement {
  return READ_TRANSFER({ programId, transferId });
}

const READ_TRANSFERS = statement(
  'read_transfers',
  { programId: UUID, transferIds: many(UUID) },
  `select ${TRANSFER_COLUMNS} from unnest(:transferIds) as wanted (transfer_id)
    cross join lateral (
      select * from transfer
      where transfer.program_id = :programId and transfer.transfer_id = wanted.transfer_id limit 1
    ) as transfer
    left join lateral (
      select name from card where card.program_id = :programId and card.card_id = transfer.card_id limit 1
    ) as card on true
    left join lateral (
      select name from card where card.program_id = :programId and card.card_id = transfer.destination_card_id limit 1
    ) as destination on true`,
);

/** Reads transfers of a program, in any order. */
export function readTransfers(programId: string, transferIds: readonly string[]): Statement {
  return READ_TRANSFERS({ programId, transferIds });
}

/**
 * Reads transfers with their open holds. Must come after their accounts were locked, because both change only under these locks.
 */
export const readTransfersForChange = statementOfRows(
  'read_transfers_for_change',
  NAMED_TRANSFER,
  `select ${TRANSFER_COLUMNS}, hold.source_account_id, hold.destination_account_id, hold.amount as hold_amount,
      hold.expires_at as hold_expires_at, hold.day_start
    from :sent
    cross join lateral (
      select * from transfer
      where transfer.program_id = sent.program_id and transfer.transfer_id = sent.transfer_id limit 1
    ) as transfer
    cross join lateral (
      select name from card where card.program_id = transfer.program_id and card.card_id = transfer.card_id limit 1
    ) as card
    left join lateral (
      select name from card
      where card.program_id = transfer.program_id and card.card_id = transfer.destination_card_id limit 1
    ) as destination on true
    left join lateral (
      select * from hold
      where hold.program_id = transfer.program_id and hold.transfer_id = transfer.transfer_id limit 1
    ) as hold on true`,
);

const HOLD_OF_TRANSFER = columns({
  sourceAccountId: UUID,
  destinationAccountId: UUID,
  holdAmount: BIGINT,
  holdExpiresAt: nullable(TIME),
  dayStart: TIME,
});

export function toTransferWithHold(row: Row): { readonly transfer: Transfer; readonly hold: Hold | undefined } {
  const transfer = TRANSFER_WITH_CARDS.read(row);
  if (row.hold_amount === null) return { transfer, hold: undefined };
  const { programId, transferId } = transfer;
  const { holdAmount: amount, holdExpiresAt: expiresAt, ...rest } = HOLD_OF_TRANSFER.read(row);
  return { transfer, hold: { programId, transferId, amount, expiresAt, ...rest } };
}

/** Updates transfers, except their metadata ({@link writeMetadata}). Their accounts must be locked. */
export const updateTransfers = statementOfRows(
  'update_transfers',
  TRANSFER.pick(
    'programId',
    'transferId',
    'status',
    'outcome',
    'capturedAmount',
    'reversedAmount',
    'error',
    'updatedAt',
    'completedAt',
  ),
  `update transfer set status = sent.status, outcome = sent.outcome, captured_amount = sent.captured_amount,
      reversed_amount = sent.reversed_amount, error = sent.error, updated_at = sent.updated_at,
      completed_at = sent.completed_at
    from :sent
    where transfer.program_id = sent.program_id and transfer.transfer_id = sent.transfer_id`,
);

/** Replaces the metadata of transfers. Their accounts must be locked. */
export const writeMetadata = statementOfRows(
  'write_metadata',
  TRANSFER.pick('programId', 'transferId', 'metadata'),
  `update transfer set metadata = sent.metadata
    from :sent
    where transfer.program_id = sent.program_id and transfer.transfer_id = sent.transfer_id`,
);

const METADATA = columns({ programId: UUID, name: TEXT, value: TEXT, transferId: UUID });
const INSERT_METADATA = insertRows('insert_metadata', 'transfer_metadata', METADATA);

/** Inserts the metadata of transfers that had none into the search table. */
export function insertMetadata(
  transfers: readonly (NamedTransfer & { readonly metadata: Transfer['metadata'] })[],
): Statement {
  return INSERT_METADATA(
    transfers.flatMap(({ programId, transferId, metadata }) =>
      Object.entries(metadata).map(([name, value]) => ({ programId, transferId, name, value })),
    ),
  );
}

export const deleteMetadata = statementOfRows(
  'delete_metadata',
  NAMED_TRANSFER,
  `delete from transfer_metadata using :sent
    where transfer_metadata.program_id = sent.program_id and transfer_metadata.transfer_id = sent.transfer_id`,
);

/** Returns a transfer in its current state, from a row with {@link TRANSFER_COLUMNS}. A hold that has ended is expired. */
export function toTransfer(row: Row): Transfer {
  const stored = TRANSFER_WITH_CARDS.read(row);
  return row.now instanceof Date ? transferAt(stored, row.now.getTime()) : stored;
}

const HOLD = columns({
  programId: UUID,
  transferId: UUID,
  sourceAccountId: UUID,
  destinationAccountId: UUID,
  amount: BIGINT,
  expiresAt: nullable(TIME),
  dayStart: TIME,
});

export const insertHolds = insertRows('insert_holds', 'hold', HOLD);

export const deleteHolds = statementOfRows(
  'delete_holds',
  NAMED_TRANSFER,
  'delete from hold using :sent where hold.program_id = sent.program_id and hold.transfer_id = sent.transfer_id',
);

const REVERSAL = columns({
  programId: UUID,
  reversalId: UUID,
  transferId: UUID,
  amount: BIGINT,
  currency: CURRENCY,
  description: nullable(TEXT),
  requestId: UUID,
  createdBy: nullable(UUID),
  createdAt: TIME,
});

export const insertReversals = insertRows('insert_reversals', 'reversal', REVERSAL);

const READ_REVERSAL = statement(
  'read_reversal',
  { programId: UUID, reversalId: UUID },
  `select ${REVERSAL.names}, ${REPLICATED} from reversal where program_id = :programId and reversal_id = :reversalId`,
);

export function readReversal(programId: string, reversalId: string): Statement {
  return READ_REVERSAL({ programId, reversalId });
}

const LIST_REVERSALS = statementVariants({ programId: UUID, transferId: UUID, after: nullable(UUID), count: NUMBER });

/** Reads a page of a transfer's reversals, newest first, after the reversal with the inner UUID `after`. */
export function listReversals(of: NamedTransfer, after: string | null, count: number): Statement {
  const text = () => `select ${REVERSAL.names} from reversal
    where program_id = :programId and transfer_id = :transferId ${after === null ? '' : 'and reversal_id < :after'}
    order by reversal_id desc limit :count`;
  return LIST_REVERSALS(after === null ? 'list_reversals' : 'list_reversals_after', text, { ...of, after, count });
}

export function toReversal(row: Row): Reversal {
  return REVERSAL.read(row);
}

const FIND_EXPIRED_HOLDS = statement(
  'find_expired_holds',
  { count: NUMBER },
  `select program_id, transfer_id from hold where expires_at <= (select service_now())
    order by expires_at limit :count`,
);

/**
 * Finds holds that have ended, oldest first. The clock is read in a subquery, so that the planner can use it as an index condition.
 * As a plain function call, it would be compared with every open hold.
 */
export function findExpiredHolds(count: number): Statement {
  return FIND_EXPIRED_HOLDS({ count });
}

/** SQL: the connector of the card of a row of `transfer`. */
export const CONNECTOR_OF_TRANSFER = `(
        select connector_id from card where card.program_id = transfer.program_id and card.card_id = transfer.card_id
      )`;

const FIND_DUE_TRANSFERS = statement(
  'find_due_transfers',
  { connectorIds: many(TEXT), count: NUMBER },
  `select program_id, transfer_id from transfer
    where status = 'scheduled' and scheduled_for <= (select service_now()) and ${isEnabled({
      programId: 'transfer.program_id',
      type: 'transfer.type',
      connectorId: CONNECTOR_OF_TRANSFER,
      now: '(select service_now())',
    })} and not exists (
      select from connector_state where opened_at is not null and connector_id = ${CONNECTOR_OF_TRANSFER}
    ) and (
      ${CONNECTOR_OF_TRANSFER} is null or ${CONNECTOR_OF_TRANSFER} = any (:connectorIds)
    )
    order by scheduled_for limit :count`,
);

/**
 * Finds scheduled transfers that are due, oldest first. Transfers wait if they are disabled, or if their processor cannot be
 * reached, and never block the others. Transfers also wait if their connector is not among this process's `connectorIds`.
 */
export function findDueTransfers(connectorIds: readonly string[], count: number): Statement {
  return FIND_DUE_TRANSFERS({ connectorIds, count });
}

const COUNT_SCHEDULED_ELSEWHERE = statement(
  'count_scheduled_elsewhere',
  { connectorIds: many(TEXT) },
  `select found.connector_id, count(*)::int as transfers, min(found.scheduled_for) as first_due
    from (
      select ${CONNECTOR_OF_TRANSFER} as connector_id, scheduled_for from transfer where status = 'scheduled'
    ) as found
    where found.connector_id is not null and found.connector_id <> all (:connectorIds)
    group by found.connector_id order by found.connector_id`,
);

/** Counts the scheduled transfers of each connector that is not among `connectorIds`, and finds the time when the first is due. */
export function countScheduledElsewhere(connectorIds: readonly string[]): Statement {
  return COUNT_SCHEDULED_ELSEWHERE({ connectorIds });
}
