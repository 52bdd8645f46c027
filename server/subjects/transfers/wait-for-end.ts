import { performance } from 'node:perf_hooks';
import type { TransferRecord } from '../../../contract/transfers.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import type { MoneyMoved } from '../../../domain/refusal.ts';
import { waitsForProcessor } from '../../../domain/transfers/transfer.ts';
import type { CallContext, JsonReply, Moved, WaitReply } from '../../calls/call.ts';
import { toTransferRecord } from '../../calls/records/transfer.ts';
import { readLastAttempts, toAttempt } from '../../store/processors/attempt.ts';
import { readTransfer, toTransfer } from '../../store/transfers/transfer.ts';
import type { TransferService } from './lane.ts';
import { movedBy } from './respond.ts';

// Invariant: Whatever happens while a caller waits for its transfer, the response says that the transfer exists
// Kept by: this file, `server/http/watch.ts`
// Tested by: `test/http/transfer-waits.test.ts`

/** The longest wait for a processor, in seconds. Who prefers a longer one still gets the transfer as it is then. */
const MAX_WAIT_SECONDS = 10;

/** How often the transfer is read while another process may have ended it, in milliseconds. */
const LOOK_MILLISECONDS = 250;

type Found = { readonly record: TransferRecord; readonly moneyMoved: MoneyMoved };

/** Waits until the processor of the card has ended a transfer, or for `seconds`, without a connection to the database. */
export function waitForEnd(
  service: TransferService,
  call: Pick<CallContext, 'programId'>,
  created: TransferRecord,
  seconds: number,
): WaitReply {
  const applied = Math.min(seconds, MAX_WAIT_SECONDS);
  const until = performance.now() + applied * 1000;
  const id = created.transfer_id;
  const wait = (known: TransferRecord): WaitReply => ({
    isStored: true,
    wait: {
      forNews: (signal) =>
        service.processors.whenChanged(id, Math.min(until - performance.now(), LOOK_MILLISECONDS), signal),
      resume: async (isOver) => {
        if (isOver) return replyWith({ record: known, moneyMoved: movedBy(known) });
        const found = await read(service, call, known);
        const isDone = !waitsForProcessor(found.record) || performance.now() >= until;
        return isDone ? replyWith(found) : wait(found.record);
      },
    },
  });
  const replyWith = (found: Found): JsonReply<TransferRecord> & Moved => ({
    ...found,
    preferenceApplied: `wait=${applied}`,
  });
  return wait(created);
}

/** The transfer now. If it cannot be read, as it was: it exists, and an error would deny that. */
async function read(
  { database }: TransferService,
  { programId }: Pick<CallContext, 'programId'>,
  known: TransferRecord,
): Promise<Found> {
  const asKnown = { record: known, moneyMoved: movedBy(known) };
  try {
    const [row] = await database.read(readTransfer(programId, fromWireId('tr', known.transfer_id) ?? ''));
    if (row === undefined) return asKnown;
    const transfer = toTransfer(row);
    const record = toTransferRecord(transfer);
    if (waitsForProcessor(record)) return { record, moneyMoved: movedBy(record) };
    const [last] = await database.read(readLastAttempts([transfer]));
    return { record, moneyMoved: movedBy(record, last === undefined ? undefined : toAttempt(last)) };
  } catch {
    return asKnown;
  }
}
