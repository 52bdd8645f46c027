import type { Static, TObject } from 'typebox';
import { redactCardNumbers } from '../../domain/cards/card-number.ts';
import type { Answer, Order, OrderRequest, OrderStatus } from '../../domain/processors/order.ts';
import { isJsonObject, type JsonValue } from '../reading/json.ts';
import { readFields } from '../reading/read-fields.ts';
import { ADAPTER_ANSWERS, AdapterNotice } from './adapter.ts';

// Invariant: An answer counts only if it is about the sent order: the same attempt, amount and currency
// Kept by: this file
// Tested by: `contract/processors/read-answer.test.ts`, `server/background/processors/http-connector.test.ts`

/** The values that an answer must have. */
export type Expected = Pick<Order, 'attemptId' | 'amount' | 'currency'>;

/** A notice: an answer without a request. Its id is unique for its connector. */
export type Notice = {
  readonly noticeId: string;
  /** Id of the attempt on the wire. */
  readonly attemptId: string;
  /** In minor units. The receiver of the notice compares the amount and the currency with the attempt. */
  readonly amount: bigint;
  readonly currency: string;
  readonly answer: Answer;
};

/** An answer that says nothing about the order. `detail` is a sentence. */
export function unknownAnswer(detail: string): Answer {
  return { outcome: 'unknown', processorReference: null, code: null, retryAfterSeconds: null, detail };
}

/**
 * Reads the body of an answer with the status 200. The outcome is `unknown` if the answer breaks the contract, or is about
 * another attempt, amount or currency. The detail quotes nothing that could be secret.
 */
export function readAnswer(body: JsonValue, request: OrderRequest, expected: Expected): Answer {
  const reading = readKnown(ADAPTER_ANSWERS[request], body, 'answer');
  if ('problem' in reading) return unknownAnswer(reading.problem);
  const { fields } = reading;
  if (fields.attempt_id !== expected.attemptId) {
    return unknownAnswer('The answer is about another attempt: attempt_id differs.');
  }
  if (BigInt(fields.amount) !== expected.amount) {
    return unknownAnswer(`The answer has the amount ${fields.amount} instead of ${expected.amount}.`);
  }
  if (fields.currency !== expected.currency) {
    return unknownAnswer(`The answer has the currency ${fields.currency} instead of ${expected.currency}.`);
  }
  return toAnswer(fields);
}

/** Reads the body of a notice. If it is invalid, returns the reason as a sentence. */
export function readNotice(body: JsonValue): Notice | { readonly problem: string } {
  const reading = readKnown(AdapterNotice, body, 'notice');
  if ('problem' in reading) return reading;
  const { fields } = reading;
  return {
    noticeId: fields.notice_id,
    attemptId: fields.attempt_id,
    amount: BigInt(fields.amount),
    currency: fields.currency,
    answer: toAnswer(fields),
  };
}

type AnswerFields = {
  readonly status: OrderStatus;
  readonly processor_reference: string | null;
  readonly code: string | null;
  readonly retry_after_seconds: number | null;
};

function toAnswer({ status, processor_reference, code, retry_after_seconds }: AnswerFields): Answer {
  return {
    outcome: status,
    processorReference: processor_reference === null ? null : redactCardNumbers(processor_reference),
    code: code === null ? null : redactCardNumbers(code),
    retryAfterSeconds: retry_after_seconds,
    detail: null,
  };
}

/**
 * Reads the fields of a schema. All of them are required, and other fields are ignored. A problem is a sentence without any
 * value, because the other side may repeat something confidential.
 */
function readKnown<Schema extends TObject>(
  schema: Schema,
  body: JsonValue,
  what: 'answer' | 'notice',
): { readonly fields: Static<Schema> } | { readonly problem: string } {
  if (!isJsonObject(body)) return { problem: `The ${what} is not a JSON object.` };
  const known = Object.fromEntries(Object.entries(body).filter(([name]) => Object.hasOwn(schema.properties, name)));
  // As in a patch, null is a value and not a missing field.
  const reading = readFields(schema, known, 'patch');
  if ('fields' in reading) return reading;
  return { problem: `In the ${what}, '${reading.problem.field.slice(1)}' is missing or does not follow the contract.` };
}
