import type { SharedCode } from '../../../domain/error-codes.ts';

/** A problem as users describe it, and its codes; 'schema' and 'unknown' are the families with a code for each operation. */
export type Problem = { readonly saw: string; readonly codes: readonly (SharedCode | 'schema' | 'unknown')[] };

/** Problems under one heading. */
export type ProblemGroup = { readonly title: string; readonly problems: readonly Problem[] };

/** Every shared code, under the problem that users see; the most frequent problems come first. */
export const PROBLEM_GROUPS: readonly ProblemGroup[] = [
  {
    title: 'A transfer was declined',
    problems: [
      { saw: 'Not enough money', codes: ['insufficient_funds'] },
      { saw: 'The card is blocked', codes: ['card_suspended', 'card_suspected_fraud', 'card_lost'] },
      {
        saw: 'The card is not active yet, has expired or is closed',
        codes: ['card_not_activated', 'card_expired', 'card_closed'],
      },
      { saw: 'A limit was reached', codes: ['limit_exceeded', 'amount_too_large', 'amount_too_small'] },
      { saw: 'The currency is wrong', codes: ['currency_mismatch'] },
      { saw: 'The processor of the card declined it', codes: ['processor_declined'] },
      { saw: 'The processor of the card failed', codes: ['processor_unavailable', 'processor_error'] },
      { saw: 'Transfers are paused', codes: ['service_disabled'] },
    ],
  },
  {
    title: 'Not sure whether it worked',
    problems: [
      { saw: 'Timeout, no response, or status 500', codes: ['unknown', 'request_timeout'] },
      { saw: 'The service is down or overloaded', codes: ['service_unavailable'] },
      { saw: 'It was sent twice', codes: ['idempotency_key_exists', 'duplicate_reference', 'duplicate_card'] },
    ],
  },
  {
    title: 'Access was denied',
    problems: [
      { saw: 'Wrong, missing or expired key; signed out', codes: ['unauthenticated', 'session_not_found'] },
      { saw: 'Not allowed', codes: ['forbidden'] },
      { saw: 'Too many requests', codes: ['rate_limited'] },
    ],
  },
  {
    title: 'Something was not found',
    problems: [
      {
        saw: 'A card, a transfer or a reversal',
        codes: ['card_not_found', 'transfer_not_found', 'reversal_not_found'],
      },
      { saw: 'A card program or a key', codes: ['program_not_found', 'key_not_found'] },
      {
        saw: 'A request, an error or an event',
        codes: ['request_not_found', 'error_not_found', 'event_not_found', 'events_expired'],
      },
      { saw: 'A case or an incident', codes: ['case_not_found', 'incident_not_found'] },
      {
        saw: 'A connector, an attempt or a break',
        codes: ['connector_not_found', 'attempt_not_found', 'break_not_found'],
      },
      { saw: 'The URL', codes: ['route_not_found', 'method_not_allowed'] },
    ],
  },
  {
    title: 'Something cannot be changed or undone',
    problems: [
      { saw: 'Capture, cancel or reverse a transfer', codes: ['invalid_transfer_status', 'connector_not_supported'] },
      { saw: 'Resolve an attempt', codes: ['invalid_attempt_status'] },
      {
        saw: 'Change, close or erase a card',
        codes: ['invalid_card_status', 'card_not_empty', 'card_not_closed', 'card_erased'],
      },
      {
        saw: 'Add, change or replay a webhook',
        codes: [
          'webhook_url_refused',
          'webhook_limit',
          'webhook_not_found',
          'invalid_webhook_status',
          'replay_running',
        ],
      },
      {
        saw: 'Reply to or resolve a case or an incident',
        codes: ['invalid_case_status', 'case_message_limit', 'duplicate_external_id', 'invalid_incident_status'],
      },
    ],
  },
  {
    title: 'The request was rejected',
    problems: [
      { saw: 'A field is missing or wrong, or the JSON is invalid', codes: ['schema'] },
      { saw: 'The amount is wrong', codes: ['invalid_amount'] },
      { saw: 'The idempotency key is missing or wrong', codes: ['invalid_idempotency_key'] },
      { saw: 'It contains a card number', codes: ['card_number_refused'] },
      { saw: 'It is too large', codes: ['payload_too_large', 'headers_too_large', 'uri_too_long'] },
      {
        saw: 'It is not valid JSON or HTTP',
        codes: ['unsupported_media_type', 'malformed_request', 'expectation_failed'],
      },
      { saw: 'A page cannot be shown', codes: ['unknown_request'] },
    ],
  },
];
