import type { ErrorRecord } from '../../../domain/error-record.ts';
import type { Hold } from '../../../domain/transfers/hold.ts';
import {
  type Capture,
  type Transfer,
  type TransferOutcome,
  type TransferStatus,
  type TransferType,
  transferAt,
} from '../../../domain/transfers/transfer.ts';
import type { Row, Statement } from '../connection/database.ts';
import { REPLICATED } from '../connection/standby.ts';
import type { NamedTransfer } from '../ledger/account.ts';
import { joinTexts, plainArray, splitTexts } from '../texts.ts';

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

/** How each column of many transfers is sent: the type of the parameter, or how it is taken apart, and its value. */
const SENT = {
  program_id: ['uuid[]', plain((transfer) => transfer.programId)],
  transfer_id: ['uuid[]', plain((transfer) => transfer.transferId)],
  type: ['text[]', plain((transfer) => transfer.type)],
  card_id: ['uuid[]', plain((transfer) => transfer.cardId)],
  destination_card_id: ['uuid[]', plain((transfer) => transfer.destinationCardId)],
  amount: ['bigint[]', plain((transfer) => transfer.amount)],
  captured_amount: ['bigint[]', plain((transfer) => transfer.capturedAmount)],
  reversed_amount: ['bigint[]', plain((transfer) => transfer.reversedAmount)],
  currency: ['char(3)[]', plain((transfer) => transfer.currency)],
  status: ['text[]', plain((transfer) => transfer.status)],
  outcome: ['text[]', plain((transfer) => transfer.outcome)],
  capture: ['text[]', plain((transfer) => transfer.capture)],
  expires_at: ['timestamptz[]', times((transfer) => transfer.expiresAt)],
  scheduled_for: ['timestamptz[]', times((transfer) => transfer.scheduledFor)],
  description: ['text[]', (transfers) => transfers.map((transfer) => transfer.description)],
  reference: ['text[]', (transfers) => transfers.map((transfer) => transfer.reference)],
  metadata: [splitTexts, json((transfer) => transfer.metadata)],
  error: [splitTexts, json((transfer) => transfer.error)],
  request_id: ['uuid[]', plain((transfer) => transfer.requestId)],
  created_at: ['timestamptz[]', times((transfer) => transfer.createdAt)],
  updated_at: ['timestamptz[]', times((transfer) => transfer.updatedAt)],
  completed_at: ['timestamptz[]', times((transfer) => transfer.completedAt)],
} as const satisfies Record<string, readonly [string | ((parameter: string) => string), Send]>;

type Send = (transfers: readonly Transfer[]) => unknown;

function plain(read: (transfer: Transfer) => string | bigint | null): Send {
  return (transfers) => plainArray(transfers.map(read));
}

function times(read: (transfer: Transfer) => number | null): Send {
  return (transfers) => transfers.map((transfer) => toDate(read(transfer)));
}

function json(read: (transfer: Transfer) => object | null): Send {
  return (transfers) =>
    joinTexts(
      transfers.map((transfer) => {
        const value = read(transfer);
        return value === null ? null : JSON.stringify(value);
      }),
    );
}

/** Some of the columns of many transfers: as rows in a statement, and as its first parameters. */
function columnsOf(names: readonly (keyof typeof SENT)[]) {
  const parameters = names.map((name, index) => {
    const [type] = SENT[name];
    return typeof type === 'string' ? `$${index + 1}::${type}` : type(`$${index + 1}`);
  });
  return {
    rows: `unnest(${parameters.join(', ')}) as sent(${names.join(', ')})`,
    send: (transfers: readonly Transfer[]): unknown[] => names.map((name) => SENT[name][1](transfers)),
  };
}

const COMPLETED = columnsOf([
  'program_id',
  'transfer_id',
  'type',
  'card_id',
  'destination_card_id',
  'amount',
  'currency',
  'description',
  'reference',
  'metadata',
  'request_id',
]);

/**
 * Writes transfers that were completed as they were made. What follows from that (captured amount, outcome, times) is
 * not sent, because every column of a group costs on the way.
 */
export function insertCompletedTransfers(transfers: readonly Transfer[], now: number): Statement {
  return {
    name: 'insert_completed_transfers',
    text: `insert into transfer (program_id, transfer_id, type, card_id, destination_card_id, amount, captured_amount,
        currency, status, outcome, capture, description, reference, metadata, request_id, created_at, updated_at,
        completed_at)
      select program_id, transfer_id, type, card_id, destination_card_id, amount, amount, currency, 'completed', 'final',
        'automatic', description, reference, metadata::jsonb, request_id, $12::timestamptz, $12, $12
      from ${COMPLETED.rows}`,
    values: [...COMPLETED.send(transfers), new Date(now)],
  };
}

const OPEN_NAMES = Object.keys(SENT) as (keyof typeof SENT)[];
const OPEN = columnsOf(OPEN_NAMES);
const OPEN_SELECTED = OPEN_NAMES.map((name) =>
  name === 'metadata' || name === 'error' ? `${name}::jsonb` : name,
).join(', ');

/** Writes transfers that begin in any other way: holds, and those that are scheduled. */
export function insertOpenTransfers(transfers: readonly Transfer[]): Statement {
  return {
    name: 'insert_open_transfers',
    text: `insert into transfer (${OPEN_NAMES.join(', ')}) select ${OPEN_SELECTED} from ${OPEN.rows}`,
    values: OPEN.send(transfers),
  };
}

function toDate(time: number | null): Date | null {
  return time === null ? null : new Date(time);
}

/** Reads one transfer. */
export function readTransfer(programId: string, transferId: string): Statement {
  return {
    name: 'read_transfer',
    text: `select ${TRANSFER_COLUMNS}, ${REPLICATED} from transfer ${TRANSFER_JOINED}
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

const CHANGED = columnsOf([
  'program_id',
  'transfer_id',
  'status',
  'outcome',
  'captured_amount',
  'reversed_amount',
  'error',
  'updated_at',
  'completed_at',
]);

/** Writes what transfers have become; their accounts must be locked. What the caller attached to them stays. */
export function updateTransfers(transfers: readonly Transfer[]): Statement {
  return {
    name: 'update_transfers',
    text: `update transfer set status = sent.status, outcome = sent.outcome, captured_amount = sent.captured_amount,
        reversed_amount = sent.reversed_amount, error = sent.error::jsonb, updated_at = sent.updated_at,
        completed_at = sent.completed_at
      from ${CHANGED.rows}
      where transfer.program_id = sent.program_id and transfer.transfer_id = sent.transfer_id`,
    values: CHANGED.send(transfers),
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
