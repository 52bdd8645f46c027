import { toWireId } from '../../../domain/identifier.ts';

// Invariant: An event and a replay have the same bytes at every reading, in whatever form the payload is stored
// Kept by: this file, the only one that knows the compact form
// Tested by: `test/store/events/transfer-payload.test.ts`, `test/simulation`

/** Columns of an event: the inner UUID of its program, and the id of its subject on the wire. */
export type PayloadOrigin = { readonly programId: string | null; readonly subjectId: string };

/** The values that differ in nearly every transfer; all others usually follow from them. */
type Own = {
  readonly transfer_id: unknown;
  readonly program_id: unknown;
  readonly type: unknown;
  readonly amount: unknown;
  readonly currency: unknown;
  readonly card_id: unknown;
  readonly request_id: unknown;
  readonly idempotency_key: unknown;
  readonly created_by: unknown;
  readonly created_at: string;
};

/**
 * The usual transfer at the time of its event: completed at once, without texts. The fields are in the order of a
 * record, in which they are sent.
 */
function usualTransfer(own: Own) {
  const { transfer_id, program_id, card_id, type, amount, currency, request_id } = own;
  const { idempotency_key, created_by, created_at } = own;
  return {
    transfer_id,
    program_id,
    card_id,
    destination_card_id: null,
    type,
    amount,
    captured_amount: amount,
    reversed_amount: 0,
    currency,
    status: 'completed',
    outcome: 'final',
    capture: 'automatic',
    expires_at: null,
    scheduled_for: null,
    description: null,
    reference: null,
    metadata: {},
    request_id,
    idempotency_key,
    created_by,
    error: null,
    created_at,
    updated_at: created_at,
    completed_at: created_at,
  };
}

/** The record of a transfer, as in the contract: these fields in this order; others may be added at the end. */
export type TransferPayload = Own & { readonly [Field in keyof ReturnType<typeof usualTransfer>]: unknown };

/**
 * The number at the start of the compact form. Another form gets another number, and this one stays readable for ever.
 */
const FORM = 1;

/** The start of a compact payload. A full one is a JSON object and starts with a brace. */
const COMPACT = `[${FORM},`;

/**
 * The record of a transfer as the payload of its event, without field names and without what the event's columns say: a
 * third of the bytes, and payloads are the largest part of what a transfer writes. It is a JSON array of the number of
 * the form, the values that differ in nearly every transfer, and, if there are any, an object with the fields that are
 * unlike the usual. It does not depend on the row of the transfer, which changes later: the event stays what it was.
 */
export function compactPayload(record: TransferPayload): string {
  const usual = usualTransfer(record);
  const { type, amount, currency, card_id, request_id, idempotency_key, created_by, created_at } = record;
  const compact = [FORM, type, amount, currency, card_id, request_id, idempotency_key, created_by, timeOf(created_at)];
  let unusual: Record<string, unknown> | undefined;
  for (const field in record) {
    const value = record[field as keyof TransferPayload];
    if (value === usual[field as keyof TransferPayload]) continue;
    if (field === 'metadata' && Object.keys(value as object).length === 0) continue;
    unusual ??= {};
    unusual[field] = value;
  }
  return JSON.stringify(unusual === undefined ? compact : [...compact, unusual]);
}

let lastText = new Date(0).toISOString();
let lastTime = 0;

/**
 * The milliseconds since 1970 of a time in a record. All new transfers of a group have the same, which is parsed once.
 */
function timeOf(text: string): number {
  if (text !== lastText) {
    lastText = text;
    lastTime = Date.parse(text);
  }
  return lastTime;
}

/** The JSON text of a payload as it was at its event, from either form. */
export function fullPayload(stored: string, { programId, subjectId }: PayloadOrigin): string {
  if (!stored.startsWith('[')) return stored;
  if (!stored.startsWith(COMPACT)) throw new Error(`this version does not know the form of the event of ${subjectId}`);
  const [, type, amount, currency, card_id, request_id, idempotency_key, created_by, time, unusual] =
    JSON.parse(stored);
  const own = { type, amount, currency, card_id, request_id, idempotency_key, created_by };
  const usual = usualTransfer({
    ...own,
    transfer_id: subjectId,
    program_id: toWireId('prog', programId ?? ''),
    created_at: new Date(time).toISOString(),
  });
  return JSON.stringify({ ...usual, ...unusual });
}
