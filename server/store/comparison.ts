import type { Card } from '../../domain/cards/card.ts';
import type { CardHere, ComparisonStatus, Difference, DifferenceCounts } from '../../domain/comparison.ts';
import type { MoveInTotals } from '../../domain/move-in.ts';
import type { Row, Statement } from './connection/database.ts';
import { balanceAfter } from './ledger/statement.ts';
import {
  BIGINT,
  BOOLEAN,
  CURRENCY,
  columns,
  HEX,
  INTEGER,
  insertRow,
  json,
  many,
  newestOfProgram,
  nullable,
  type RowOf,
  rows,
  SUM,
  statement,
  statementVariants,
  TEXT,
  TIME,
  UUID,
  word,
} from './sql.ts';

/**
 * The open cards of a program, the number of their postings, the sum of their holds, and the sum of their fingerprints. If the last one
 * is the same, no card has changed. The others say what has changed.
 */
export type ComparedBooks = {
  readonly cards: number;
  readonly postings: string;
  readonly held: string;
  readonly fingerprints: string;
};

const COMPARISON = columns({
  programId: UUID,
  comparisonId: UUID,
  name: TEXT,
  sha256: HEX,
  /** The books as they were just after this time are compared. Null for the current books. */
  asOf: nullable(TIME),
  status: word<ComparisonStatus>(),
  cardCount: INTEGER,
  cardsReceived: INTEGER,
  /** All cards up to this one are compared. Null before the first one. */
  lastCard: nullable(TEXT),
  differenceCount: INTEGER,
  differingCards: INTEGER,
  differences: json<DifferenceCounts>(),
  totalsHere: json<MoveInTotals>(),
  totalsThere: json<MoveInTotals>(),
  /** Sums that show later whether the cards have changed since. */
  books: json<ComparedBooks>(),
  createdAt: TIME,
  createdBy: TEXT,
  comparedAt: nullable(TIME),
  cutOverAt: nullable(TIME),
  cutOverBy: nullable(TEXT),
  cutOverNote: nullable(TEXT),
});

/** A comparison of a card program with a balance file. Ids are inner UUIDs. */
export type Comparison = RowOf<typeof COMPARISON.columns>;

export const toComparison: (row: Row) => Comparison = COMPARISON.read;

export const insertComparison = insertRow('insert_comparison', 'comparison', COMPARISON);

export const readComparison = statement(
  'read_comparison',
  { comparisonId: UUID },
  `select ${COMPARISON.names} from comparison where comparison_id = :comparisonId`,
);

export const lockComparison = statement(
  'lock_comparison',
  { comparisonId: UUID },
  `select ${COMPARISON.names} from comparison where comparison_id = :comparisonId for no key update`,
);

/** Reads a page of comparisons, newest first, after the one with the inner UUID `after`. */
export const listComparisons = newestOfProgram('list_comparisons', 'comparison', COMPARISON);

/** Stores the progress of a comparison, which must be locked. */
export const updateComparison = statement(
  'update_comparison',
  COMPARISON.omit('programId', 'name', 'sha256', 'asOf', 'cardCount', 'createdAt', 'createdBy').columns,
  `update comparison
    set status = :status, cards_received = :cardsReceived, last_card = :lastCard,
      difference_count = :differenceCount, differing_cards = :differingCards, differences = :differences,
      totals_here = :totalsHere, totals_there = :totalsThere, books = :books, compared_at = :comparedAt,
      cut_over_at = :cutOverAt, cut_over_by = :cutOverBy, cut_over_note = :cutOverNote
    where comparison_id = :comparisonId`,
);

const DIFFERENCE = columns({
  number: INTEGER,
  cardName: TEXT,
  reason: word<Difference['reason']>(),
  currency: CURRENCY,
  here: nullable(BIGINT),
  there: nullable(BIGINT),
  transferId: nullable(UUID),
  reference: nullable(TEXT),
  message: TEXT,
});

/** A difference with its number in the comparison, from 1. */
export type StoredDifference = RowOf<typeof DIFFERENCE.columns>;

export const toStoredDifference: (row: Row) => StoredDifference = DIFFERENCE.read;

export const insertDifferences = statement(
  'insert_differences',
  { comparisonId: UUID, sent: rows(DIFFERENCE) },
  `insert into comparison_difference (comparison_id, ${DIFFERENCE.names})
    select :comparisonId::uuid, ${DIFFERENCE.names} from :sent`,
);

const LIST_DIFFERENCES = statementVariants({
  comparisonId: UUID,
  reason: nullable(word<Difference['reason']>()),
  after: INTEGER,
  count: INTEGER,
});

/** Reads the differences of a comparison after the one with the number `after`. */
export function listDifferences(
  comparisonId: string,
  reason: Difference['reason'] | null,
  after: number,
  count: number,
): Statement {
  const name = reason === null ? 'list_differences' : 'list_differences_with_reason';
  const condition = reason === null ? '' : 'and reason = :reason';
  const text = () => `select ${DIFFERENCE.names} from comparison_difference
    where comparison_id = :comparisonId and number > :after ${condition} order by number limit :count`;
  return LIST_DIFFERENCES(name, text, { comparisonId, reason, after, count });
}

/**
 * SQL: the cards that take part even if the file does not have them. A card program can have older cards, which did not move in and
 * which the old ledger never had.
 */
const TAKES_PART = `(
    card.created_at >= coalesce((select min(created_at) from move_in where program_id = :programId), '-infinity')
    or exists (
      select from move_in_line
      where move_in_line.program_id = card.program_id and move_in_line.card_id = card.card_id and not is_undone
    )
  )`;

const HOLDS = `select json_agg(json_build_object('transferId', transfer.transfer_id, 'amount', transfer.amount::text,
      'reference', transfer.reference) order by transfer.transfer_id)
    from transfer`;

const OPEN_HOLDS = `join hold on hold.program_id = transfer.program_id and hold.transfer_id = transfer.transfer_id
      where transfer.program_id = card.program_id and transfer.card_id = card.card_id and transfer.status = 'pending'
        and hold.source_account_id = card.account_id`;

/** SQL: the open holds on a card. */
const HOLDS_NOW = `case when account.held = 0 then null else (${HOLDS} ${OPEN_HOLDS}) end`;

/**
 * SQL: the holds on a card that were open at a time. A scheduled transfer holds money from the time that it is due. A hold ends when
 * its transfer is completed, expires, or changes for the last time.
 */
const HOLDS_THEN = `(
      ${HOLDS}
      where transfer.program_id = card.program_id and transfer.card_id = card.card_id and transfer.type <> 'load'
        and transfer.capture = 'manual' and coalesce(transfer.scheduled_for, transfer.created_at) < :before
        and (transfer.expires_at is null or transfer.expires_at >= :before)
        and (transfer.status in ('pending', 'expired')
          or transfer.status = 'completed' and transfer.completed_at >= :before
          or transfer.status = 'canceled' and transfer.updated_at >= :before)
    )`;

/**
 * SQL: a number that changes with everything that is compared of a card: its status, its balance and its holds. The amount and the
 * reference of a hold never change.
 */
const FINGERPRINT = `hashtextextended(concat_ws(' ', card.card_id, card.status, account.sequence, account.held,
      case when account.held = 0 then null else (
        select string_agg(transfer.transfer_id::text, ' ' order by transfer.transfer_id) from transfer ${OPEN_HOLDS}
      ) end), 0)`;

/** SQL: the cards that can be compared. A processor has the balances of its cards. */
const HAS_BALANCE = 'card.connector_id is null';

const COMPARED = columns({
  cardId: UUID,
  name: TEXT,
  currency: CURRENCY,
  status: word<Card['status']>(),
  balance: BIGINT,
  sequence: BIGINT,
  held: BIGINT,
  fingerprint: BIGINT,
  takesPart: BOOLEAN,
});

/** A card here with its open holds, for a comparison. `sequence` is the number of its postings. */
export type ComparedHere = RowOf<typeof COMPARED.columns> & Pick<CardHere, 'holds'>;

type StoredHold = { readonly transferId: string; readonly amount: string; readonly reference: string | null };

export const toComparedHere = (row: Row): ComparedHere => ({
  ...COMPARED.read(row),
  holds: ((row.holds ?? []) as readonly StoredHold[]).map((hold) => ({ ...hold, amount: BigInt(hold.amount) })),
});

const PAGE = statementVariants({
  programId: UUID,
  after: TEXT,
  upTo: nullable(TEXT),
  before: nullable(TIME),
  count: INTEGER,
});

/**
 * Reads the first `count` cards whose names come after `after`, in the order of their bytes, up to `upTo` or to the last card. Closed
 * cards and cards of processors are left out. `before` is a time in milliseconds since 1970: the cards as they were just before it.
 * A card that may have been closed since then is read, but takes part only if the file has it.
 */
export function readComparedCards(page: {
  readonly programId: string;
  readonly after: string;
  readonly upTo: string | null;
  readonly before: number | null;
  readonly count: number;
}): Statement {
  const isPast = page.before !== null;
  const limit = page.upTo === null ? '' : 'and card.name collate "C" <= :upTo';
  const name = `read_compared_cards${isPast ? '_then' : ''}${page.upTo === null ? '_to_the_end' : ''}`;
  const takesPart = isPast ? `card.status <> 'closed' and ${TAKES_PART}` : TAKES_PART;
  const isOpen = isPast
    ? "(status <> 'closed' or updated_at >= :before) and created_at < :before"
    : "status <> 'closed'";
  const text = () => `select card.card_id, card.name, card.currency, card.status, ${takesPart} as takes_part,
      ${isPast ? balanceAfter('card.account_id', 'ended.sequence') : 'account.balance'} as balance,
      ${isPast ? 'ended.sequence' : 'account.sequence'} as sequence,
      ${isPast ? '0::bigint' : 'account.held'} as held, ${isPast ? '0::bigint' : FINGERPRINT} as fingerprint,
      ${isPast ? HOLDS_THEN : HOLDS_NOW} as holds
    from (
      select * from card
      where program_id = :programId and name collate "C" > :after ${limit} and ${HAS_BALANCE} and ${isOpen}
      order by name collate "C" limit :count
    ) as card
    ${
      isPast
        ? 'cross join lateral (select last_sequence_before(:programId, card.account_id, :before) as sequence) as ended'
        : 'join account on account.program_id = card.program_id and account.account_id = card.account_id'
    }
    order by card.name collate "C"`;
  return PAGE(name, text, page);
}

/** The largest number of a card's transfers that may explain a difference. */
const EXPLAINING_TRANSFERS = 20;

const MOVED_BY_CARD = columns({ cardId: UUID, transferId: UUID, added: BIGINT });

export const toMovedByCard: (row: Row) => RowOf<typeof MOVED_BY_CARD.columns> = MOVED_BY_CARD.read;

/** Reads what each of the latest transfers of cards has added to their balances, the newest first. Without those that moved nothing. */
export const readMovedByCards = statement(
  'read_moved_by_cards',
  { programId: UUID, cardIds: many(UUID), before: nullable(TIME) },
  `select wanted.card_id, moved.transfer_id, moved.added from unnest(:cardIds) as wanted (card_id)
    cross join lateral (
      select * from (
        (
          select transfer_id, case when type = 'load' then 1 else -1 end * (captured_amount - reversed_amount) as added
          from transfer
          where program_id = :programId and card_id = wanted.card_id and captured_amount > reversed_amount
            and (:before::timestamptz is null or created_at < :before)
          order by transfer_id desc limit ${EXPLAINING_TRANSFERS}
        ) union all (
          select transfer_id, captured_amount - reversed_amount from transfer
          where program_id = :programId and destination_card_id = wanted.card_id
            and captured_amount > reversed_amount and (:before::timestamptz is null or created_at < :before)
          order by transfer_id desc limit ${EXPLAINING_TRANSFERS}
        )
      ) as either order by transfer_id desc limit ${EXPLAINING_TRANSFERS}
    ) as moved`,
);

const BOOKS = columns({ cards: INTEGER, postings: SUM, held: SUM, fingerprints: SUM });

export function toComparedBooks(row: Row): ComparedBooks {
  const { cards, postings, held, fingerprints } = BOOKS.read(row);
  return { cards, postings: String(postings), held: String(held), fingerprints: String(fingerprints) };
}

/**
 * SQL: figures that show without reading all cards whether lines of move-ins were added or undone, or a card was created.
 * `unfinished` is a move-in of which only a part of the lines has taken effect. Without stated sums, it can be a delta that was
 * interrupted, and the next delta has replaced its other lines.
 */
const MARKS = `(
      select coalesce(sum(lines_received::bigint + lines_undone), 0)::bigint from move_in where program_id = :programId
    ) as lines, (
      select move_in_id from move_in
      where program_id = :programId
        and (status = 'undoing' or status = 'receiving' and lines_received > 0 and stated_totals is not null)
      order by move_in_id limit 1
    ) as unfinished, (select card_id from card where program_id = :programId order by card_id desc limit 1) as newest_card`;

const MARK_COLUMNS = columns({ lines: BIGINT, unfinished: nullable(UUID), newestCard: nullable(UUID) });

/** The progress of the move-ins of a program, and its newest card. */
export type CardMarks = RowOf<typeof MARK_COLUMNS.columns>;

export const toCardMarks: (row: Row) => CardMarks = MARK_COLUMNS.read;

export const readCardMarks = statement('read_card_marks', { programId: UUID }, `select ${MARKS}`);

/** Sums the open cards of a program. Reads all of them, which takes seconds for a million. With the columns of {@link toCardMarks}. */
export const sumBooksOfCards = statement(
  'sum_books_of_cards',
  { programId: UUID },
  `select count(*)::integer as cards, coalesce(sum(account.sequence), 0) as postings, coalesce(sum(account.held), 0) as held,
      coalesce(sum(${FINGERPRINT}), 0) as fingerprints, ${MARKS}
    from card join account on account.program_id = card.program_id and account.account_id = card.account_id
    where card.program_id = :programId and card.status <> 'closed' and ${HAS_BALANCE}`,
);
