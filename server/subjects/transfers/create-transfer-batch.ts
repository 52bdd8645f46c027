import { ERRORS, errorRecord, isErrorCode } from '../../../contract/errors/catalogue.ts';
import { withSupport } from '../../../contract/errors/record.ts';
import { type ErrorCode, OPERATIONS } from '../../../contract/operations.ts';
import { findCardNumber, refusalOfCardNumber } from '../../../contract/reading/card-numbers.ts';
import { isJsonObject, type JsonValue } from '../../../contract/reading/json.ts';
import { readFields } from '../../../contract/reading/read-fields.ts';
import { type TransferBatchOutcomes, TransferBatchRow } from '../../../contract/transfers.ts';
import { redactCardNumbers } from '../../../domain/cards/card-number.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { type MoneyMoved, Refusal } from '../../../domain/refusal.ts';
import { type Call, type Moved, OperationFailure, type RefusedRow, type Reply } from '../../calls/call.ts';
import { storedKeyOf } from '../../calls/responses/stored-key.ts';
import { notReady } from '../../foundation/runbook.ts';
import { movedOf, readCreateRequest } from './create-transfer.ts';
import type { TransferService } from './lane.ts';
import type { CreateRequest } from './request.ts';
import { type Outcome, toTransferReply } from './respond.ts';

type RowOutcome = TransferBatchOutcomes['data'][number];

const VISIBLE = /^[\x21-\x7e]{1,255}$/;

type BatchCall = Call<'create_transfer_batch'>;

type FailedRow = Omit<RefusedRow, 'refused'>;

/** The outcome of a created row as JSON text, and its contribution to the batch's Money-Moved header. */
type Shown = Moved & { readonly text: string };

/** Number of rows that are read before other requests get a turn. Reading them takes a few milliseconds. */
const ROWS_AT_ONCE = 250;

/**
 * create_transfer_batch: handles every row like a create_transfer with its own key, in the key's usual scope. The rows are
 * committed in the same groups as all other transfers, and a refused row does not affect the others. The reply has an outcome for
 * each row, in the order of the rows.
 */
export async function createTransferBatch(
  service: TransferService,
  call: BatchCall,
): Promise<Reply<'create_transfer_batch'>> {
  const rows: Row[] = [];
  const submitted: Promise<void>[] = [];
  for (const [index, sent] of call.body.transfers.entries()) {
    if (index > 0 && index % ROWS_AT_ONCE === 0) await new Promise((resume) => setImmediate(resume));
    const row = new Row(index, sent);
    rows.push(row);
    submitted.push(row.submit(service, call));
  }
  await Promise.all(submitted);
  const texts: string[] = [];
  const moved = new Set<MoneyMoved>();
  const failed: FailedRow[] = [];
  for (const row of rows) {
    try {
      const shown = row.show(service, call);
      const { text, moneyMoved } = shown instanceof Promise ? await shown : shown;
      texts.push(text);
      moved.add(moneyMoved);
    } catch (thrown) {
      const { index, key } = row;
      const outcome = outcomeOf(service, call, thrown, index, key);
      failed.push({ thrown, idempotencyKey: key, index });
      texts.push(JSON.stringify(outcome));
      moved.add(outcome.money_moved);
    }
  }
  const json = `{"data":[${texts.join(',')}]}`;
  const moneyMoved = MONEY_MOVED_BY_PRIORITY.find((one) => moved.has(one)) ?? 'no';
  const [mostSerious] = failed.toSorted((left, right) => severityOf(right.thrown) - severityOf(left.thrown));
  if (mostSerious === undefined) return { json, moneyMoved };
  return { json, moneyMoved, refusedRow: { ...mostSerious, refused: failed.length } };
}

/** A batch reports the first value in this list that any of its rows has. */
const MONEY_MOVED_BY_PRIORITY: readonly MoneyMoved[] = ['yes', 'unknown', 'no'];

/**
 * Returns how severe the failure of a row is. The error log shows the most severe one. A service fault ranks above a caller error.
 */
function severityOf(thrown: unknown): number {
  const { status } = ERRORS[toFault(thrown).code];
  return status === 424 ? 599 : status;
}

class Row {
  readonly index: number;
  /** The key, as the response shows it. Null if the key could be a card number. Then only the index identifies the row. */
  readonly key: string | null;
  readonly #sent: JsonValue;
  readonly #storedKey: string | null;
  #moved: ReturnType<typeof movedOf> = 'no';
  #result: { readonly outcome: Outcome } | { readonly thrown: unknown } | undefined = undefined;

  constructor(index: number, sent: JsonValue) {
    const sentKey = isJsonObject(sent) ? sent.idempotency_key : undefined;
    const key = typeof sentKey === 'string' && VISIBLE.test(sentKey) ? sentKey : null;
    this.index = index;
    this.#sent = sent;
    this.#storedKey = key === null ? null : storedKeyOf(key);
    this.key = this.#storedKey === key ? key : null;
  }

  /** Submits the row unless it is malformed. Resolves when it is decided. Never rejects. */
  submit({ transfers }: TransferService, call: BatchCall): Promise<void> {
    const fail = (thrown: unknown): void => {
      this.#result = { thrown };
    };
    try {
      const request = this.#read(call);
      return transfers.submit(request, call.deadline).then((outcome) => {
        this.#result = { outcome };
      }, fail);
    } catch (thrown) {
      fail(thrown);
      return Promise.resolve();
    }
  }

  /** Returns the request that create_transfer would have: with the same operation, fingerprint and key. */
  #read(call: BatchCall): CreateRequest {
    const reading = readFields(TransferBatchRow, this.#sent, 'body');
    if ('problem' in reading) {
      throw new Refusal('create_transfer_schema', reading.problem.message, { field: reading.problem.field });
    }
    if (this.#storedKey === null) {
      const message = "'idempotency_key' must be 1 to 255 visible ASCII characters, such as a UUID.";
      throw new Refusal('invalid_idempotency_key', message, { field: '/idempotency_key' });
    }
    const { fields: body } = reading;
    const problem = findCardNumber(this.#sent, TransferBatchRow, 'row');
    if (problem !== undefined) throw refusalOfCardNumber(problem, body.amount);
    this.#moved = movedOf(body);
    return readCreateRequest({
      operation: 'create_transfer',
      requestId: call.requestId,
      traceparent: call.traceparent,
      trace: call.trace,
      caller: call.caller,
      programId: call.programId,
      caseId: call.caseId,
      deadline: call.deadline,
      params: NO_PARAMETERS,
      body,
      sent: withoutKey(this.#sent),
      idempotencyKey: this.#storedKey,
    });
  }

  /**
   * Returns the outcome of a created transfer as JSON text. Throws the error of a failed row. The outcome contains the transfer
   * exactly as stored, so that a replay equals the first response byte for byte.
   */
  show(service: TransferService, call: BatchCall): Shown | Promise<Shown> {
    const result = this.#result;
    if (result === undefined) throw new Error('a row was not decided');
    if ('thrown' in result) throw result.thrown;
    const reply = toTransferReply(service, call, result.outcome, this.#moved);
    return reply instanceof Promise ? reply.then((recalled) => this.#write(recalled)) : this.#write(reply);
  }

  #write(reply: Awaited<ReturnType<typeof toTransferReply>>): Shown {
    if (reply.json === undefined) throw new Error('a created transfer has no stored text');
    const isReplayed = 'replayed' in reply && reply.replayed === true;
    const { moneyMoved } = reply;
    const key = JSON.stringify(this.key);
    const text = `{"index":${this.index},"idempotency_key":${key},"status":201,"error":null,"replayed":${isReplayed},"money_moved":"${moneyMoved}","transfer":${reply.json}}`;
    return { text, moneyMoved };
  }
}

const NO_PARAMETERS = {};

/** Returns the fields of a row without its key, which create_transfer takes as a header. */
function withoutKey(sent: JsonValue): JsonValue {
  const fields: Record<string, JsonValue> = {};
  if (!isJsonObject(sent)) return fields;
  for (const name of Object.keys(sent)) if (name !== 'idempotency_key') fields[name] = sent[name] as JsonValue;
  return fields;
}

function outcomeOf(
  service: TransferService,
  call: BatchCall,
  thrown: unknown,
  index: number,
  key: string | null,
): RowOutcome {
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

/** The endings of a failed row's message. */
const OUTCOMES: Readonly<Record<MoneyMoved, string>> = {
  no: '. No money was moved.',
  yes: ' completely, but the money has moved. Send the row again with its key.',
  unknown: '. The outcome is not confirmed. Send the row again with its key.',
};

type Fault = { readonly code: ErrorCode; readonly message: string; readonly moneyMoved: MoneyMoved };

function toFault(thrown: unknown): Fault {
  if (thrown instanceof Refusal && isErrorCode(thrown.code)) {
    return { code: thrown.code, message: thrown.message, moneyMoved: 'no' };
  }
  if (thrown instanceof OperationFailure && thrown.busy) {
    const { readiness } = thrown;
    const overloaded = 'The service is overloaded and did not process this transfer.';
    const message = readiness === undefined ? overloaded : notReady(readiness).message;
    return { code: 'service_unavailable', message, moneyMoved: thrown.moneyMoved };
  }
  const moneyMoved = thrown instanceof OperationFailure ? thrown.moneyMoved : 'unknown';
  const { failure } = OPERATIONS.create_transfer;
  return { code: 'unknown_create_transfer', message: `${failure}${OUTCOMES[moneyMoved]}`, moneyMoved };
}
