import type { RefusalCode } from '../error-codes.ts';

/**
 * The error code for a processor's decline code (ISO 8583, field 39): Request Errors for causes that the caller can change,
 * Process Errors for failures at the processor. Null if the code means that the outcome is unknown and the processor must be
 * asked.
 */
export function codeOfDecline(code: string | null): RefusalCode | null {
  if (code === null) return 'processor_declined';
  const known = CODES.get(code);
  return known === undefined ? 'processor_declined' : known;
}

/** Whether a code has a specific meaning here. Any other counts as `processor_declined`. */
export function isMappedCode(code: string): boolean {
  return CODES.has(code);
}

const CODES: ReadonlyMap<string, RefusalCode | null> = new Map<string, RefusalCode | null>([
  ['05', 'processor_declined'],
  ['51', 'insufficient_funds'],
  ['61', 'limit_exceeded'],
  ['65', 'limit_exceeded'],
  ['54', 'card_expired'],
  ['41', 'card_lost'],
  ['43', 'card_lost'],
  ['59', 'card_suspected_fraud'],
  ['03', 'processor_error'],
  ['12', 'processor_error'],
  ['13', 'processor_error'],
  ['30', 'processor_error'],
  ['58', 'processor_error'],
  ['91', 'processor_unavailable'],
  ['92', 'processor_unavailable'],
  ['96', 'processor_unavailable'],
  // 68: the answer came too late. 94: the order was seen before.
  ['68', null],
  ['94', null],
]);
