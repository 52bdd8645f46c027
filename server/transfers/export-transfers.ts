import { TransferRecord } from '../../contract/transfers.ts';
import { readRows } from '../commit/transaction.ts';
import type { Call, Reply } from '../operations/call.ts';
import { answerCsv, LINES_FIRST, type Pages } from '../operations/csv-export.ts';
import { toTransferRecord } from '../operations/records.ts';
import type { Service } from '../operations/service.ts';
import { readInTurn } from '../operations/turns.ts';
import {
  isSifted,
  listTransfers,
  readNewestTransfer,
  type Stretch,
  toStretchRead,
} from '../store/transfers/transfer-list.ts';
import type { TransferFilter } from '../store/transfers/transfer-route.ts';
import { readTransferFilter } from './transfer-filter.ts';

/** Transfers that one statement looks at, where not all of them are meant. */
const LOOK = 5000;

/** export_transfers: comma-separated values, oldest first, up to the transfer that is the newest when it begins. */
export function exportTransfers(service: Service, call: Call): Promise<Reply> {
  const filter = readTransferFilter(call);
  return answerCsv('transfers', TransferRecord, readPages(service, call.programId, filter));
}

async function* readPages({ database }: Service, programId: string, filter: TransferFilter): Pages {
  const [newest] = await readInTurn(programId, () => readRows(database, readNewestTransfer(programId)));
  if (newest === undefined) return;
  const until = newest.transfer_id as string;
  const sifted = isSifted(filter);
  let after: string | null = null;
  let count = LINES_FIRST;
  do {
    const stretch: Stretch = { order: 'oldest_first', after, until, count, look: sifted ? LOOK : count };
    const rows = await readInTurn(programId, () => readRows(database, listTransfers(programId, filter, stretch)));
    const { transfers, next } = toStretchRead(rows, stretch);
    count = yield transfers.map(toTransferRecord);
    after = next;
  } while (after !== null);
}
