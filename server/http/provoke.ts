import type { MoneyMoved } from '../../domain/catalogue-entry.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { CATALOGUE, isErrorCode } from '../../domain/errors.ts';
import { Refusal } from '../../domain/refusal.ts';
import { OperationFailure } from '../operations/call.ts';

/** How far off the end of a provoked `service_disabled` is, in milliseconds: so that Retry-After can be tried too. */
const DISABLED_MILLISECONDS = 60_000;

/** The same for a provoked `rate_limited`. */
const LIMITED_MILLISECONDS = 1_000;

/**
 * What `Sandbox-Provoke: <code>` makes a request answer with, so that a caller can try every branch of its error
 * handling. `unknown_<operation>` of an operation that moves money takes `; money_moved=unknown` behind it, for the
 * branch that nobody should leave untried. `known` are the codes that the route can answer with by itself.
 *
 * @throws {Refusal} the code, or `fault` when the route never answers with it
 * @throws {OperationFailure} for the codes of faults that are not the caller's
 */
export function provoke(header: string, known: readonly ErrorCode[], fault: ErrorCode, transferId: string): never {
  const [code = '', parameter] = header.split(';').map((part) => part.trim());
  if (!isErrorCode(code) || !known.includes(code)) {
    const message = `The Sandbox-Provoke header does not name a code of this route. Codes of this route: ${known.join(', ')}.`;
    throw new Refusal(fault, message);
  }
  if (code === 'service_unavailable') throw new OperationFailure('provoked', { busy: true, moneyMoved: 'no' });
  if (code.startsWith('unknown_')) {
    const moneyMoved: MoneyMoved = parameter === 'money_moved=unknown' ? 'unknown' : 'no';
    throw new OperationFailure('provoked', { moneyMoved, ...(moneyMoved === 'unknown' ? { transferId } : {}) });
  }
  const message = `${CATALOGUE[code].meaning} This error was caused by the Sandbox-Provoke header; the request was not processed.`;
  const endsIn =
    code === 'service_disabled' ? DISABLED_MILLISECONDS : code === 'rate_limited' ? LIMITED_MILLISECONDS : undefined;
  throw new Refusal(code, message, endsIn === undefined ? {} : { endsIn });
}
