import { ERRORS, isErrorCode } from '../../contract/errors/catalogue.ts';
import type { ErrorCode } from '../../contract/operations.ts';
import { codesLike } from '../../contract/search/error-search.ts';
import { type MoneyMoved, Refusal } from '../../domain/refusal.ts';
import { OperationFailure } from '../calls/call.ts';

/** The Retry-After of a provoked `service_disabled`. */
const DISABLED_MILLISECONDS = 60_000;

/** The Retry-After of a provoked `rate_limited`. */
const LIMITED_MILLISECONDS = 1_000;

/** The ETag of a provoked `precondition_failed`. No record has this version. */
const PROVOKED_VERSION = '"provoked"';

/**
 * Throws the error that the header `Sandbox-Provoke: <code>` requests, so that callers can test their error handling.
 * `unknown_<operation>; money_moved=unknown` provokes the failure with an unconfirmed outcome.
 *
 * @param known the codes of the possible error responses of the route.
 * @throws {Refusal} the requested code, or `fault` if the route has no such code
 * @throws {OperationFailure} for the codes of server errors
 */
export function provoke(header: string, known: readonly ErrorCode[], fault: ErrorCode, transferId: string): never {
  const [code = '', parameter] = header.split(';').map((part) => part.trim());
  if (!isErrorCode(code) || !known.includes(code)) {
    const like = codesLike(code, known);
    const guess = like.length === 0 ? '' : ` Did you mean ${like.join(' or ')}?`;
    const message = `The Sandbox-Provoke header names no code of this route.${guess} Codes of this route: ${known.join(', ')}.`;
    throw new Refusal(fault, message);
  }
  if (code === 'service_unavailable') throw new OperationFailure('provoked', { busy: true, moneyMoved: 'no' });
  if (code.startsWith('unknown_')) {
    const moneyMoved: MoneyMoved = parameter === 'money_moved=unknown' ? 'unknown' : 'no';
    throw new OperationFailure('provoked', { moneyMoved, ...(moneyMoved === 'unknown' ? { transferId } : {}) });
  }
  const message = `${ERRORS[code].meaning} This error was caused by the Sandbox-Provoke header; the request was not processed.`;
  if (code === 'precondition_failed') throw new Refusal(code, message, { version: PROVOKED_VERSION });
  const endsIn =
    code === 'service_disabled' ? DISABLED_MILLISECONDS : code === 'rate_limited' ? LIMITED_MILLISECONDS : undefined;
  throw new Refusal(code, message, endsIn === undefined ? {} : { endsIn });
}
