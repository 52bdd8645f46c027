import type { Card } from '../../domain/cards/card.ts';
import type { MoveInLineKind, MoveInStatus, MoveInTotals } from '../../domain/move-in.ts';
import { CARD_DETAILS, type CardDetails, toCardDetails } from './card.ts';
import type { Row, Statement } from './connection/database.ts';
import { ACCOUNT } from './ledger/account.ts';
import { LIMITS } from './ledger/limits.ts';
import {
  BIGINT,
  BOOLEAN,
  CURRENCY,
  columns,
  DATE,
  HEX,
  INTEGER,
  insertRow,
  insertRows,
  json,
  many,
  newestOfProgram,
  nullable,
  type RowOf,
  rows,
  statement,
  statementOfRows,
  TEXT,
  TIME,
  UUID,
  word,
} from './sql.ts';

const MOVE_IN = columns({
  moveInId: UUID,
  programId: UUID,
  name: TEXT,
  sha256: HEX,
  /** When the old ledger had the balances. */
  asOf: TIME,
  status: word<MoveInStatus>(),
  lineCount: INTEGER,
  linesReceived: INTEGER,
  linesUndone: INTEGER,
  /** The sums that the old ledger states. */
  statedTotals: nullable(json<MoveInTotals>()),
  totals: json<MoveInTotals>(),
  createdAt: TIME,
  createdBy: TEXT,
  movedAt: nullable(TIME),
  undoneAt: nullable(TIME),
  undoneBy: nullable(TEXT),
  undoNote: nullable(TEXT),
});

/** Cards that move in from another ledger. Ids are inner UUIDs. */
export type MoveIn = RowOf<typeof MOVE_IN.columns>;

export const toMoveIn: (row: Row) => MoveIn = MOVE_IN.read;

/** Inserts a move-in. If the program has one of the same file that was not undone, the transaction fails (23505). */
export const insertMoveIn = insertRow('insert_move_in', 'move_in', MOVE_IN);

export const readMoveIn = statement(
  'read_move_in',
  { moveInId: UUID },
  `select ${MOVE_IN.names} from move_in where move_in_id = :moveInId`,
);

export const lockMoveIn = statement(
  'lock_move_in',
  { programId: UUID, moveInId: UUID },
  `select ${MOVE_IN.names} from move_in where program_id = :programId and move_in_id = :moveInId for no key update`,
);

/** Reads the move-in of a program with this file that was not undone: one row, or none. */
export const findMoveIn = statement(
  'find_move_in',
  { programId: UUID, sha256: HEX },
  `select ${MOVE_IN.names} from move_in
    where program_id = :programId and sha256 = :sha256 and status in ('receiving', 'moved')`,
);

/** Reads a page of move-ins, newest first, after the one with the inner UUID `after`. */
export const listMoveIns = newestOfProgram('list_move_ins', 'move_in', MOVE_IN);

/** Stores the progress of a move-in, which must be locked. */
export const updateMoveIn = statement(
  'update_move_in',
  MOVE_IN.pick(
    ...(['programId', 'moveInId', 'status', 'linesReceived', 'linesUndone', 'totals'] as const),
    ...(['movedAt', 'undoneAt', 'undoneBy', 'undoNote'] as const),
  ).columns,
  `update move_in
    set status = :status, lines_received = :linesReceived, lines_undone = :linesUndone, totals = :totals,
      moved_at = :movedAt, undone_at = :undoneAt, undone_by = :undoneBy, undo_note = :undoNote
    where program_id = :programId and move_in_id = :moveInId`,
);

const LINE = columns({
  programId: UUID,
  moveInId: UUID,
  lineNumber: INTEGER,
  /** Null for a card or a hold. */
  kind: nullable(word<Exclude<MoveInLineKind, 'card' | 'hold'>>()),
  /** The card that the line created or took up again, or that it is about. */
  cardId: UUID,
  /** The transfer that holds the money, or held it until it was released. Null for other lines. */
  transferId: nullable(UUID),
  /** In minor units: the balance of the card, the amount of the hold, or what the balance changes by. 0 for other lines. */
  amount: BIGINT,
  /** The reference of a finished transfer of the old ledger, and the hash of its idempotency key. */
  reference: nullable(TEXT),
  keyHash: nullable(UUID),
});

export type StoredLine = RowOf<typeof LINE.columns>;

/** The kind of a stored line. */
export function kindOf({ kind, transferId }: Pick<StoredLine, 'kind' | 'transferId'>): MoveInLineKind {
  return kind ?? (transferId === null ? 'card' : 'hold');
}

export const insertMoveInLines = insertRows('insert_move_in_lines', 'move_in_line', LINE);

const LINE_WITH_CARD = columns({ ...LINE.columns, cardName: TEXT });

/** A line and the name of its card. */
export type LineWithCard = RowOf<typeof LINE_WITH_CARD.columns>;

export const toLineWithCard: (row: Row) => LineWithCard = LINE_WITH_CARD.read;

/** Reads the lines `first` to `last` of a move-in that have taken effect, last line first. */
export const readMoveInLines = statement(
  'read_move_in_lines',
  { programId: UUID, moveInId: UUID, first: INTEGER, last: INTEGER },
  `select ${LINE.of('line')}, card.name as card_name
    from (
      select * from move_in_line
      where program_id = :programId and move_in_id = :moveInId and line_number >= :first and line_number <= :last
      order by line_number desc
    ) as line
    cross join lateral (
      select name from card where card.program_id = :programId and card.card_id = line.card_id limit 1
    ) as card`,
);

/** Marks lines as undone: their cards no longer belong to the move-in. */
export const markLinesUndone = statement(
  'mark_lines_undone',
  { programId: UUID, moveInId: UUID, first: INTEGER, last: INTEGER },
  `update move_in_line set is_undone = true
    where program_id = :programId and move_in_id = :moveInId and line_number >= :first and line_number <= :last`,
);

/** SQL: whether money of a card has moved by a transfer, and has not moved back in full. Opening balances are no transfers. */
const HAS_MOVED = `(
    exists (
      select from transfer where transfer.program_id = card.program_id and transfer.card_id = card.card_id
        and transfer.captured_amount > transfer.reversed_amount
    ) or exists (
      select from transfer where transfer.program_id = card.program_id and transfer.destination_card_id = card.card_id
        and transfer.captured_amount > transfer.reversed_amount
    )
  )`;

/** SQL: the sum of the open holds on a card that are lines of a move-in. */
const HELD_BY_LINES = `coalesce((
    select sum(hold.amount) from move_in_line as placed join hold using (program_id, transfer_id)
    where placed.program_id = card.program_id and placed.card_id = card.card_id
  ), 0)`;

/**
 * SQL: whether any line about a card can matter, except those that moved it in: a line that changes a balance, or a line of a later
 * move-in. It is evaluated once. Without such lines, a million cards take half the time.
 */
const HAS_OTHER_LINES = `(
    exists (select from move_in where program_id = :programId and move_in_id > :moveInId and status <> 'undone')
    or exists (select from move_in_line where program_id = :programId and kind = 'change' and not is_undone)
  )`;

/**
 * SQL: `changed` is the sum of the changes of a card by lines of the same move-in. `later_move_in` is the newest later move-in with a
 * line about the card. `has_own_line`: the move-in has moved the card in. Undone lines do not count.
 */
const LINES_OF_CARD = `select coalesce(sum(amount) filter (where move_in_id = line.move_in_id and kind = 'change'), 0) as changed,
      max(move_in_id::text) filter (where move_in_id > line.move_in_id)::uuid as later_move_in,
      count(*) filter (where move_in_id = line.move_in_id and kind is null and transfer_id is null) > 0 as has_own_line
    from move_in_line
    where ${HAS_OTHER_LINES}
      and move_in_line.program_id = card.program_id and move_in_line.card_id = card.card_id and not is_undone`;

/** SQL: a hold of a move-in that was captured. Its card can belong to another move-in. */
const IS_CAPTURED = `(
    line.kind is null and exists (
      select from transfer where transfer.program_id = line.program_id and transfer.transfer_id = line.transfer_id
        and transfer.captured_amount > transfer.reversed_amount
    )
  )`;

/** SQL: a card or a change that cannot be undone. A closed card cannot get money back, except on the way to the opening balance that is undone. */
const IS_USED = `(
    line.kind is null and account.balance <> line.amount + of_card.changed
    or line.kind = 'change' and card.status = 'closed' and not of_card.has_own_line
    or account.incoming <> 0 or account.held <> 0 and account.held <> ${HELD_BY_LINES}
    or account.sequence > 1 and ${HAS_MOVED} or of_card.later_move_in is not null
  )`;

/**
 * Reads a line of a move-in that cannot be undone, if there is one: a card whose money has moved since, that holds money for another
 * transfer, that was closed after its balance was changed, or that a later move-in has changed, or a captured hold. Reads all cards of
 * the move-in, which takes seconds for a large one.
 */
export const findUsedLine = statement(
  'find_used_line',
  { programId: UUID, moveInId: UUID },
  `select line.line_number, card.name as card_name, account.balance, account.currency,
      case when line.kind is null and line.transfer_id is null then line.amount + of_card.changed
        else account.balance end::bigint as amount,
      card.status = 'closed' as is_closed, of_card.later_move_in
    from move_in_line as line
    join card on card.program_id = :programId and card.card_id = line.card_id
    join account on account.program_id = :programId and account.account_id = card.account_id
    cross join lateral (${LINES_OF_CARD}) as of_card
    where line.program_id = :programId and line.move_in_id = :moveInId
      and ((line.kind is null and line.transfer_id is null or line.kind = 'change') and ${IS_USED} or ${IS_CAPTURED})
    limit 1`,
);

export const toUsedLine = columns({
  lineNumber: INTEGER,
  cardName: TEXT,
  amount: BIGINT,
  balance: BIGINT,
  currency: CURRENCY,
  isClosed: BOOLEAN,
  laterMoveIn: nullable(UUID),
}).read;

const NAMES = { programId: UUID, names: many(TEXT) };

/**
 * Locks and reads the accounts of the named cards, and the funding and world accounts of the program, in the order of their ids. A
 * name without a card is left out.
 */
export const lockAccountsOfMoveIn = statement(
  'lock_accounts_of_move_in',
  NAMES,
  `select account.* from (
      select account_id from (
        select found.account_id from unnest(:names) as wanted (name)
        cross join lateral (
          select account_id from card where card.program_id = :programId and card.name = wanted.name limit 1
        ) as found
        union
        select account_id from account where owner_id = :programId and kind in ('funding', 'world')
      ) as wanted order by account_id
    ) as ordered
    cross join lateral (
      select ${ACCOUNT.names} from account
      where account.program_id = :programId and account.account_id = ordered.account_id for no key update
    ) as account`,
);

/**
 * Reads cards by their names, with their accounts, which must be locked. `moved_by` is the move-in whose line the card belongs to.
 * `left_behind`: an undo has closed the card, so it can move in again, unless its holder was erased.
 */
export const readCardsOfMoveIn = statement(
  'read_cards_of_move_in',
  NAMES,
  `select ${CARD_DETAILS}, line.moved_by, line.latest_move_in, ${HAS_MOVED} as has_moved,
      card.status = 'closed' and account.balance = 0 and line.moved_by is null and line.was_moved
        and not exists (
          select from card_erasure
          where card_erasure.program_id = card.program_id and card_erasure.card_id = card.card_id
        ) as left_behind
    from unnest(:names) as wanted (name)
    cross join lateral (
      select * from card where card.program_id = :programId and card.name = wanted.name limit 1
    ) as card
    join program on program.program_id = card.program_id
    join account on account.program_id = card.program_id and account.account_id = card.account_id
    cross join lateral (
      select count(*) filter (where is_card) > 0 as was_moved,
        (array_agg(move_in_id) filter (where is_card and not is_undone))[1] as moved_by,
        max(move_in_id::text) filter (where not is_undone)::uuid as latest_move_in
      from (
        select move_in_id, is_undone, kind is null and transfer_id is null as is_card from move_in_line
        where move_in_line.program_id = card.program_id and move_in_line.card_id = card.card_id
      ) as of_card
    ) as line`,
);

/** A card as {@link readCardsOfMoveIn} returns it. */
export type CardOfMoveIn = CardDetails & {
  readonly isLeftBehind: boolean;
  /** The inner UUID of the move-in that the card belongs to, or null. */
  readonly movedBy: string | null;
  /** The inner UUID of the newest move-in with a line about the card that is not undone, or null. */
  readonly latestMoveIn: string | null;
  /** Whether money has moved by a transfer of the card, and not moved back. */
  readonly hasMoved: boolean;
};

export const toCardOfMoveIn = (row: Row): CardOfMoveIn => ({
  ...toCardDetails(row),
  isLeftBehind: row.left_behind === true,
  movedBy: row.moved_by as string | null,
  latestMoveIn: row.latest_move_in as string | null,
  hasMoved: row.has_moved === true,
});

const NEW_ACCOUNT = columns({ ...ACCOUNT.omit('version').columns, ownerId: UUID });

/** Inserts the accounts of new cards with their balances. The owner of an account is its card. */
export const insertCardAccounts = statement(
  'insert_card_accounts',
  { sent: rows(NEW_ACCOUNT), now: TIME },
  `insert into account (${NEW_ACCOUNT.names}, created_at) select sent.*, :now::timestamptz from :sent`,
);

const CARD = columns({
  programId: UUID,
  cardId: UUID,
  name: TEXT,
  status: word<Card['status']>(),
  currency: CURRENCY,
  accountId: UUID,
  fundingAccountId: UUID,
  limits: nullable(LIMITS),
  holderReference: nullable(TEXT),
  lastFour: nullable(TEXT),
  metadata: json<CardDetails['metadata']>(),
  createdAt: DATE,
  updatedAt: DATE,
  expiresOn: nullable(TEXT),
});

const flat = ({ card, ...shown }: Omit<CardDetails, 'account' | 'today'>) => ({ ...card, ...shown });

const INSERT_CARDS = statementOfRows(
  'insert_cards',
  CARD,
  `insert into card (${CARD.names}) select ${CARD.omit('expiresOn').names}, expires_on::date from :sent`,
);

/** Inserts cards, whose accounts must exist. */
export function insertCards(cards: readonly CardDetails[]): Statement {
  return INSERT_CARDS(cards.map(flat));
}

const UPDATE_CARDS = statementOfRows(
  'update_cards',
  CARD.pick(
    ...(['programId', 'cardId', 'status', 'limits', 'holderReference', 'lastFour'] as const),
    ...(['metadata', 'updatedAt', 'expiresOn'] as const),
  ),
  `update card set status = sent.status, limits = sent.limits, holder_reference = sent.holder_reference,
      last_four = sent.last_four, metadata = sent.metadata, updated_at = sent.updated_at,
      expires_on = sent.expires_on::date
    from :sent where card.program_id = sent.program_id and card.card_id = sent.card_id`,
);

/** Updates cards, whose accounts must be locked. */
export function updateCards(cards: readonly CardDetails[]): Statement {
  return UPDATE_CARDS(cards.map(flat));
}
