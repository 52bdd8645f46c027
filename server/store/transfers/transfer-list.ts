import type { Transfer, TransferStatus, TransferType } from '../../../domain/transfers/transfer.ts';
import type { Row, Statement } from '../connection/database.ts';
import { REPLICATED } from '../connection/standby.ts';
import { hashKey } from '../idempotency.ts';
import { DATE, NUMBER, nullable, statement, statementVariants, TEXT, UUID, word } from '../sql.ts';
import { TRANSFER_COLUMNS, toTransfer } from './transfer.ts';
import { type Along, cardIdOf, type Route, routeFor, type TransferFilter } from './transfer-route.ts';

/** A chunk of transfers in the order of their ids (inner UUIDs). */
export type Chunk = {
  readonly order: 'newest_first' | 'oldest_first';
  /** The last transfer of the previous chunk, or null for the first chunk. */
  readonly after: string | null;
  /** The newest transfer of an export, which begins with the oldest. Null if the export has no end. */
  readonly until: string | null;
  readonly count: number;
  /** Maximum number of transfers that are compared with the filter. It limits the time of a chunk if matches are rare. */
  readonly maxExamined: number;
};

/** The transfers of a chunk. `next` is where the next chunk begins, or null at the end. */
export type ChunkRead = { readonly transfers: readonly Transfer[]; readonly next: string | null };

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
/** Sorts after every transfer. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const READ_NEWEST_TRANSFER = statement(
  'read_newest_transfer',
  { programId: UUID },
  'select transfer_id from transfer where program_id = :programId order by transfer_id desc limit 1',
);

export function readNewestTransfer(programId: string): Statement {
  return READ_NEWEST_TRANSFER({ programId });
}

/** Returns whether a list compares more transfers than it returns. False if one index covers the filter. */
export function isFiltered(filter: TransferFilter): boolean {
  const { covers } = routeFor(filter);
  const names = Object.keys(filter) as (keyof TransferFilter)[];
  return names.some((name) => filter[name] !== null && !covers.includes(name));
}

const LIST_TRANSFERS = statementVariants({
  programId: UUID,
  cardName: nullable(TEXT),
  type: nullable(word<TransferType>()),
  status: nullable(word<TransferStatus>()),
  reference: nullable(TEXT),
  keyHash: nullable(UUID),
  metadataName: nullable(TEXT),
  metadataValue: nullable(TEXT),
  createdFrom: nullable(DATE),
  createdTo: nullable(DATE),
  minimumAmount: nullable(NUMBER),
  maximumAmount: nullable(NUMBER),
  low: UUID,
  high: UUID,
  maxExamined: NUMBER,
  count: NUMBER,
});

/**
 * Reads a chunk of transfers. One index finds the candidates, and at most `maxExamined` of them are compared with the rest of the
 * filter. So a filter that matches nothing in a long history is no slower than any other: the chunk is empty and says where to
 * continue.
 *
 * The planner does not choose that index. The chunk is sorted in an order that only one index has, so the same index is used for
 * a new table and for a full one. The rest of the filter cannot change the plan. The SQL always contains the whole filter. So
 * there are dozens of different statements to plan, not thousands.
 */
export function listTransfers(programId: string, filter: TransferFilter, chunk: Chunk): Statement {
  const route = routeFor(filter);
  const isTimed = filter.createdFrom !== null || filter.createdTo !== null;
  const variant = { route, order: chunk.order, isTimed, isFiltered: isFiltered(filter) };
  const isDown = chunk.order === 'newest_first';
  const { metadata, idempotencyKey, ...rest } = filter;
  return LIST_TRANSFERS(nameOf(variant), () => textOf(variant), {
    ...rest,
    programId,
    keyHash: idempotencyKey === null ? null : hashKey(programId, 'create_transfer', idempotencyKey),
    metadataName: metadata?.name ?? null,
    metadataValue: metadata?.value ?? null,
    low: (isDown ? null : chunk.after) ?? FIRST_ID,
    high: (isDown ? chunk.after : chunk.until) ?? LAST_ID,
    maxExamined: chunk.maxExamined,
    count: chunk.count,
  });
}

/** The properties that determine the SQL of a list. */
type Variant = {
  readonly route: Route;
  readonly order: Chunk['order'];
  readonly isTimed: boolean;
  readonly isFiltered: boolean;
};

/** Returns the name of a variant. Each variant needs its own name, and PostgreSQL compares only the first 63 characters. */
function nameOf({ order, route, isTimed, isFiltered }: Variant): string {
  const verb = order === 'newest_first' ? 'list_transfers' : 'export_transfers';
  const more = isTimed ? 'in_time' : isFiltered ? 'scan' : '';
  return [verb, route.name, more].filter((part) => part !== '').join('_');
}

function textOf({ route, order, isTimed, isFiltered }: Variant): string {
  const [onward, backward] = order === 'newest_first' ? ['desc', 'asc'] : ['asc', 'desc'];
  const ends = endsOf(order, isTimed);
  const along: Along = (table, lead, only) => {
    const [id, ...leading] = ['transfer_id', ...lead.map(([column]) => column)].map((column) => `${table}.${column}`);
    const key = [...leading, id];
    const end = (last: string): string => [...lead.map(([, value]) => value), last].join(', ');
    return `select ${table}.* from ${table}
        where ${table}.program_id = :programId
          ${lead.map(([, value], at) => `and ${leading[at]} = ${value}`).join(' ')} ${only}
          and (${key.join(', ')}) > (${end(ends.low)}) and (${key.join(', ')}) ${ends.below} (${end(ends.high)})
        order by ${key.map((column) => `${column} ${onward}`).join(', ')} limit :maxExamined`;
  };
  const isBetween = (id: string): string => `${id} > ${ends.low} and ${id} ${ends.below} ${ends.high}`;
  const matches = isFiltered ? conditionOf(route) : 'true';
  const branches = route
    .relations(along, isBetween)
    .map((relation) => `select transfer.transfer_id, ${matches} as matches from (${relation}) as transfer`);
  return `with candidate as materialized (
      ${branches.join(' union all ')} ${branches.length > 1 ? `order by transfer_id ${onward}` : ''} limit :maxExamined
    )
    select ${TRANSFER_COLUMNS}, walk.examined, walk.reached, ${REPLICATED}
    from (
      select (select count(*) from candidate) as examined,
        (select transfer_id from candidate order by transfer_id ${backward} limit 1) as reached
    ) as walk
    left join (
      select transfer_id from candidate where matches order by transfer_id ${onward} limit :count
    ) as page on true
    left join lateral (
      select * from transfer where transfer.program_id = :programId and transfer.transfer_id = page.transfer_id limit 1
    ) as transfer on true
    left join lateral (
      select name from card where card.program_id = :programId and card.card_id = transfer.card_id limit 1
    ) as card on true
    left join lateral (
      select name from card where card.program_id = :programId and card.card_id = transfer.destination_card_id limit 1
    ) as destination on true
    order by page.transfer_id ${onward}`;
}

export function toChunkRead(rows: readonly Row[], chunk: Chunk): ChunkRead {
  const transfers = rows.filter((row) => row.transfer_id !== null).map(toTransfer);
  const last = transfers.at(-1);
  if (last !== undefined && transfers.length === chunk.count) return { transfers, next: last.transferId };
  const [row] = rows;
  const isCutShort = row !== undefined && Number(row.examined) === chunk.maxExamined;
  return { transfers, next: isCutShort ? (row.reached as string) : null };
}

type Ends = { readonly low: string; readonly high: string; readonly below: '<' | '<=' };

/**
 * Returns the lowest and the highest possible id of a chunk. An id contains the time of `created_at`. In transfers of earlier
 * versions, it contains the time of the process that received the request. The two times differ by as much as the sandbox's clock
 * was ahead, plus the difference between the clocks of two machines. So a list by time searches that much further in both
 * directions, and compares `created_at`.
 */
function endsOf(order: Chunk['order'], isTimed: boolean): Ends {
  const [low, high] = [':low::uuid', ':high::uuid'];
  const below = order === 'newest_first' ? '<' : '<=';
  if (!isTimed) return { low, high, below };
  const furthest = "(select coalesce(max(furthest), interval '0') from sandbox_clock)";
  // No UUIDv7 contains a time before 1970.
  const first = `uuid_at(greatest(:createdFrom::timestamptz - ${furthest} - interval '1 hour', timestamptz 'epoch'))`;
  const last = `case when :createdTo::timestamptz is null then ${high}
    else least(${high}, uuid_at(greatest(:createdTo::timestamptz + interval '1 hour', timestamptz 'epoch'))) end`;
  return { low: `greatest(${low}, ${first})`, high: last, below };
}

type Condition = readonly [covered: keyof TransferFilter, parameter: string, condition: string];

/** The condition for each parameter that is not null. */
const CONDITIONS: readonly Condition[] = [
  ['type', ':type::text', 'transfer.type = :type'],
  [
    'status',
    ':status::text',
    `case when transfer.status = 'pending' and transfer.expires_at <= (select service_now())
      then 'expired' else transfer.status end = :status`,
  ],
  ['reference', ':reference::text', 'transfer.reference = :reference'],
  ['cardName', ':cardName::text', `${cardIdOf(':cardName')} in (transfer.card_id, transfer.destination_card_id)`],
  [
    'metadata',
    ':metadataName::text',
    `(select true from transfer_metadata as pair where pair.program_id = :programId and pair.name = :metadataName
      and pair.value = :metadataValue and pair.transfer_id = transfer.transfer_id limit 1)`,
  ],
  ['createdFrom', ':createdFrom::timestamptz', 'transfer.created_at >= :createdFrom'],
  ['createdTo', ':createdTo::timestamptz', 'transfer.created_at < :createdTo'],
  ['minimumAmount', ':minimumAmount::bigint', 'transfer.amount >= :minimumAmount'],
  ['maximumAmount', ':maximumAmount::bigint', 'transfer.amount <= :maximumAmount'],
];

/** SQL: whether a transfer matches the parts of the filter that the route does not cover. */
function conditionOf({ covers }: Route): string {
  return CONDITIONS.filter(([covered]) => !covers.includes(covered))
    .map(([, parameter, condition]) => `(${parameter} is null or ${condition})`)
    .join(' and ');
}
