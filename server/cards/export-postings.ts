import { PostingRecord } from '../../contract/cards.ts';
import { readRows } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import { answerCsv, LINES_FIRST, type Pages } from '../operations/csv-export.ts';
import type { Service } from '../operations/service.ts';
import { readInTurn } from '../operations/turns.ts';
import { readStatementLines, toStatementLines } from '../store/ledger/statement.ts';
import { loadStatement } from './list-postings.ts';
import { toPostingRecord } from './posting-record.ts';

/**
 * export_postings: a card's statement as comma-separated values, oldest line first, up to the line that is the last when
 * it begins; or `card_not_found`.
 */
export function exportPostings(service: Service, call: Call): Promise<Reply> {
  return answerCsv('postings', PostingRecord, readPages(service, call));
}

async function* readPages(service: Service, call: Call): Pages {
  const { statement } = await readInTurn(call.programId, () =>
    loadStatement(service, call, { count: 0, upTo: null, below: null }),
  );
  const { accountId, first, last } = statement;
  let count = LINES_FIRST;
  for (let low = first; low < last; ) {
    const high = low + BigInt(count) < last ? low + BigInt(count) : last;
    const page = readStatementLines(call.programId, accountId, low, high);
    const rows = await readInTurn(call.programId, () => readRows(service.database, page));
    count = yield toStatementLines(rows).map(toPostingRecord);
    low = high;
  }
}
