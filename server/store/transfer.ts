import type { ErrorRecord } from '../../domain/error-record.ts';
import type { Hold } from '../../domain/hold.ts';
import {
  type Capture,
  type Transfer,
  type TransferOutcome,
  type TransferStatus,
  type TransferType,
  transferAt,
} from '../../domain/transfer.ts';
import type { NamedTransfer } from './account.ts';
import type { Row, Statement } from './database.ts';
import { joinTexts, plainArray, splitTexts } from './texts.ts';

/** The columns of a transfer as its record shows it; needs {@link TRANSFER_JOINED}. `now` tells whether it is over. */
export const TRANSFER_COLUMNS = `transfer.program_id, transfer.transfer_id, transfer.type, transfer.card_id, card.name as card_name,
  transfer.destination_card_id, destination.name as destination_card_name, transfer.amount, transfer.captured_amount,
  transfer.reversed_amount, transfer.currency, transfer.status, transfer.outcome, transfer.capture,
  transfer.expires_at, transfer.scheduled_for, transfer.description, transfer.reference, transfer.metadata,
  transfer.error, transfer.request_id, transfer.created_at, transfer.updated_at, transfer.completed_at,
  case when transfer.status = 'pending' then service_now() end as now`;

/** The names of a transfer's cards. */
export const TRANSFER_JOINED = `join card on card.program_id = transfer.program_id and card.card_id = transfer.card_id
  left join card as destination
    on destination.program_id = transfer.program_id and destination.card_id = transfer.destination_card_id`;

/** Reads which of the references are taken, and by which transfer. Must come after the references were locked. */
export function readReferences(
  references: readonly { readonly programId: string; readonly reference: string }[],
): Statement {
  return {
    name: 'read_references',
    text: `select found.* from unnest($1::uuid[], $2::text[]) as asked(program_id, reference)
      cross join lateral (
        select program_id, reference, transfer_id from transfer
        where transfer.program_id = asked.program_id and transfer.reference = asked.reference limit 1
      ) as found`,
    values: [references.map((asked) => asked.programId), references.map((asked) => asked.reference)],
  };
}

/**
 * Writes transfers that were completed as they were made. What follows from that (captured amount, outcome, times) is
 * not sent, because every column of a group costs on the way.
 */
export function insertCompletedTransfers(transfers: readonly Transfer[], now: number): Statement {
  const column = <Value>(read: (transfer: Transfer) => Value): Value[] => transfers.map(read);
  return {
    name: 'insert_completed_transfers',
    text: `insert into transfer (program_id, transfer_id, type, card_id, destination_card_id, amount, captured_amount,
        currency, status, outcome, capture, description, reference, metadata, request_id, created_at, updated_at,
        completed_at)
      select program_id, transfer_id, type, card_id, destination_card_id, amount, amount, currency, 'completed', 'final',
        'automatic', description, reference, metadata::jsonb, request_id, $12::timestamptz, $12, $12
      from unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::bigint[], $7::char(3)[], $8::text[],
        $9::text[], ${splitTexts('$10')}, $11::uuid[])
        as unnested(program_id, transfer_id, type, card_id, destination_card_id, amount, currency, description, reference,
          metadata, request_id)`,
    values: [
      plainArray(column((transfer) => transfer.programId)),
      plainArray(column((transfer) => transfer.transferId)),
      plainArray(column((transfer) => transfer.type)),
      plainArray(column((transfer) => transfer.cardId)),
      plainArray(column((transfer) => transfer.destinationCardId)),
      plainArray(column((transfer) => transfer.amount)),
      plainArray(column((transfer) => transfer.currency)),
      column((transfer) => transfer.description),
      column((transfer) => transfer.reference),
      joinTexts(column((transfer) => JSON.stringify(transfer.metadata))),
      plainArray(column((transfer) => transfer.requestId)),
      new Date(now),
    ],
  };
}

/** Writes transfers that begin in any other way: holds, and those that are scheduled. */
export function insertOpenTransfers(transfers: readonly Transfer[]): Statement {
  const column = <Value>(read: (transfer: Transfer) => Value): Value[] => transfers.map(read);
  const times = (read: (transfer: Transfer) => number | null): (Date | null)[] => column(read).map(toDate);
  return {
    name: 'insert_open_transfers',
    text: `insert into transfer (program_id, transfer_id, type, card_id, destination_card_id, amount, captured_amount,
        reversed_amount, currency, status, outcome, capture, expires_at, scheduled_for, description, reference, metadata,
        error, request_id, created_at, updated_at, completed_at)
      select program_id, transfer_id, type, card_id, destination_card_id, amount, captured_amount, reversed_amount,
        currency, status, outcome, capture, expires_at, scheduled_for, description, reference, metadata::jsonb,
        error::jsonb, request_id, created_at, updated_at, completed_at
      from unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::bigint[], $7::bigint[], $8::bigint[],
        $9::char(3)[], $10::text[], $11::text[], $12::text[], $13::timestamptz[], $14::timestamptz[], $15::text[],
        $16::text[], ${splitTexts('$17')}, ${splitTexts('$18')}, $19::uuid[], $20::timestamptz[], $21::timestamptz[],
        $22::timestamptz[])
        as unnested(program_id, transfer_id, type, card_id, destination_card_id, amount, captured_amount,
          reversed_amount, currency, status, outcome, capture, expires_at, scheduled_for, description, reference,
          metadata, error, request_id, created_at, updated_at, completed_at)`,
    values: [
      plainArray(column((transfer) => transfer.programId)),
      plainArray(column((transfer) => transfer.transferId)),
      plainArray(column((transfer) => transfer.type)),
      plainArray(column((transfer) => transfer.cardId)),
      plainArray(column((transfer) => transfer.destinationCardId)),
      plainArray(column((transfer) => transfer.amount)),
      plainArray(column((transfer) => transfer.capturedAmount)),
      plainArray(column((transfer) => transfer.reversedAmount)),
      plainArray(column((transfer) => transfer.currency)),
      plainArray(column((transfer) => transfer.status)),
      plainArray(column((transfer) => transfer.outcome)),
      plainArray(column((transfer) => transfer.capture)),
      times((transfer) => transfer.expiresAt),
      times((transfer) => transfer.scheduledFor),
      column((transfer) => transfer.description),
      column((transfer) => transfer.reference),
      joinTexts(column((transfer) => JSON.stringify(transfer.metadata))),
      joinTexts(column((transfer) => (transfer.error === null ? null : JSON.stringify(transfer.error)))),
      plainArray(column((transfer) => transfer.requestId)),
      times((transfer) => transfer.createdAt),
      times((transfer) => transfer.updatedAt),
      times((transfer) => transfer.completedAt),
    ],
  };
}

function toDate(time: number | null): Date | null {
  return time === null ? null : new Date(time);
}

/** Reads one transfer. */
export function readTransfer(programId: string, transferId: string): Statement {
  return {
    name: 'read_transfer',
    text: `select ${TRANSFER_COLUMNS} from transfer ${TRANSFER_JOINED}
      where transfer.program_id = $1 and transfer.transfer_id = $2`,
    values: [programId, transferId],
  };
}

/**
 * Reads transfers, as they were last written, with their open holds. Must come after their accounts were locked: both
 * change only under these locks.
 */
export function readTransfersForChange(transfers: readonly NamedTransfer[]): Statement {
  return {
    name: 'read_transfers_for_change',
    text: `select ${TRANSFER_COLUMNS}, hold.source_account_id, hold.destination_account_id, hold.amount as hold_amount,
        hold.expires_at as hold_expires_at, hold.day_start
      from unnest($1::uuid[], $2::uuid[]) as named(program_id, transfer_id)
      cross join lateral (
        select * from transfer
        where transfer.program_id = named.program_id and transfer.transfer_id = named.transfer_id limit 1
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
    values: [
      plainArray(transfers.map((named) => named.programId)),
      plainArray(transfers.map((named) => named.transferId)),
    ],
  };
}

/** A transfer and its hold from a row of {@link readTransfersForChange}. */
export function toStandingTransfer(row: Row): { readonly transfer: Transfer; readonly hold: Hold | undefined } {
  const transfer = toWrittenTransfer(row);
  if (row.hold_amount === null) return { transfer, hold: undefined };
  const hold: Hold = {
    programId: transfer.programId,
    transferId: transfer.transferId,
    sourceAccountId: row.source_account_id as string,
    destinationAccountId: row.destination_account_id as string,
    amount: row.hold_amount as bigint,
    expiresAt: (row.hold_expires_at as Date).getTime(),
    dayStart: (row.day_start as Date).getTime(),
  };
  return { transfer, hold };
}

/** Writes what transfers have become; their accounts must be locked. What the caller attached to them stays. */
export function updateTransfers(transfers: readonly Transfer[]): Statement {
  const column = <Value>(read: (transfer: Transfer) => Value): Value[] => transfers.map(read);
  const times = (read: (transfer: Transfer) => number | null): (Date | null)[] => column(read).map(toDate);
  return {
    name: 'update_transfers',
    text: `update transfer set status = changed.status, outcome = changed.outcome,
        captured_amount = changed.captured_amount, reversed_amount = changed.reversed_amount,
        error = changed.error::jsonb, updated_at = changed.updated_at, completed_at = changed.completed_at
      from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], ${splitTexts('$7')},
        $8::timestamptz[], $9::timestamptz[])
        as changed(program_id, transfer_id, status, outcome, captured_amount, reversed_amount, error, updated_at,
          completed_at)
      where transfer.program_id = changed.program_id and transfer.transfer_id = changed.transfer_id`,
    values: [
      plainArray(column((transfer) => transfer.programId)),
      plainArray(column((transfer) => transfer.transferId)),
      plainArray(column((transfer) => transfer.status)),
      plainArray(column((transfer) => transfer.outcome)),
      plainArray(column((transfer) => transfer.capturedAmount)),
      plainArray(column((transfer) => transfer.reversedAmount)),
      joinTexts(column((transfer) => (transfer.error === null ? null : JSON.stringify(transfer.error)))),
      times((transfer) => transfer.updatedAt),
      times((transfer) => transfer.completedAt),
    ],
  };
}

/** Locks a transfer against others that change its metadata; what moves its money locks accounts instead. */
export function lockTransfer({ programId, transferId }: NamedTransfer): Statement {
  return {
    name: 'lock_transfer',
    text: 'select from transfer where program_id = $1 and transfer_id = $2 for no key update',
    values: [programId, transferId],
  };
}

/** Gives a transfer other metadata; it must be locked. */
export function writeMetadata(named: NamedTransfer, metadata: Transfer['metadata'], now: number): Statement {
  return {
    name: 'write_metadata',
    text: `update transfer set metadata = $3, updated_at = $4
      where transfer.program_id = $1 and transfer.transfer_id = $2`,
    values: [named.programId, named.transferId, JSON.stringify(metadata), new Date(now)],
  };
}

/** A transfer as it is now, from a row with {@link TRANSFER_COLUMNS}: a hold that is past its end has expired. */
export function toTransfer(row: Row): Transfer {
  const written = toWrittenTransfer(row);
  return row.now instanceof Date ? transferAt(written, row.now.getTime()) : written;
}

function toWrittenTransfer(row: Row): Transfer {
  const time = (value: unknown): number | null => (value instanceof Date ? value.getTime() : null);
  return {
    programId: row.program_id as string,
    transferId: row.transfer_id as string,
    type: row.type as TransferType,
    cardId: row.card_id as string,
    cardName: row.card_name as string,
    destinationCardId: row.destination_card_id as string | null,
    destinationCardName: row.destination_card_name as string | null,
    amount: row.amount as bigint,
    capturedAmount: row.captured_amount as bigint,
    reversedAmount: row.reversed_amount as bigint,
    currency: row.currency as string,
    status: row.status as TransferStatus,
    outcome: row.outcome as TransferOutcome,
    capture: row.capture as Capture,
    expiresAt: time(row.expires_at),
    scheduledFor: time(row.scheduled_for),
    description: row.description as string | null,
    reference: row.reference as string | null,
    metadata: row.metadata as Record<string, string>,
    error: row.error as ErrorRecord | null,
    requestId: row.request_id as string,
    createdAt: time(row.created_at) ?? 0,
    updatedAt: time(row.updated_at) ?? 0,
    completedAt: time(row.completed_at),
  };
}
