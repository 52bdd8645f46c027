import { toWireId } from '../../../domain/identifier.ts';
import { parseJson } from '../../../domain/parse-json.ts';

// Invariant: An event and a replay have the same bytes each time they are read, in every stored form of the payload
// Kept by: only this file reads and writes the compact form
// Tested by: `test/store/events/transfer-payload.test.ts`, `verification/environments/memory`

/** Columns of an event: the inner UUID of its program, and the id of its subject on the wire. */
export type PayloadOrigin = { readonly programId: string | null; readonly subjectId: string };

/** The values that differ in nearly every transfer. The other values usually follow from them. */
type Own = {
  readonly transfer_id: string;
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
 * Returns the usual transfer at the time of its event: completed immediately, and without free text. The fields are in the order
 * of a sent record.
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

/** The record of a transfer, as in the contract. It has these fields in this order. Other fields may be added at the end. */
export type TransferPayload = Own & { readonly [Field in keyof ReturnType<typeof usualTransfer>]: unknown };

/**
 * The number at the start of the current compact form. A full payload is a JSON object and starts with a brace. A new form gets a
 * new number, and earlier forms stay readable forever. Form 1 has ids as on the wire, and the time.
 */
const FORM = 2;

/**
 * Writes the record of a transfer as the payload of its event, without field names and without the values in the event's columns.
 * The compact form takes a quarter of the bytes. This matters because payloads are the largest part of the data that a transfer
 * writes.
 *
 * The payload is a JSON array. It contains the number of the form, the values that differ in nearly every transfer and, if there
 * are any, an object with the unusual fields. It does not depend on the row of the transfer, which changes later, so the event
 * never changes.
 */
export function compactPayload(record: TransferPayload): string {
  const { transfer_id, program_id, type, amount, currency, card_id, request_id, idempotency_key, created_by } = record;
  const request = pack('req_', request_id);
  const creator = packCreator(created_by);
  const usual = usualTransfer({
    ...{ transfer_id, program_id, type, amount, currency, card_id, idempotency_key },
    request_id: request === null ? null : request_id,
    created_by: creator === null ? null : created_by,
    created_at: timeInId(transfer_id),
  });
  const compact = [FORM, type, amount, currency, card_id, request, packKey(idempotency_key), creator];
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

let lastTime = 0;
let lastText = new Date(lastTime).toISOString();

/**
 * Returns the creation time of a transfer from its id. The last result is kept, because new transfers of a group share one time.
 */
function timeInId(id: string): string {
  const time = Number.parseInt(id.slice(3, 15), 16);
  if (time !== lastTime) {
    lastText = new Date(time).toISOString();
    lastTime = time;
  }
  return lastText;
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Two base64 characters for each value of three hex digits. This is five times as fast as a Buffer. */
const PAIRS = Array.from({ length: 4096 }, (_, value) => `${BASE64[value >> 6]}${BASE64[value & 63]}`);
const DIGITS = new Map(Array.from('0123456789abcdef', (digit, value) => [digit.charCodeAt(0), value]));
/** The value of a hex digit by its character code, or -1 for any other ASCII character. */
const VALUES = Array.from({ length: 128 }, (_, code) => DIGITS.get(code) ?? -1);

/** Packs the 32 hex digits after `prefix` into 22 characters. Returns null for any other text. */
function pack(prefix: string, text: unknown): string | null {
  if (typeof text !== 'string' || text.length !== prefix.length + 32 || !text.startsWith(prefix)) return null;
  const valueAt = (place: number): number => VALUES[text.charCodeAt(place)] ?? -1;
  let packed = '';
  for (let place = prefix.length; place < text.length; place += 3) {
    // The last two digits are padded with four zero bits.
    const last = place + 2 < text.length ? valueAt(place + 2) : 0;
    const pair = PAIRS[(valueAt(place) << 8) | (valueAt(place + 1) << 4) | last];
    if (pair === undefined) return null;
    packed += pair;
  }
  return packed;
}

let lastCreator: unknown = null;
let lastPacked: string | null = null;

/** Packs the creator. Most transfers are created with the same key as the previous one, so the last result is kept. */
function packCreator(id: unknown): string | null {
  if (id !== lastCreator) {
    lastPacked = pack('key_', id);
    lastCreator = id;
  }
  return lastPacked;
}

function unpack(prefix: string, packed: string | null): string | null {
  return packed === null ? null : `${prefix}${Buffer.from(packed, 'base64url').toString('hex')}`;
}

/** Packs an idempotency key if it is 32 hex digits, as the keys of the SDK are. Otherwise returns it after an equals sign. */
function packKey(key: unknown): string | null {
  return pack('', key) ?? (key === null ? null : `=${key}`);
}

function unpackKey(packed: string | null): string | null {
  return packed?.startsWith('=') ? packed.slice(1) : unpack('', packed);
}

/** Returns a payload at the time of the event as JSON text, from any stored form. */
export function fullPayload(stored: string, origin: PayloadOrigin): string {
  if (!stored.startsWith('[')) return stored;
  const { programId, subjectId } = origin;
  const { unusual, ...values } = valuesOf(stored, subjectId);
  const usual = usualTransfer({ ...values, transfer_id: subjectId, program_id: toWireId('prog', programId ?? '') });
  return JSON.stringify({ ...usual, ...unusual });
}

type Values = Omit<Own, 'transfer_id' | 'program_id'> & { readonly unusual: object | undefined };

type Text = string | null;
type Form1 = [1, ...usual: [Text, number, Text, Text, Text, Text, Text], time: number, unusual?: object];
type Form2 = [2, ...usual: [Text, number, Text, Text, Text, Text, Text], unusual?: object];

function valuesOf(stored: string, subjectId: string): Values {
  if (stored.startsWith(`[${FORM},`)) {
    const [, type, amount, currency, card_id, request, key, creator, unusual] = parseJson(stored) as Form2;
    const request_id = unpack('req_', request);
    const own = { type, amount, currency, card_id, request_id, idempotency_key: unpackKey(key) };
    return { ...own, created_by: unpack('key_', creator), created_at: timeInId(subjectId), unusual };
  }
  if (stored.startsWith('[1,')) {
    const [, type, amount, currency, card_id, request_id, idempotency_key, created_by, time, unusual] = parseJson(
      stored,
    ) as Form1;
    const own = { type, amount, currency, card_id, request_id, idempotency_key, created_by };
    return { ...own, created_at: new Date(time).toISOString(), unusual };
  }
  throw new Error(`this version cannot read the stored form of the event of ${subjectId}`);
}
