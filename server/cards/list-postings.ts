import type { StatementPage } from '../../contract/cards.ts';
import type { QueryOf } from '../../contract/operations.ts';
import { toWire } from '../../domain/ledger/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import { readRows } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import { cursorFault, DEFAULT_LIMIT } from '../operations/page.ts';
import { readPeriod } from '../operations/period.ts';
import type { Service } from '../operations/service.ts';
import {
  type CardStatement,
  readStatement,
  type StatementLine,
  type StatementPageAsked,
  toCardStatement,
  toStatementLines,
} from '../store/ledger/statement.ts';
import { toPostingRecord } from './posting-record.ts';

/**
 * list_postings: a page of a card's statement, newest line first, with what was on the card before the first line and
 * after the last, or `card_not_found`. The cursor holds the number of the last line of the statement as the first page had it,
 * so every page says the same of its balances, and what is posted meanwhile belongs to the next statement.
 */
export async function listPostings(service: Service, call: Call): Promise<Reply> {
  const { limit = DEFAULT_LIMIT, cursor } = call.members as QueryOf<'list_postings'>;
  const { upTo, below } = readLineCursor(call, cursor);
  const { statement, lines } = await loadStatement(service, call, { count: limit, upTo, below });
  const lowest = lines.at(-1)?.sequence;
  const hasMore = lowest !== undefined && lowest > statement.first + 1n;
  const page: StatementPage = {
    data: lines.map(toPostingRecord),
    next_cursor: hasMore ? `pst_${statement.last}_${lowest}` : null,
    card_id: statement.cardName,
    currency: statement.currency,
    opening_balance: toWire(statement.openingBalance),
    closing_balance: toWire(statement.closingBalance),
  };
  return { status: 200, body: JSON.stringify(page) };
}

/** A card's statement for the time that the query asks for, with a page of it; or `card_not_found`. */
export async function loadStatement(
  service: Service,
  call: Call,
  asked: StatementPageAsked,
): Promise<{ readonly statement: CardStatement; readonly lines: readonly StatementLine[] }> {
  const period = readPeriod(call, call.members as QueryOf<'list_postings'>);
  const name = call.parameters.card_id ?? '';
  const rows = await readRows(service.database, readStatement(call.programId, name, period, asked));
  const [row] = rows;
  if (row === undefined) throw new Refusal('card_not_found', `There is no card '${name}' in this card program.`);
  return { statement: toCardStatement(row), lines: toStatementLines(rows) };
}

function readLineCursor(call: Call, cursor: string | undefined): Pick<StatementPageAsked, 'upTo' | 'below'> {
  if (cursor === undefined) return { upTo: null, below: null };
  // Fifteen digits are more lines than a card will ever have, and fit into a bigint of the store.
  const [, upTo, below] = /^pst_([1-9][0-9]{0,14})_([1-9][0-9]{0,14})$/.exec(cursor) ?? [];
  if (upTo === undefined || below === undefined) throw cursorFault(call);
  return { upTo: BigInt(upTo), below: BigInt(below) };
}
