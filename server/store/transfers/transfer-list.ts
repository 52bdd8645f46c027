import type { Transfer } from '../../../domain/transfers/transfer.ts';
import type { Row, Statement } from '../connection/database.ts';
import { REPLICATED } from '../connection/standby.ts';
import { TRANSFER_COLUMNS, toTransfer } from './transfer.ts';
import { type Along, cardIdOf, type Place, type Route, routeFor, type TransferFilter } from './transfer-route.ts';

/** A stretch of a walk along transfers in the order of their ids. Ids are inner UUIDs. */
export type Stretch = {
  readonly order: 'newest_first' | 'oldest_first';
  /** The transfer where the stretch before ended; null for the first. */
  readonly after: string | null;
  /** The newest transfer that a walk from the oldest on goes to; null for no end. */
  readonly until: string | null;
  /** How many transfers are read at most. */
  readonly count: number;
  /** How many are looked at for that at most: a stretch takes its time and no more, however rare what is sought. */
  readonly look: number;
};

/** What a stretch gave. `next` is where the next one begins; null when there is nothing beyond. */
export type StretchRead = { readonly transfers: readonly Transfer[]; readonly next: string | null };

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Reads the id of a program's newest transfer. */
export function readNewestTransfer(programId: string): Statement {
  return {
    name: 'read_newest_transfer',
    text: 'select transfer_id from transfer where program_id = $1 order by transfer_id desc limit 1',
    values: [programId],
  };
}

/** Whether a list has to look at more transfers than it shows: where one index answers the filter, it has not. */
export function isSifted(filter: TransferFilter): boolean {
  const { covers } = routeFor(filter);
  const names = Object.keys(filter) as (keyof TransferFilter)[];
  return names.some((name) => filter[name] !== null && !covers.includes(name));
}

/**
 * Reads a stretch of transfers. One index leads along those that can be meant, and each of them is held against the
 * rest of the filter, `look` of them at most. A filter that finds nothing in a long history is therefore no slower than
 * any other: the stretch is empty and says where to go on.
 *
 * Which index leads is no choice of the planner's: the stretch is asked for in an order that only one of them has, so it
 * is the same on a young table and on a full one. The rest of the filter cannot change the plan; it stands in the text
 * whole, so that there are some dozens of texts to keep plans for, not thousands.
 */
export function listTransfers(programId: string, filter: TransferFilter, stretch: Stretch): Statement {
  const values: unknown[] = [programId];
  const place: Place = (value) => `$${values.push(value)}`;
  const route = routeFor(filter);
  const sifted = isSifted(filter);
  const timed = filter.createdFrom !== null || filter.createdTo !== null;
  const isDown = stretch.order === 'newest_first';
  const [onward, backward] = isDown ? ['desc', 'asc'] : ['asc', 'desc'];
  const look = place(stretch.look);
  const fits = sifted ? siftOf(filter, route, place) : 'true';
  const ends = endsOf(filter, stretch, timed, place);
  const along: Along = (table, lead, only) => {
    const [id, ...leading] = ['transfer_id', ...lead.map(([column]) => column)].map((column) => `${table}.${column}`);
    const key = [...leading, id];
    const end = (last: string): string => [...lead.map(([, value]) => value), last].join(', ');
    return `select ${table}.* from ${table}
        where ${table}.program_id = $1 ${lead.map(([, value], at) => `and ${leading[at]} = ${value}`).join(' ')} ${only}
          and (${key.join(', ')}) > (${end(ends.low)}) and (${key.join(', ')}) ${ends.below} (${end(ends.high)})
        order by ${key.map((column) => `${column} ${onward}`).join(', ')} limit ${look}`;
  };
  const within = (column: string): string => `${column} > ${ends.low} and ${column} ${ends.below} ${ends.high}`;
  const branches = route
    .relations(filter, place, along, within)
    .map((relation) => `select transfer.transfer_id, ${fits} as fits from (${relation}) as transfer`);
  return {
    name: nameOf(stretch, route, timed ? 'in_time' : sifted ? 'sifted' : ''),
    text: `with candidate as materialized (
        ${branches.join(' union all ')} ${branches.length > 1 ? `order by transfer_id ${onward}` : ''} limit ${look}
      )
      select ${TRANSFER_COLUMNS}, walk.looked, walk.reached, ${REPLICATED}
      from (
        select (select count(*) from candidate) as looked,
          (select transfer_id from candidate order by transfer_id ${backward} limit 1) as reached
      ) as walk
      left join (
        select transfer_id from candidate where fits order by transfer_id ${onward} limit ${place(stretch.count)}
      ) as page on true
      left join lateral (
        select * from transfer where transfer.program_id = $1 and transfer.transfer_id = page.transfer_id limit 1
      ) as transfer on true
      left join lateral (
        select name from card where card.program_id = $1 and card.card_id = transfer.card_id limit 1
      ) as card on true
      left join lateral (
        select name from card where card.program_id = $1 and card.card_id = transfer.destination_card_id limit 1
      ) as destination on true
      order by page.transfer_id ${onward}`,
    values,
  };
}

/** What a stretch gave, from the rows of {@link listTransfers}. */
export function toStretchRead(rows: readonly Row[], stretch: Stretch): StretchRead {
  const transfers = rows.filter((row) => row.transfer_id !== null).map(toTransfer);
  const last = transfers.at(-1);
  if (last !== undefined && transfers.length === stretch.count) return { transfers, next: last.transferId };
  const [row] = rows;
  const isCutShort = row !== undefined && Number(row.looked) === stretch.look;
  return { transfers, next: isCutShort ? (row.reached as string) : null };
}

/** One name for one text; PostgreSQL looks at 63 characters of it. */
function nameOf(stretch: Stretch, route: Route, more: string): string {
  const verb = stretch.order === 'newest_first' ? 'list_transfers' : 'export_transfers';
  return [verb, route.name, more].filter((part) => part !== '').join('_');
}

type Ends = { readonly low: string; readonly high: string; readonly below: '<' | '<=' };

/**
 * Between which ids a stretch lies. An id carries the time of `created_at`. In transfers made before that was so it is
 * the time of the process that took the request: the two differ by how far the sandbox's clock was ahead, and by what
 * the clocks of two machines may differ. So far the ids are looked at on either side, and `created_at` decides.
 */
function endsOf(filter: TransferFilter, { order, after, until }: Stretch, timed: boolean, place: Place): Ends {
  const isDown = order === 'newest_first';
  const low = `${place((isDown ? null : after) ?? FIRST_ID)}::uuid`;
  const high = `${place((isDown ? after : until) ?? LAST_ID)}::uuid`;
  const below = isDown ? '<' : '<=';
  if (!timed) return { low, high, below };
  const from = `${place(filter.createdFrom)}::timestamptz`;
  const to = `${place(filter.createdTo)}::timestamptz`;
  const furthest = "(select coalesce(max(furthest), interval '0') from sandbox_clock)";
  // No UUIDv7 is from before 1970.
  const first = `uuid_at(greatest(${from} - ${furthest} - interval '1 hour', timestamptz 'epoch'))`;
  const last = `case when ${to} is null then ${high}
    else least(${high}, uuid_at(greatest(${to} + interval '1 hour', timestamptz 'epoch'))) end`;
  return { low: `greatest(${low}, ${first})`, high: last, below };
}

/** SQL that holds for a transfer that the rest of the filter means as well. */
function siftOf(filter: TransferFilter, route: Route, place: Place): string {
  const rest = <Name extends keyof TransferFilter>(name: Name): TransferFilter[Name] | null =>
    route.covers.includes(name) ? null : filter[name];
  const unless = (type: string, value: unknown, condition: (placed: string) => string): string => {
    const placed = place(value);
    return `(${placed}::${type} is null or ${condition(placed)})`;
  };
  const metadata = rest('metadata');
  const pairValue = place(metadata?.value ?? null);
  return [
    unless('text', rest('type'), (type) => `transfer.type = ${type}`),
    unless(
      'text',
      rest('status'),
      (status) => `case when transfer.status = 'pending' and transfer.expires_at <= (select service_now())
        then 'expired' else transfer.status end = ${status}`,
    ),
    unless('text', rest('reference'), (reference) => `transfer.reference = ${reference}`),
    unless('text', rest('cardName'), (name) => `${cardIdOf(name)} in (transfer.card_id, transfer.destination_card_id)`),
    unless(
      'text',
      metadata?.name ?? null,
      (name) => `(select true from transfer_metadata as pair where pair.program_id = $1 and pair.name = ${name}
        and pair.value = ${pairValue} and pair.transfer_id = transfer.transfer_id limit 1)`,
    ),
    unless('timestamptz', rest('createdFrom'), (from) => `transfer.created_at >= ${from}`),
    unless('timestamptz', rest('createdTo'), (to) => `transfer.created_at < ${to}`),
    unless('bigint', rest('minimumAmount'), (minimum) => `transfer.amount >= ${minimum}`),
    unless('bigint', rest('maximumAmount'), (maximum) => `transfer.amount <= ${maximum}`),
  ].join(' and ');
}
