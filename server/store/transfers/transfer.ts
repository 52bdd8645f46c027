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
  CURRENCY,
  columns,
  insertRows,
  json,
  many,
  nullable,
  rows,
  statement,
  statementOfRows,
  TEXT,
  TIME,
  UUID,
  word,
  wordList,
} from '../sql.ts';

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
 * Reads which of the references are taken, and by which transfers. Must come after the references were locked. A failed transfer
 * takes its reference again if its processor later says that it has moved, or may have moved, the money.
 */
export const readReferences = statementOfRows(
  'read_references',
  columns({ programId: UUID, reference: TEXT }),
  `select found.* from :sent
    cross join lateral (
      select * from (
        select program_id, reference, transfer_id, status, expires_at from transfer
        where transfer.program_id = sent.program_id and transfer.reference = sent.reference
          and transfer.status in (${wordList(STATUSES_WITH_REFERENCE)})
        union all
        select ended.* from (
          select program_id, reference, transfer_id, status, expires_at from transfer
          where transfer.program_id = sent.program_id and transfer.reference = sent.reference offset 0
        ) as ended cross join lateral (
          select late_approval_at, contradicted_at, contradiction_settled_at from processor_attempt
          where processor_attempt.program_id = ended.program_id
            and processor_attempt.transfer_id = ended.transfer_id offset 0
        ) as attempt
        where ended.status = 'failed' and (attempt.late_approval_at is not null
          or attempt.contradicted_at is not null and attempt.contradiction_settled_at is null)
      ) as taker limit 1
    ) as found`,
);

export const REFERENCE_TAKER = columns({
  programId: UUID,
  reference: TEXT,
  transferId: UUID,
  status: word<TransferStatus>(),
  expiresAt: nullable(TIME),
});

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
