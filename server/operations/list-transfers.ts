import type { ListTransfersQuery } from '../../contract/schemas.ts';
import type { Transfer } from '../../domain/transfer.ts';
import { listTransfers as listTransfersStatement, toTransfer } from '../store/transfer.ts';
import type { Call, Reply } from './call.ts';
import { answerPage } from './page.ts';
import { toTransferRecord } from './records.ts';
import type { Service } from './service.ts';

/** list_transfers: a page, newest first. With `idempotency_key` it answers what became of a request. */
export function listTransfers(service: Service, call: Call): Promise<Reply> {
  const query = call.members as ListTransfersQuery;
  return answerPage<Transfer>(service, call, {
    prefix: 'tr',
    statement: (after, count) =>
      listTransfersStatement(call.programId, {
        after,
        count,
        cardName: query.card_id ?? null,
        type: query.type ?? null,
        status: query.status ?? null,
        reference: query.reference ?? null,
        idempotencyKey: query.idempotency_key ?? null,
      }),
    read: toTransfer,
    idOf: (transfer) => transfer.transferId,
    show: toTransferRecord,
  });
}
