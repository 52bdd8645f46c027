import type { ErrorCode } from '../../../domain/errors.ts';
import { Refusal } from '../../../domain/refusal.ts';

/** What Node and its frameworks answer by themselves, by status. */
const BY_STATUS: ReadonlyMap<number, readonly [code: ErrorCode, message: string]> = new Map([
  [400, ['malformed_request', 'The request is not valid HTTP/1.1.']],
  [401, ['unauthenticated', 'There is no valid API key.']],
  [403, ['forbidden', 'The request is not allowed.']],
  [404, ['route_not_found', 'There is nothing at this path.']],
  [408, ['request_timeout', 'The request did not arrive in time.']],
  [413, ['payload_too_large', 'The body is larger than it may be.']],
  [414, ['uri_too_long', 'The path is longer than it may be.']],
  [415, ['unsupported_media_type', "The Content-Type must be 'application/json'."]],
  [417, ['expectation_failed', "The Expect header can only be '100-continue'."]],
  [431, ['headers_too_large', 'The headers are larger than they may be.']],
  [503, ['service_unavailable', 'The service takes no more requests on this connection.']],
]);

/** What to answer in the place of an answer with `status` that was no error record. */
export function substituteFor(status: number): unknown {
  const known = BY_STATUS.get(status);
  if (known !== undefined) return new Refusal(known[0], known[1]);
  if (status < 500) return new Refusal('malformed_request', 'The request cannot be answered as it is.');
  return new Error(`An answer with status ${status} was not an error record.`);
}
