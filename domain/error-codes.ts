/**
 * The error codes that operations share. Each has one definition in `contract/errors/`. A released code is never
 * renamed and never reused (specification, section 7.2).
 */
export const SHARED_CODES = [
  'service_disabled',
  'rate_limited',
  'unauthenticated',
  'forbidden',
  'route_not_found',
  'method_not_allowed',
  'malformed_request',
  'unsupported_media_type',
  'payload_too_large',
  'uri_too_long',
  'headers_too_large',
  'request_timeout',
  'expectation_failed',
  'service_unavailable',
  'unknown_request',
  'card_not_found',
  'transfer_not_found',
  'reversal_not_found',
  'invalid_transfer_status',
  'program_not_found',
  'key_not_found',
  'error_not_found',
  'card_not_activated',
  'card_suspended',
  'card_closed',
  'card_expired',
  'card_lost',
  'card_suspected_fraud',
  'invalid_card_status',
  'card_not_empty',
  'duplicate_card',
  'invalid_amount',
  'card_number_refused',
  'amount_too_small',
  'amount_too_large',
  'limit_exceeded',
  'currency_mismatch',
  'insufficient_funds',
  'duplicate_reference',
  'idempotency_key_exists',
  'invalid_idempotency_key',
] as const;

/** The operations. Each has two codes of its own: `<operation>_schema` and `unknown_<operation>`. */
const OPERATIONS = [
  'create_transfer',
  'get_transfer',
  'list_transfers',
  'explain_transfer',
  'create_transfer_batch',
  'capture_transfer',
  'cancel_transfer',
  'reverse_transfer',
  'update_transfer',
  'export_transfers',
  'list_reversals',
  'get_reversal',
  'create_card',
  'get_card',
  'list_cards',
  'update_card',
  'get_card_limits',
  'list_postings',
  'export_postings',
  'get_error',
  'list_errors',
  'create_program',
  'get_program',
  'update_program',
  'list_programs',
  'create_deposit',
  'create_withdrawal',
  'get_switch',
  'change_switch',
  'get_trial_balance',
  'create_key',
  'list_keys',
  'roll_key',
  'revoke_key',
  'inspect_error',
  'search_errors',
  'count_errors',
  'list_audit_entries',
  'move_clock',
  'stop_database',
  'start_database',
] as const;

type Operation = (typeof OPERATIONS)[number];

/** A code that several operations share. */
export type SharedCode = (typeof SHARED_CODES)[number];

/** Every error code: the shared ones, and two for each operation. */
export type ErrorCode = SharedCode | `${Operation}_schema` | `unknown_${Operation}`;

/** Every error code, in the order of the catalogue. */
export const ERROR_CODES: readonly ErrorCode[] = [
  ...SHARED_CODES,
  ...OPERATIONS.map((operation) => `${operation}_schema` as const),
  ...OPERATIONS.map((operation) => `unknown_${operation}` as const),
];

const KNOWN: ReadonlySet<string> = new Set(ERROR_CODES);

/** Whether `text` is an error code. */
export function isErrorCode(text: string): text is ErrorCode {
  return KNOWN.has(text);
}
