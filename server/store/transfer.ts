import type { ErrorRecord } from '../../domain/error-record.ts';
import type { Transfer, TransferOutcome, TransferStatus, TransferType } from '../../domain/transfer.ts';
import type { Row, Statement } from './database.ts';
import { joinTexts, plainArray, splitTexts } from './texts.ts';

const COLUMNS = `transfer.program_id, transfer.transfer_id, transfer.type, transfer.card_id, card.name as card_name,
  transfer.destination_card_id, destination.name as destination_card_name, transfer.amount, transfer.captured_amount,
  transfer.reversed_amount, transfer.currency, transfer.status, transfer.outcome, transfer.capture,
  transfer.expires_at, transfer.scheduled_for, transfer.description, transfer.reference, transfer.metadata,
  transfer.error, transfer.request_id, transfer.created_at, transfer.updated_at, transfer.completed_at`;

const JOINED = `join card on card.program_id = transfer.program_id and card.card_id = transfer.card_id
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

/** Reads one transfer. */
export function readTransfer(programId: string, transferId: string): Statement {
  return {
    name: 'read_transfer',
    text: `select ${COLUMNS} from transfer ${JOINED}
      where transfer.program_id = $1 and transfer.transfer_id = $2`,
    values: [programId, transferId],
  };
}

/** What a list of transfers is narrowed to; `after` is the last transfer of the page before (inner UUID). */
export type TransferFilter = {
  readonly after: string | null;
  readonly count: number;
  readonly cardName: string | null;
  readonly type: TransferType | null;
  readonly status: TransferStatus | null;
  readonly reference: string | null;
  readonly idempotencyKey: string | null;
};

const CONDITIONS: readonly (readonly [keyof TransferFilter, (place: string) => string])[] = [
  ['after', (place) => `transfer.transfer_id < ${place}::uuid`],
  [
    'cardName',
    (place) => `transfer.card_id = (select card_id from card where card.program_id = $1 and card.name = ${place})`,
  ],
  ['type', (place) => `transfer.type = ${place}`],
  ['status', (place) => `transfer.status = ${place}`],
  ['reference', (place) => `transfer.reference = ${place}`],
  [
    'idempotencyKey',
    (place) => `transfer.transfer_id = (select subject_id from idempotency where idempotency.program_id = $1
        and idempotency.operation = 'create_transfer' and idempotency.key = ${place})`,
  ],
];

/** Reads a page of transfers, newest first. The text has only the conditions that are asked for, so that each has
 * the plan that suits it; the name says which they are. */
export function listTransfers(programId: string, filter: TransferFilter): Statement {
  const used = CONDITIONS.filter(([name]) => filter[name] !== null);
  const conditions = used.map(([, condition], index) => `and ${condition(`$${index + 3}`)}`);
  return {
    name: ['list_transfers', ...used.map(([name]) => name)].join('_by_'),
    // The page first, the cards' names after it: joined the other way round it could be sorted out of everything.
    text: `select ${COLUMNS} from (
        select * from transfer where transfer.program_id = $1 ${conditions.join(' ')}
        order by transfer.transfer_id desc limit $2
      ) as transfer ${JOINED} order by transfer.transfer_id desc`,
    values: [programId, filter.count, ...used.map(([name]) => filter[name])],
  };
}

/** A transfer from a row of {@link readTransfer} or {@link listTransfers}. */
export function toTransfer(row: Row): Transfer {
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
    capture: row.capture as 'automatic' | 'manual',
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
