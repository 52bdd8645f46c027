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
  'session_not_found',
  'error_not_found',
  'request_not_found',
  'event_not_found',
  'events_expired',
  'webhook_not_found',
  'webhook_url_refused',
  'webhook_limit',
  'invalid_webhook_status',
  'replay_running',
  'card_not_activated',
  'card_suspended',
  'card_closed',
  'card_expired',
  'card_lost',
  'card_suspected_fraud',
  'invalid_card_status',
  'card_not_empty',
  'card_not_closed',
  'card_erased',
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

/** A code that several operations share. */
export type SharedCode = (typeof SHARED_CODES)[number];

/** The code of a refusal: a shared code, or one of an operation. `contract/operations.ts` has the exact type. */
export type RefusalCode = SharedCode | `${string}_schema` | `unknown_${string}`;
