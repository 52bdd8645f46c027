import { TransferRecord } from '../../contract/transfer-schemas.ts';
import { isSifted, listTransfers, readNewestTransfer, type Stretch, toStretchRead } from '../store/transfer-list.ts';
import type { TransferFilter } from '../store/transfer-route.ts';
import type { Call, Reply } from './call.ts';
import { answerCsv, LINES_FIRST, type Pages } from './csv-export.ts';
import { toTransferRecord } from './records.ts';
import type { Service } from './service.ts';
import { readRows } from './transaction.ts';
import { readTransferFilter } from './transfer-filter.ts';
import { readInTurn } from './turns.ts';

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
