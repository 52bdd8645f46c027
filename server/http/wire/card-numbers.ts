import type { Operation } from '../../../contract/operation.ts';
import { OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import {
  findCardNumber,
  findCardNumberIn,
  findCardNumberInKey,
  refusalOfCardNumber,
} from '../../../contract/reading/card-numbers.ts';
import type { JsonValue } from '../../../contract/reading/json.ts';
import type { Problem } from '../../../contract/reading/read-fields.ts';
import type { AmountAsSent } from '../../../domain/ledger/money.ts';
import type { RequestHead } from './request-head.ts';

/** All values of a request that the service reads. */
export type RequestValues = {
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: JsonValue;
  readonly body: JsonValue;
  /** The parsed fields, for the amount among them. */
  readonly fields: Readonly<Record<string, unknown>>;
};

/**
 * Refuses a request with a card number in its path, query, headers or body. Called before the operation starts, so that a
 * card number is never stored, not even as an idempotency key. The caller's Request-Id is not stored and not checked here;
 * `clientRequestId` never returns one with a card number.
 *
 * @throws {Refusal} card_number_refused, or invalid_amount where the amount is none either
 */
export function refuseCardNumbers(id: OperationId, head: RequestHead, values: RequestValues): void {
  const operation: Operation = OPERATIONS[id];
  const problem =
    findInPath(values.parameters) ??
    findCardNumber(values.query, operation.query, 'query') ??
    findCardNumberInKey(head.idempotencyKey) ??
    findCardNumberIn('The Program-Id header', head.programId) ??
    findCardNumber(values.body, operation.body, 'body');
  if (problem === undefined) return;
  const isAmountFirst = operation.errors.includes('invalid_amount');
  throw refusalOfCardNumber(problem, isAmountFirst ? (values.fields.amount as AmountAsSent | undefined) : undefined);
}

function findInPath(parameters: Readonly<Record<string, string>>): Problem | undefined {
  for (const [name, value] of Object.entries(parameters)) {
    const problem = findCardNumberIn(`'${name}' in the path`, value, `/${name}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
