import { type CardStatus, EXPIRING_CARD_STATUSES } from '../../../domain/cards/card.ts';
import { CARD_DETAILS, type CardDetails, toCardDetails } from '../card.ts';
import type { Row, Statement } from '../connection/database.ts';
import { NUMBER, nullable, statement, statementVariants, TEXT, UUID, word, wordList } from '../sql.ts';

/** The conditions of a list of cards. Null means no condition. */
export type CardFilter = {
  /** Today's status. After its last day, a card has expired. */
  readonly status: CardStatus | null;
  readonly lastFour: string | null;
  readonly holderReference: string | null;
  /** The beginning of the wire id. */
  readonly prefix: string | null;
  readonly metadata: { readonly name: string; readonly value: string } | null;
};

export const EVERY_CARD: CardFilter = {
  status: null,
  lastFour: null,
  holderReference: null,
  prefix: null,
  metadata: null,
};

export type CardChunk = {
  /** The last card of the previous chunk (inner UUID), or null for the first. */
  readonly after: string | null;
  readonly count: number;
  /** Maximum number of cards that are compared with the filter. It limits the time of a chunk if matches are rare. */
  readonly maxExamined: number;
};

/** An index, and the cards that are found through it. */
type Route = {
  readonly name: string;
  /** The parts of the filter that all cards on the route match. */
  readonly covers: readonly (keyof CardFilter)[];
  /** The index columns before the card's id, with their values. Both ends of the searched range have these values. */
  readonly lead: readonly (readonly [column: string, value: string])[];
  readonly condition?: string;
  /** Whether cards are found by a metadata pair, through the table of the metadata. */
  readonly isByPair?: true;
  /** Whether cards are ordered by name, in byte order. Otherwise, they are newest first. */
  readonly isByName?: true;
};

const PROGRAM = ['program_id', ':programId::uuid'] as const;

const BY_PREFIX: Route = {
  name: 'by_prefix',
  covers: ['prefix'],
  lead: [],
  // Ids are visible ASCII, so every id with this prefix sorts below the prefix followed by U+007F.
  condition: `and card.name collate "C" >= :prefix and card.name collate "C" < :prefix || U&'\\007F'`,
  isByName: true,
};
const BY_HOLDER: Route = {
  name: 'by_holder',
  covers: ['holderReference'],
  lead: [['holder_reference', ':holderReference::text'], PROGRAM],
};
const BY_LAST_FOUR: Route = {
  name: 'by_last_four',
  covers: ['lastFour'],
  lead: [['last_four', ':lastFour::char(4)'], PROGRAM],
};
const BY_METADATA: Route = { name: 'by_metadata', covers: ['metadata'], lead: [], isByPair: true };
const BY_STATUS: Route = {
  name: 'by_status',
  // A card that is stored as suspended may have expired, so the current status of each card is compared.
  covers: [],
  lead: [['status', ':status::text']],
  condition: "and card.status <> 'active'",
};
const ALL: Route = { name: '', covers: [], lead: [] };

/** Returns the route for a filter. It uses the index that usually finds the fewest cards. */
function routeFor({ prefix, holderReference, lastFour, metadata, status }: CardFilter): Route {
  if (holderReference !== null) return BY_HOLDER;
  if (lastFour !== null) return BY_LAST_FOUR;
  if (prefix !== null) return BY_PREFIX;
  if (metadata !== null) return BY_METADATA;
  // Most cards are active, and an expired card keeps its stored status.
  return status === null || status === 'active' || status === 'expired' ? ALL : BY_STATUS;
}

/** Returns whether a list compares more cards than it returns. False if one index covers the filter. */
export function isCardFiltered(filter: CardFilter): boolean {
  const { covers } = routeFor(filter);
  return (Object.keys(filter) as (keyof CardFilter)[]).some((name) => filter[name] !== null && !covers.includes(name));
}

/** Returns whether the list is ordered by name. If so, it continues after a card's name instead of its id. */
export function isCardListByName(filter: CardFilter): boolean {
  return routeFor(filter).isByName === true;
}

export const findListedCard = statement(
  'find_listed_card',
  { programId: UUID, cardId: UUID },
  'select card_id from card where program_id = :programId and card_id = :cardId',
);

const FIRST_ID = "'00000000-0000-0000-0000-000000000000'::uuid";
const LAST_ID = "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid";

const CONDITIONS: readonly (readonly [covered: keyof CardFilter, parameter: string, condition: string])[] = [
  [
    'status',
    ':status::text',
    `case when card.status in (${wordList(EXPIRING_CARD_STATUSES)}) and card.expires_on < (
        select (service_now() at time zone time_zone)::date from program where program.program_id = :programId
      ) then 'expired' else card.status end = :status`,
  ],
  ['lastFour', ':lastFour::char(4)', 'card.last_four = :lastFour'],
  ['holderReference', ':holderReference::text', 'card.holder_reference = :holderReference'],
  ['prefix', ':prefix::text', 'starts_with(card.name, :prefix)'],
  ['metadata', ':metadataName::text', 'card.metadata ->> :metadataName = :metadataValue'],
];

const LIST_CARDS = statementVariants({
  programId: UUID,
  status: nullable(word<CardStatus>()),
  lastFour: nullable(TEXT),
  holderReference: nullable(TEXT),
  prefix: nullable(TEXT),
  metadataName: nullable(TEXT),
  metadataValue: nullable(TEXT),
  after: nullable(UUID),
  maxExamined: NUMBER,
  count: NUMBER,
});

/**
 * Reads a chunk of a program's cards: newest first, or by id if the filter has a prefix. One index finds the candidates, and at
 * most `maxExamined` of them are compared with the rest of the filter.
 */
export function listCards(programId: string, filter: CardFilter, chunk: CardChunk): Statement {
  const route = routeFor(filter);
  const isLater = chunk.after !== null;
  const filtered = isCardFiltered(filter);
  const name = ['list_cards', route.name, filtered ? 'scan' : '', isLater ? 'after' : ''].filter((part) => part !== '');
  const { metadata, ...rest } = filter;
  const pair = { metadataName: metadata?.name ?? null, metadataValue: metadata?.value ?? null };
  return LIST_CARDS(name.join('_'), () => textOf(route, filtered, isLater), {
    programId,
    ...rest,
    ...pair,
    ...chunk,
  });
}

/**
 * SQL: the cards on a route, from the end of the previous chunk. Because the ids have a lower and an upper bound, the planner
 * chooses the route's index even before it has statistics of the table.
 */
function along({ lead, condition = '', isByName, isByPair }: Route, isLater: boolean): string {
  if (isByPair) {
    return `select card.* from (
          select card_id from card_metadata
          where program_id = :programId and name = :metadataName and value = :metadataValue
            ${isLater ? 'and card_id < :after' : ''}
          order by card_id desc limit :maxExamined
        ) as pair cross join lateral (
          select * from card where card.program_id = :programId and card.card_id = pair.card_id limit 1
        ) as card`;
  }
  const columns = lead.map(([column]) => `card.${column}`);
  const equal = lead.filter((one) => one !== PROGRAM).map(([column, value]) => `and card.${column} = ${value}`);
  const where = ['card.program_id = :programId', ...equal, condition].join(' ');
  if (isByName) {
    const after = '(select name from card where card.program_id = :programId and card.card_id = :after)';
    const isBeyond = isLater ? `and card.name collate "C" > ${after}` : '';
    return `select * from card where ${where} ${isBeyond} order by card.name collate "C" limit :maxExamined`;
  }
  const key = `(${[...columns, 'card.card_id'].join(', ')})`;
  const end = (last: string): string => `(${[...lead.map(([, value]) => value), last].join(', ')})`;
  const isBeyond = isLater ? `< ${end(':after::uuid')}` : `<= ${end(LAST_ID)}`;
  return `select * from card where ${where} and ${key} >= ${end(FIRST_ID)} and ${key} ${isBeyond}
        order by ${[...columns, 'card.card_id'].map((column) => `${column} desc`).join(', ')} limit :maxExamined`;
}

function textOf(route: Route, filtered: boolean, isLater: boolean): string {
  const [key, onward, backward] = route.isByName ? ['name collate "C"', 'asc', 'desc'] : ['card_id', 'desc', 'asc'];
  const matches = filtered
    ? CONDITIONS.filter(([covered]) => !route.covers.includes(covered))
        .map(([, parameter, condition]) => `(${parameter} is null or ${condition})`)
        .join(' and ')
    : 'true';
  return `with candidate as materialized (
      select card.card_id, card.name, ${matches} as matches from (
        ${along(route, isLater)}
      ) as card
    )
    select ${CARD_DETAILS}, walk.examined, walk.reached
    from (
      select (select count(*) from candidate) as examined,
        (select card_id from candidate order by ${key} ${backward} limit 1) as reached
    ) as walk
    left join (
      select card_id, name from candidate where matches order by ${key} ${onward} limit :count
    ) as page on true
    left join lateral (
      select * from card where card.program_id = :programId and card.card_id = page.card_id limit 1
    ) as card on true
    left join lateral (
      select * from account
      where account.program_id = :programId and account.account_id = card.account_id limit 1
    ) as account on true
    left join lateral (select time_zone from program where program.program_id = :programId limit 1) as program on true
    order by page.${key} ${onward}`;
}

/** Returns the cards of a chunk, from the rows of {@link listCards}. `next` is where the next chunk begins, or null at the end. */
export function toCardChunk(
  rows: readonly Row[],
  chunk: CardChunk,
): { readonly items: readonly CardDetails[]; readonly next: string | null } {
  const items = rows.filter((row) => row.card_id !== null).map(toCardDetails);
  const last = items.at(-1);
  if (last !== undefined && items.length === chunk.count) return { items, next: last.card.cardId };
  const [row] = rows;
  const isCutShort = row !== undefined && Number(row.examined) === chunk.maxExamined;
  return { items, next: isCutShort ? (row.reached as string) : null };
}
