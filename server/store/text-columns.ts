// Invariant: Every stored text that can name the holder of a card is redacted, kept no longer than stated, and erased
// Kept by: this table
// Tested by: `test/store/erasure/text-columns.test.ts` (PostgreSQL's catalog), `test/api/erasure` (a name in each column)

/**
 * The rule for a column of text: its possible content, its redaction, how long it is kept, and which step of an erasure removes
 * it.
 */
export type TextRule = {
  /** The author of the text. `service` writes only its own words, codes, ids, hashes and encrypted bytes. */
  readonly from: 'service' | 'caller' | 'operator' | 'processor' | 'receiver' | 'provider';
  /**
   * `refuse`: requests that contain a card number in this text are refused. `redact`: card numbers, keys and passwords are
   * replaced.
   */
  readonly secrets: 'refuse' | 'redact' | 'none';
  /** How long the text is kept. `record` means as long as the row, see docs/retention.md. Otherwise, the name of the setting. */
  readonly kept:
    | 'record'
    | 'ERROR_RETENTION_DAYS'
    | 'EVENT_RETENTION_DAYS'
    | 'WEBHOOK_ATTEMPT_RETENTION_DAYS'
    | '30 days';
  /**
   * The step of the erasure that removes the text. Null if it is kept. docs/retention.md tells callers to put no personal data
   * there.
   */
  readonly erasedBy: 'erase_person' | 'the request' | 'transfers' | 'responses' | 'events' | 'errors' | 'cases' | null;
};

const SERVICE: TextRule = { from: 'service', secrets: 'none', kept: 'record', erasedBy: null };
/** Ids and names that callers choose, and text that is not about a card. */
const NAME: TextRule = { from: 'caller', secrets: 'refuse', kept: 'record', erasedBy: null };
const OPERATOR: TextRule = { from: 'operator', secrets: 'refuse', kept: 'record', erasedBy: null };
/** References and codes. */
const PROCESSOR: TextRule = { from: 'processor', secrets: 'redact', kept: 'record', erasedBy: null };
const HOLDER: TextRule = { from: 'caller', secrets: 'refuse', kept: 'record', erasedBy: 'the request' };
const OF_TRANSFER: TextRule = { from: 'caller', secrets: 'refuse', kept: 'record', erasedBy: 'transfers' };
const ERROR: TextRule = { from: 'caller', secrets: 'redact', kept: 'ERROR_RETENTION_DAYS', erasedBy: 'errors' };
/** An id or a name in the error log. */
const ERROR_NAME: TextRule = { ...ERROR, erasedBy: null };
const CASE: TextRule = { from: 'caller', secrets: 'redact', kept: 'ERROR_RETENTION_DAYS', erasedBy: 'cases' };
/** The identity provider's data about a person. */
const PERSON: TextRule = { from: 'provider', secrets: 'none', kept: 'record', erasedBy: null };
const NOTE: TextRule = { ...CASE, from: 'operator', erasedBy: 'transfers' };

/** The columns, by table, whose text is written only by the service. */
const OF_SERVICE: Readonly<Record<string, string>> = {
  account: 'currency kind',
  api_key: 'public_part scopes secret_hash',
  approval: 'fingerprint meaning operation status values_then',
  approval_policy: 'changed_by rules',
  audit_entry: 'action actor hash previous_hash',
  audit_head: 'hash',
  books_verification: 'unbalanced_currencies',
  card: 'currency limits status',
  card_erasure: 'holder_hash step',
  case_message: 'side',
  connector_switch: 'actor transfer_type',
  console_session: 'scopes token_hash',
  error: 'caller code method money_moved operation type',
  error_count: 'code',
  error_drop: 'reason',
  error_report: 'code message type',
  event: 'type',
  funding_movement: 'actor currency kind',
  idempotency: 'code fingerprint meaning operation',
  incident: 'codes created_by operation outcome scope',
  ledger_mode: 'mode',
  limit_counter: 'direction',
  operator_movement: 'actor currency',
  posting: 'currency purpose',
  processor_attempt: 'currency kind resolved_by sandbox_behavior status',
  processor_break: 'booked_against closed_by currency expected kind',
  processor_card: 'token_hash',
  program: 'card_limits currency limits time_zone',
  reversal: 'currency',
  schema_migration: 'checksum name needs',
  service_process: 'host minute version',
  settlement_file: 'created_by sha256 status totals withdrawn_by',
  move_in: 'created_by sha256 stated_totals status totals undone_by',
  move_in_line: 'kind',
  comparison: 'books created_by cut_over_by differences sha256 status totals_here totals_there',
  comparison_difference: 'currency message reason',
  settlement_line: 'currency kind outcome status',
  support_case: 'code created_by last_message_side money_moved operation outcome severity status type',
  switch: 'actor transfer_type',
  transfer: 'capture currency outcome status type',
  transfer_count: 'type',
  webhook: 'delivery_order headers payload types version',
  webhook_attempt: 'address error event_type kind',
  webhook_delivery: 'kind state',
  webhook_replay: 'selection state',
  webhook_secret: 'sealed',
  webhook_state: 'status status_reason',
};

/** The columns, by table, whose text may come from others. */
const OF_OTHERS: Readonly<Record<string, Readonly<Record<string, TextRule>>>> = {
  api_key: { name: OPERATOR },
  approval: {
    // Removed when the approval ends, at the latest after 30 days.
    body: { ...OF_TRANSFER, kept: '30 days' },
    // The message of a refusal names ids and amounts.
    error: NAME,
    idempotency_key: NAME,
    if_match: NAME,
    path: NAME,
    reason: OPERATOR,
    // Fields about a holder are omitted (`withoutHolderValues`).
    result: NAME,
    summary: NAME,
  },
  // Names of fields, and ids. Fields about a holder are omitted (`withoutHolderValues`).
  audit_entry: { details: OPERATOR, subject_id: NAME },
  card: {
    connector_id: OPERATOR,
    holder_reference: HOLDER,
    last_four: HOLDER,
    metadata: HOLDER,
    name: NAME,
    processor_token: HOLDER,
  },
  card_erasure: { card_name: NAME },
  card_metadata: { name: HOLDER, value: HOLDER },
  case_message: { author: { ...CASE, from: 'operator' }, external_author: CASE, external_id: NAME, text: CASE },
  connector_state: { connector_id: OPERATOR, reason: PROCESSOR },
  connector_switch: { connector_id: OPERATOR, reason: OPERATOR },
  console_session: { provider_session: PERSON },
  error: {
    card_name: ERROR_NAME,
    causes: ERROR,
    checks: ERROR,
    field: ERROR,
    idempotency_key: ERROR_NAME,
    message: ERROR,
    path: ERROR_NAME,
    request: ERROR,
    traceparent: ERROR_NAME,
  },
  event: {
    payload: { ...OF_TRANSFER, kept: 'EVENT_RETENTION_DAYS', erasedBy: 'events' },
    subject_id: { ...NAME, kept: 'EVENT_RETENTION_DAYS' },
    traceparent: { ...NAME, kept: 'EVENT_RETENTION_DAYS' },
  },
  funding_movement: { description: NAME, metadata: NAME, reference: NAME },
  funding_movement_metadata: { name: NAME, value: NAME },
  // The message and the field of a refusal name ids and amounts.
  idempotency: {
    body: { ...OF_TRANSFER, kept: '30 days', erasedBy: 'responses' },
    field: NAME,
    key: NAME,
    message: NAME,
  },
  incident: { internal_text: OPERATOR, public_text: OPERATOR, resolution: OPERATOR, title: OPERATOR },
  person: {
    email: { ...PERSON, erasedBy: 'erase_person' },
    issuer: PERSON,
    name: { ...PERSON, erasedBy: 'erase_person' },
    roles: PERSON,
    subject: PERSON,
  },
  processor_attempt: {
    code: PROCESSOR,
    connector_id: OPERATOR,
    contradiction: PROCESSOR,
    detail: NOTE,
    processor_reference: PROCESSOR,
  },
  processor_break: { connector_id: OPERATOR, found: PROCESSOR, resolution: NOTE, sent_attempt_id: PROCESSOR },
  closed_day: { report: { ...OPERATOR, secrets: 'redact' } },
  // The hash of a token is kept, so that a stolen card cannot be registered again after the erasure of its holder.
  processor_card: { connector_id: OPERATOR },
  processor_notice: { body: PROCESSOR, connector_id: OPERATOR, notice_id: PROCESSOR },
  program: { metadata: OPERATOR, name: OPERATOR },
  reversal: { description: OF_TRANSFER },
  move_in: { name: OPERATOR, undo_note: { ...OPERATOR, secrets: 'redact' } },
  move_in_line: { reference: NAME },
  comparison: { cut_over_note: { ...OPERATOR, secrets: 'redact' }, last_card: NAME, name: OPERATOR },
  comparison_difference: { card_name: NAME, reference: NAME },
  settlement_file: { connector_id: OPERATOR, name: OPERATOR, withdrawal_note: { ...OPERATOR, secrets: 'redact' } },
  settlement_line: { processor_reference: PROCESSOR, sent_attempt_id: PROCESSOR },
  support_case: {
    card_names: NAME,
    contact: CASE,
    last_external_id: NAME,
    resolution: { ...CASE, from: 'operator' },
    snapshot: CASE,
    summary: CASE,
    text: CASE,
  },
  switch: { reason: OPERATOR },
  // The error of a transfer names ids and amounts.
  transfer: { description: OF_TRANSFER, error: NAME, idempotency_key: NAME, metadata: OF_TRANSFER, reference: NAME },
  transfer_metadata: { name: OF_TRANSFER, value: OF_TRANSFER },
  webhook: { description: NAME, header_names: NAME, url: NAME },
  webhook_attempt: {
    message: { ...NAME, from: 'receiver', secrets: 'redact' },
    response_start: {
      from: 'receiver',
      secrets: 'redact',
      kept: 'WEBHOOK_ATTEMPT_RETENTION_DAYS',
      erasedBy: 'events',
    },
  },
  // Only test events have a body.
  webhook_delivery: { body: NAME },
};

/** Every text column of the schema, as `table.column`, with its rule. */
export const TEXT_COLUMNS: Readonly<Record<string, TextRule>> = Object.fromEntries([
  ...Object.entries(OF_SERVICE).flatMap(([table, names]) =>
    names.split(' ').map((name): [string, TextRule] => [`${table}.${name}`, SERVICE]),
  ),
  ...Object.entries(OF_OTHERS).flatMap(([table, rules]) =>
    Object.entries(rules).map(([name, rule]): [string, TextRule] => [`${table}.${name}`, rule]),
  ),
]);
