import { ERRORS, errorRecord } from '../../contract/errors/catalogue.ts';
import { withSupport } from '../../contract/errors/record.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { findCardNumber, refusalOfCardNumber } from '../../contract/reading/card-numbers.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/reading/json.ts';
import { readMembers } from '../../contract/reading/read-members.ts';
import {
  type CreateTransferBatchBody,
  type CreateTransferBody,
  type TransferBatchOutcomes,
  TransferBatchRow,
} from '../../contract/transfers.ts';
import { redactCardNumbers } from '../../domain/cards/card-number.ts';
import type { ErrorCode } from '../../domain/error-codes.ts';
import { toWireId } from '../../domain/identifier.ts';
import { type MoneyMoved, Refusal } from '../../domain/refusal.ts';
import { type Call, OperationFailure, type RefusedRow, type Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { storedKeyOf } from '../operations/stored-key.ts';
import { createTransfer } from './create-transfer.ts';

type Outcome = TransferBatchOutcomes['data'][number];

const VISIBLE = /^[\x21-\x7e]{1,255}$/;

/**
 * create_transfer_batch: every row is a create_transfer of its own, with the key of the row, in the key's usual scope.
 * The rows go into the same groups as all other transfers; one that is refused takes no other with it. The answer is
 * 200 with an outcome for each row, in their order.
 */
export async function createTransferBatch(service: Service, call: Call): Promise<Reply> {
  const { transfers } = call.members as CreateTransferBatchBody;
  const refused: Omit<RefusedRow, 'refused'>[] = [];
  const outcomes = await Promise.all(transfers.map((row, index) => createRow(service, call, row, index, refused)));
  const body = `{"data":[${outcomes.join(',')}]}`;
  const [gravest] = refused.toSorted((left, right) => gravityOf(right.thrown) - gravityOf(left.thrown));
  if (gravest === undefined) return { status: 200, body };
  return { status: 200, body, refusedRow: { ...gravest, refused: refused.length } };
}

/** What the error log should lead to first, when several rows were refused: a fault of ours before one of theirs. */
function gravityOf(thrown: unknown): number {
  return ERRORS[toFault(thrown).code].status === 424 ? 599 : ERRORS[toFault(thrown).code].status;
}

/** The outcome of one row as JSON text. Never rejects. */
async function createRow(
  service: Service,
  call: Call,
  row: JsonValue,
  index: number,
  refused: Omit<RefusedRow, 'refused'>[],
): Promise<string> {
  const sentKey = isJsonObject(row) && typeof row.idempotency_key === 'string' ? row.idempotency_key : null;
  const visibleKey = sentKey !== null && VISIBLE.test(sentKey) ? sentKey : null;
  // What could be a card number is not shown again: the outcome names its row by the index.
  const key = visibleKey !== null && storedKeyOf(visibleKey) !== visibleKey ? null : visibleKey;
  try {
    const callOfThisRow = callOfRow(call, row, visibleKey);
    refuseCardNumber(row, callOfThisRow);
    const reply = await createTransfer(service, callOfThisRow);
    const replayed = reply.replayed === true;
    const outcome = { index, idempotency_key: key, status: 201, error: null, replayed };
    const { capture, scheduled_for } = callOfThisRow.members as CreateTransferBody;
    // What is held or scheduled has moved no money yet.
    const moneyMoved: MoneyMoved = replayed || capture === 'manual' || scheduled_for !== undefined ? 'no' : 'yes';
    // The transfer goes in as the text it was kept as, so that a replay is the first answer to the letter.
    return `${JSON.stringify({ ...outcome, money_moved: moneyMoved }).slice(0, -1)},"transfer":${reply.body}}`;
  } catch (thrown) {
    refused.push({ thrown, idempotencyKey: key, index });
    return JSON.stringify(outcomeOf(service, call, thrown, index, key));
  }
}

/** The call that create_transfer would have had: same operation, same fingerprint, same key. */
function callOfRow(call: Call, row: JsonValue, key: string | null): Call {
  const reading = readMembers(TransferBatchRow, row, 'body');
  if ('problem' in reading) {
    throw new Refusal('create_transfer_schema', reading.problem.message, { field: reading.problem.field });
  }
  if (key === null) {
    const message = "'idempotency_key' must be 1 to 255 visible ASCII characters, such as a UUID.";
    throw new Refusal('invalid_idempotency_key', message, { field: '/idempotency_key' });
  }
  const { idempotency_key: _key, ...members } = reading.members;
  const { idempotency_key: _sent, ...sent } = row as JsonObject;
  return { ...call, operation: 'create_transfer', members, sent, idempotencyKey: storedKeyOf(key) };
}

/** A row with a card number in it is refused by itself; in the rest of the batch it refuses the call, before any row. */
function refuseCardNumber(row: JsonValue, call: Call): void {
  const problem = findCardNumber(row, TransferBatchRow, 'row');
  if (problem !== undefined) throw refusalOfCardNumber(problem, (call.members as CreateTransferBody).amount);
}

function outcomeOf(service: Service, call: Call, thrown: unknown, index: number, key: string | null): Outcome {
  const { code, message, moneyMoved } = toFault(thrown);
  const record = errorRecord(code, redactCardNumbers(message));
  const support = { contact: service.supportContact, requestId: toWireId('req', call.requestId) };
  const error = record.Type === 'Request Error' ? record : { ...record, Message: withSupport(record.Message, support) };
  return {
    index,
    idempotency_key: key,
    status: record.Status,
    transfer: null,
    error,
    money_moved: moneyMoved,
    replayed: thrown instanceof Refusal && thrown.details.replayed === true,
  };
}

type Fault = { readonly code: ErrorCode; readonly message: string; readonly moneyMoved: MoneyMoved };

function toFault(thrown: unknown): Fault {
  if (thrown instanceof Refusal) return { code: thrown.code, message: thrown.message, moneyMoved: 'no' };
  if (thrown instanceof OperationFailure && thrown.busy) {
    const message = 'The service has more to do than it can answer in time, and has done nothing of this transfer.';
    return { code: 'service_unavailable', message, moneyMoved: thrown.moneyMoved };
  }
  const moneyMoved = thrown instanceof OperationFailure ? thrown.moneyMoved : 'unknown';
  const outcome =
    moneyMoved === 'no' ? 'No money was moved.' : 'The outcome is not confirmed; send the row again with its key.';
  const { failure } = OPERATIONS.create_transfer;
  return { code: 'unknown_create_transfer', message: `${failure}. ${outcome}`, moneyMoved };
}
