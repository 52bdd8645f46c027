import type { Card } from '../../domain/cards/card.ts';
import type { MoveInStatus, MoveInTotals } from '../../domain/move-in.ts';
import { CARD_DETAILS, type CardDetails, toCardDetails } from './card.ts';
import type { Row, Statement } from './connection/database.ts';
import { ACCOUNT } from './ledger/account.ts';
import { LIMITS } from './ledger/limits.ts';
import {
  BIGINT,
  CURRENCY,
  columns,
  DATE,
  HEX,
  INTEGER,
  insertRow,
  insertRows,
  json,
  many,
  nullable,
  type RowOf,
  rows,
  statement,
  statementOfRows,
  statementVariants,
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

const LIST = statementVariants({ programId: nullable(UUID), after: nullable(UUID), count: INTEGER });

/** Reads a page of move-ins, newest first, after the one with the inner UUID `after`. */
export function listMoveIns(programId: string | null, after: string | null, count: number): Statement {
  const conditions = [
    ...(programId === null ? [] : ['program_id = :programId']),
    ...(after === null ? [] : ['move_in_id < :after']),
  ];
  const name = `list_move_ins${programId === null ? '' : '_of_program'}${after === null ? '' : '_after'}`;
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  const text = () => `select ${MOVE_IN.names} from move_in ${where} order by move_in_id desc limit :count`;
  return LIST(name, text, { programId, after, count });
}

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
  /** The card that the line created or took up again, or the card of the hold. */
  cardId: UUID,
  /** The transfer that holds the money. Null for a card. */
  transferId: nullable(UUID),
  /** The balance of the card, or the amount of the hold, in minor units. */
  amount: BIGINT,
});

export type StoredLine = RowOf<typeof LINE.columns>;

export const insertMoveInLines = insertRows('insert_move_in_lines', 'move_in_line', LINE);

const LINE_WITH_CARD = columns({ ...LINE.columns, cardName: TEXT });

/** A line and the name of its card. */
export type LineWithCard = RowOf<typeof LINE_WITH_CARD.columns>;

export const toLineWithCard: (row: Row) => LineWithCard = LINE_WITH_CARD.read;

/** Reads the lines `first` to `last` of a move-in, last line first. */
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

/**
 * Reads a line of a move-in that cannot be undone, if there is one: a card with another balance than it moved in with, or a hold of
 * the move-in that was captured. Reads all cards of the move-in.
 */
export const findUsedLine = statement(
  'find_used_line',
  { programId: UUID, moveInId: UUID },
  `select line.line_number, card.name as card_name, line.amount, account.balance, account.currency
    from move_in_line as line
    join card on card.program_id = :programId and card.card_id = line.card_id
    join account on account.program_id = :programId and account.account_id = card.account_id
    where line.program_id = :programId and line.move_in_id = :moveInId and line.transfer_id is null and account.balance <> line.amount
    limit 1`,
);

export const toUsedLine = columns({
  lineNumber: INTEGER,
  cardName: TEXT,
  amount: BIGINT,
  balance: BIGINT,
  currency: CURRENCY,
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
 * Reads cards by their names, with their accounts, which must be locked. `left_behind`: an undone move-in has left the card behind,
 * closed and without a balance, so it can move in again.
 */
export const readCardsOfMoveIn = statement(
  'read_cards_of_move_in',
  NAMES,
  `select ${CARD_DETAILS}, card.status = 'closed' and account.balance = 0 and exists (
        select from move_in_line join move_in using (program_id, move_in_id)
        where move_in_line.program_id = :programId and move_in_line.card_id = card.card_id and transfer_id is null and move_in.status in ('undoing', 'undone')
      ) as left_behind
    from unnest(:names) as wanted (name)
    cross join lateral (
      select * from card where card.program_id = :programId and card.name = wanted.name limit 1
    ) as card
    join program on program.program_id = card.program_id
    join account on account.program_id = card.program_id and account.account_id = card.account_id`,
);

/** A card as {@link readCardsOfMoveIn} returns it. */
export const toCardOfMoveIn = (row: Row): CardDetails & { readonly isLeftBehind: boolean } => ({
  ...toCardDetails(row),
  isLeftBehind: row.left_behind === true,
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
