import {
  findCardNumber,
  findCardNumberIn,
  findCardNumberInKey,
  refusalOfCardNumber,
} from '../../../contract/reading/card-numbers.ts';
import type { Problem } from '../../../contract/reading/read-fields.ts';
import type { AmountAsSent } from '../../../domain/ledger/money.ts';
import type { OperationRequest } from '../operation-request.ts';

/**
 * Refuses a request with a card number in its path, query, headers or body before the operation starts, so that a card
 * number is never stored, not even as an idempotency key. The caller's Request-Id is not checked: it is never stored,
 * and `clientRequestId` never returns one with a card number. A notice of a processor is redacted by its operation instead.
 *
 * @throws {Refusal} card_number_refused, or invalid_amount if the amount is invalid as well
 */
export function refuseCardNumbers({ operation, head, parameters, sent, fields }: OperationRequest): undefined {
  if (operation.reach === 'connector') return;
  const problem =
    findInPath(parameters) ??
    findCardNumber(sent.query, operation.query, 'query') ??
    findCardNumberInKey(head.idempotencyKey) ??
    findCardNumberIn('The Program-Id header', head.programId) ??
    findCardNumber(sent.body, operation.body, 'body');
  if (problem === undefined) return;
  const isAmountFirst = operation.errors.includes('invalid_amount');
  throw refusalOfCardNumber(problem, isAmountFirst ? (fields.amount as AmountAsSent | undefined) : undefined);
}

function findInPath(parameters: Readonly<Record<string, string>>): Problem | undefined {
  for (const [name, value] of Object.entries(parameters)) {
    const problem = findCardNumberIn(`'${name}' in the path`, value, `/${name}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
