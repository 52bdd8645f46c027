import { performance } from 'node:perf_hooks';
import type { CreateTransferBody, TransferRecord } from '../../../contract/transfers.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { readAmount } from '../../../domain/ledger/money.ts';
import { type MoneyMoved, Refusal } from '../../../domain/refusal.ts';
import { waitsForProcessor } from '../../../domain/transfers/transfer.ts';
import type { Call, CallContext, JsonReply, Moved, Reply, WaitReply } from '../../calls/call.ts';
import { toTransferRecord } from '../../calls/records/transfer.ts';
import { readLastAttempts, toAttempt } from '../../store/processors/attempt.ts';
import { readTransfer, toTransfer } from '../../store/transfers/transfer.ts';
import type { TransferService } from './lane.ts';
import { type CreateRequest, checkTerms, toCreateRequest } from './request.ts';
import { movedBy, toTransferReply } from './respond.ts';

/**
 * create_transfer (specification, section 4): returns the transfer, or throws the first refusal that applies. The group that
 * commits the transfer makes all decisions, except for the validation of the request. If the caller prefers to wait, the reply is
 * sent after the processor has answered or the wait is over.
 */
export async function createTransfer(
  service: TransferService,
  call: Call<'create_transfer'>,
): Promise<Reply<'create_transfer'>> {
  const outcome = await service.transfers.submit(readCreateRequest(call), call.deadline);
  const { waitSeconds = 0 } = call;
  if (waitSeconds > 0 && !(outcome instanceof Refusal) && 'record' in outcome) {
    const { record } = outcome;
    // A replay equals the first response, even if the transfer has changed since then.
    if ('card_id' in record && waitsForProcessor(record)) return waitForEnd(service, call, record, waitSeconds);
  }
  return toTransferReply(service, call, outcome, movedOf(call.body));
}

/**
 * Returns whether a created transfer has moved money. A transfer with manual capture or for a later time has not. For others, the
 * status decides.
 */
export function movedOf({ capture, scheduled_for }: CreateTransferBody): 'no' | typeof movedBy {
  return capture === 'manual' || scheduled_for !== undefined ? 'no' : movedBy;
}

/** Returns the request of a create_transfer. Checks the combination of fields, then the amount. Throws the refusal. */
export function readCreateRequest(call: CallContext & Pick<Call<'create_transfer'>, 'body'>): CreateRequest {
  checkTerms(call, call.body);
  const reading = readAmount(call.body.amount);
  if ('problem' in reading) throw new Refusal('invalid_amount', reading.problem, { field: '/amount' });
  return toCreateRequest(call, reading.amount);
}

// Invariant: If anything fails while a caller waits for its transfer, the response says that the transfer exists
// Kept by: this file, `server/http/pipeline.ts`
// Tested by: `test/http/transfer-waits.test.ts`

/** The longest wait for a processor, in seconds. A caller that asks for more gets the transfer's current state after this time. */
const MAX_WAIT_SECONDS = 10;

/** How often the transfer is read, in milliseconds, because another process may have ended it. */
const LOOK_MILLISECONDS = 250;

type Found = { readonly record: TransferRecord; readonly moneyMoved: MoneyMoved };

/** Waits until the card's processor has ended a transfer, but at most `seconds`. Holds no connection to the database. */
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

/** Returns the current transfer, or its last known state if it cannot be read. An error would suggest that it does not exist. */
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
