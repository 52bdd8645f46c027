import { ERRORS, errorRecord, isErrorCode } from '../../contract/errors/catalogue.ts';
import { withSupport } from '../../contract/errors/record.ts';
import type { ErrorCode } from '../../contract/operations.ts';
import { OPERATIONS } from '../../contract/operations.ts';
import { findCardNumber, refusalOfCardNumber } from '../../contract/reading/card-numbers.ts';
import { isJsonObject, type JsonValue } from '../../contract/reading/json.ts';
import { readFields } from '../../contract/reading/read-fields.ts';
import { type TransferBatchOutcomes, TransferBatchRow } from '../../contract/transfers.ts';
import { redactCardNumbers } from '../../domain/cards/card-number.ts';
import { toWireId } from '../../domain/identifier.ts';
import { type MoneyMoved, Refusal } from '../../domain/refusal.ts';
import { type Call, OperationFailure, type RefusedRow, type Reply } from '../operations/call.ts';
import type { Service } from '../operations/service.ts';
import { storedKeyOf } from '../operations/stored-key.ts';
import { createTransfer } from './create-transfer.ts';

type Outcome = TransferBatchOutcomes['data'][number];

const VISIBLE = /^[\x21-\x7e]{1,255}$/;

type BatchCall = Call<'create_transfer_batch'>;

type FailedRow = Omit<RefusedRow, 'refused'>;

/**
 * create_transfer_batch: every row is a create_transfer with its own key, in the usual scope of that key. The rows are
 * committed in the same groups as all other transfers, and a refused row does not affect the others. The reply has an
 * outcome for each row, in their order.
 */
export async function createTransferBatch(service: Service, call: BatchCall): Promise<Reply<'create_transfer_batch'>> {
  const failed: FailedRow[] = [];
  const outcomes = await Promise.all(
    call.body.transfers.map((row, index) => createRow(service, call, row, index, failed)),
  );
  const json = `{"data":[${outcomes.join(',')}]}`;
  const [mostSerious] = failed.toSorted((left, right) => severityOf(right.thrown) - severityOf(left.thrown));
  if (mostSerious === undefined) return { json };
  return { json, refusedRow: { ...mostSerious, refused: failed.length } };
}

/** Which of several failed rows the error log shows: a fault of the service before a fault of the caller. */
function severityOf(thrown: unknown): number {
  const { status } = ERRORS[toFault(thrown).code];
  return status === 424 ? 599 : status;
}

/** The outcome of one row as JSON text. Never rejects. */
async function createRow(
  service: Service,
  call: BatchCall,
  row: JsonValue,
  index: number,
  failed: FailedRow[],
): Promise<string> {
  const sentKey = isJsonObject(row) && typeof row.idempotency_key === 'string' ? row.idempotency_key : null;
  const visibleKey = sentKey !== null && VISIBLE.test(sentKey) ? sentKey : null;
  // A key that could be a card number is not repeated: the outcome names its row by the index.
  const key = visibleKey !== null && storedKeyOf(visibleKey) !== visibleKey ? null : visibleKey;
  try {
    const rowCall = callOfRow(call, row, visibleKey);
    const { body } = rowCall;
    const problem = findCardNumber(row, TransferBatchRow, 'row');
    if (problem !== undefined) throw refusalOfCardNumber(problem, body.amount);
    const transfer = await createJson(service, rowCall);
    const { replayed } = transfer;
    const outcome = { index, idempotency_key: key, status: 201, error: null, replayed };
    // A held or scheduled transfer has moved no money yet.
    const moneyMoved: MoneyMoved =
      replayed || body.capture === 'manual' || body.scheduled_for !== undefined ? 'no' : 'yes';
    // The transfer is inserted as its stored text, so that a replay is byte for byte the first response.
    return `${JSON.stringify({ ...outcome, money_moved: moneyMoved }).slice(0, -1)},"transfer":${transfer.json}}`;
  } catch (thrown) {
    failed.push({ thrown, idempotencyKey: key, index });
    return JSON.stringify(outcomeOf(service, call, thrown, index, key));
  }
}

/** Creates the transfer of a row and gives its JSON text. */
async function createJson(
  service: Service,
  call: Call<'create_transfer'>,
): Promise<{ readonly json: string; readonly replayed: boolean }> {
  const reply = await createTransfer(service, call);
  if (!('json' in reply) || reply.json === undefined) throw new Error('a created transfer has no stored text');
  return { json: reply.json, replayed: 'replayed' in reply && reply.replayed === true };
}

/** The call that create_transfer would have: same operation, same fingerprint, same key. */
function callOfRow(call: BatchCall, row: JsonValue, key: string | null): Call<'create_transfer'> {
  const reading = readFields(TransferBatchRow, row, 'body');
  if ('problem' in reading) {
    throw new Refusal('create_transfer_schema', reading.problem.message, { field: reading.problem.field });
  }
  if (key === null) {
    const message = "'idempotency_key' must be 1 to 255 visible ASCII characters, such as a UUID.";
    throw new Refusal('invalid_idempotency_key', message, { field: '/idempotency_key' });
  }
  const { idempotency_key: _key, ...body } = reading.fields;
  const { idempotency_key: _sent, ...sent } = isJsonObject(row) ? row : {};
  const { requestId, caller, programId, deadline } = call;
  const context = { requestId, caller, programId, deadline, params: {}, query: undefined };
  return { ...context, operation: 'create_transfer', body, sent, idempotencyKey: storedKeyOf(key) };
}

function outcomeOf(service: Service, call: BatchCall, thrown: unknown, index: number, key: string | null): Outcome {
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
  if (thrown instanceof Refusal && isErrorCode(thrown.code)) {
    return { code: thrown.code, message: thrown.message, moneyMoved: 'no' };
  }
  if (thrown instanceof OperationFailure && thrown.busy) {
    const message = 'The service is overloaded and did not process this transfer.';
    return { code: 'service_unavailable', message, moneyMoved: thrown.moneyMoved };
  }
  const moneyMoved = thrown instanceof OperationFailure ? thrown.moneyMoved : 'unknown';
  const outcome =
    moneyMoved === 'no' ? 'No money was moved.' : 'The outcome is not confirmed. Send the row again with its key.';
  const { failure } = OPERATIONS.create_transfer;
  return { code: 'unknown_create_transfer', message: `${failure}. ${outcome}`, moneyMoved };
}
