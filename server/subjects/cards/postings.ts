import { PostingRecord, type StatementPage } from '../../../contract/cards.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { toWire } from '../../../domain/ledger/money.ts';
import type { Call, Reply, Service } from '../../calls/call.ts';
import { LINES_FIRST, type Pages, writeCsv } from '../../calls/csv-export.ts';
import { readPeriod } from '../../calls/fields.ts';
import { cursorFault, DEFAULT_LIMIT } from '../../calls/page.ts';
import { cardMissing } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { forEachPiece, readInTurn } from '../../calls/turns.ts';
import {
  type CardStatement,
  readStatement,
  readStatementLines,
  type StatementLine,
  type StatementPageRequest,
  toCardStatement,
  toStatementLines,
} from '../../store/ledger/statement.ts';

type StatementCall = Call<'list_postings'> | Call<'export_postings'>;

/**
 * list_postings: returns a page of a card's statement, newest line first, with the opening and the closing balance, or throws
 * `card_not_found`. The cursor contains the number of the card's last line when the first page was read. So all pages show the same
 * balances, and exclude later postings.
 */
export async function listPostings(service: Service, call: Call<'list_postings'>): Promise<Reply<'list_postings'>> {
  const { limit = DEFAULT_LIMIT } = call.query;
  const { upTo, below } = readLineCursor(call);
  const { statement, lines } = await loadStatement(service, call, { count: limit, upTo, below });
  const lowest = lines.at(-1)?.sequence;
  const hasMore = lowest !== undefined && lowest > statement.first + 1n;
  const record: StatementPage = {
    data: lines.map(toPostingRecord),
    next_cursor: hasMore ? `pst_${statement.last}_${lowest}` : null,
    card_id: statement.cardName,
    currency: statement.currency,
    opening_balance: toWire(statement.openingBalance),
    closing_balance: toWire(statement.closingBalance),
  };
  return { record };
}

/** export_postings: returns a card's statement as CSV, oldest line first. It ends with the last line at the start of the export. */
export async function exportPostings(
  service: Service,
  call: Call<'export_postings'>,
): Promise<Reply<'export_postings'>> {
  return { csv: await writeCsv('postings', PostingRecord, readPages(service, call), call.query.raw === true) };
}

async function* readPages(service: Service, call: Call<'export_postings'>): Pages {
  const turns = forEachPiece(call);
  const { statement } = await readInTurn(turns, () =>
    loadStatement(service, call, { count: 0, upTo: null, below: null }),
  );
  const { accountId, first, last } = statement;
  let count = LINES_FIRST;
  for (let low = first; low < last; ) {
    const high = low + BigInt(count) < last ? low + BigInt(count) : last;
    const page = readStatementLines(call.programId, accountId, low, high);
    const rows = await readInTurn(turns, () => readRows(service.database, page));
    count = yield toStatementLines(rows).map(toPostingRecord);
    low = high;
  }
}

/** Loads one page of a card's statement for the period of the query. Throws `card_not_found`. */
async function loadStatement(
  service: Service,
  call: StatementCall,
  page: StatementPageRequest,
): Promise<{ readonly statement: CardStatement; readonly lines: readonly StatementLine[] }> {
  const { card_id: name } = call.params;
  const period = readPeriod(call, call.query);
  const rows = await readRows(service.database, readStatement(call.programId, name, period, page));
  const [row] = rows;
  if (row === undefined) throw cardMissing(name);
  return { statement: toCardStatement(row), lines: toStatementLines(rows) };
}

function readLineCursor(call: Call<'list_postings'>): Pick<StatementPageRequest, 'upTo' | 'below'> {
  const { cursor } = call.query;
  if (cursor === undefined) return { upTo: null, below: null };
  // Line numbers of a card never have more than 15 digits, so they fit into a bigint of PostgreSQL.
  const [, upTo, below] = /^pst_([1-9][0-9]{0,14})_([1-9][0-9]{0,14})$/.exec(cursor) ?? [];
  if (upTo === undefined || below === undefined) throw cursorFault(call);
  return { upTo: BigInt(upTo), below: BigInt(below) };
}

function toPostingRecord(line: StatementLine): PostingRecord {
  return {
    sequence: Number(line.sequence),
    purpose: line.purpose as PostingRecord['purpose'],
    direction: line.direction,
    amount: toWire(line.amount),
    balance: toWire(line.balance),
    currency: line.currency,
    transfer_id: line.transferId === null ? null : toWireId('tr', line.transferId),
    reversal_id: line.reversalId === null ? null : toWireId('rev', line.reversalId),
    created_at: line.createdAt.toISOString(),
    description: line.description,
    reference: line.reference,
  };
}
