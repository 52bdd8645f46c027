import { containsCardNumber } from '../../../domain/cards/card-number.ts';

/** Version, trace id, id of the caller's span, and flags; a later version may have more after them. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);

/** The flag that says that the caller records the trace. */
const SAMPLED = 1;

/**
 * A `traceparent` header (W3C Trace Context), in version 00; undefined where it is not valid, and so ignored. Of a later
 * version only what version 00 has is kept. An id that reads as a card number is ignored too, because it would be stored.
 */
export function readTraceparent(sent: unknown): string | undefined {
  if (typeof sent !== 'string') return undefined;
  const [, version, traceId, spanId, flags = '', more] = TRACEPARENT.exec(sent) ?? [];
  if (version === undefined || version === 'ff' || traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  if (containsCardNumber(sent)) return undefined;
  if (version === '00') return sent;
  return `00-${traceId}-${spanId}-0${Number.parseInt(flags, 16) & SAMPLED}`;
}
