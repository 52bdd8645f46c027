import { randomFillSync } from 'node:crypto';
import { AMOUNT, cardName, type Traffic } from './traffic.ts';

export type ListedRequest = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly idempotencyKey?: string;
  readonly body?: string;
};

export type Sending =
  | { readonly kind: 'transfers' }
  | { readonly kind: 'batches'; readonly rows: number }
  | { readonly kind: 'listed'; readonly requests: readonly ListedRequest[] };

/** The bytes of a request, valid until the next request of the same connection, and the number of transfers in it. */
export type Request = { readonly bytes: Buffer; readonly transfers: number };

const KEY_DIGITS = 32;
const CARD_DIGITS = 7;
/** The character 0. */
const ZERO = 48;
const TRANSFER_PATH = '/api/v0.1/core/transfer';

const random = Buffer.allocUnsafe(65_536);
const digits = Buffer.allocUnsafe(random.length * 2);
let digitsAt = digits.length;

/**
 * Returns the index of the next 32 random hex digits in `digits`. The digits are generated in bulk, because one call
 * per key would cost more than sending the request.
 */
function nextKey(): number {
  if (digitsAt + KEY_DIGITS > digits.length) {
    randomFillSync(random);
    digits.write(random.toString('hex'), 'latin1');
    digitsAt = 0;
  }
  digitsAt += KEY_DIGITS;
  return digitsAt - KEY_DIGITS;
}

function newKey(): string {
  const at = nextKey();
  return digits.toString('latin1', at, at + KEY_DIGITS);
}

function pick(count: number): number {
  return Math.floor(Math.random() * count);
}

/** Composes the requests of one connection. Each connection needs a separate composer, because the bytes are reused. */
export function composer(traffic: Traffic, sending: Sending): () => Request {
  if (sending.kind === 'transfers') return composeTransfers(traffic);
  if (sending.kind === 'batches') return composeBatches(traffic, sending.rows);
  let next = 0;
  return () => {
    const listed = sending.requests[next++ % sending.requests.length];
    if (listed === undefined) throw new Error('the list of requests is empty');
    const { method, path, idempotencyKey, body } = listed;
    const text = method === 'POST' ? post(traffic, path, idempotencyKey, body ?? '') : `GET ${head(traffic, path)}\r\n`;
    return { bytes: Buffer.from(text, 'latin1'), transfers: 1 };
  };
}

/** Transfers differ only in three places of constant length: two keys and the digits of the card. */
function composeTransfers(traffic: Traffic): () => Request {
  const { cards, keys } = traffic;
  const [firstKey = ''] = keys;
  const idempotencyPlace = 'k'.repeat(KEY_DIGITS);
  const body = `{"amount":${AMOUNT},"card_id":"${cardName(0)}"}`;
  const bytes = Buffer.from(post({ ...traffic, keys: [firstKey] }, TRANSFER_PATH, idempotencyPlace, body), 'latin1');
  const keyAt = bytes.indexOf(firstKey);
  const idempotencyAt = bytes.indexOf(idempotencyPlace);
  const cardEnd = bytes.length - '"}'.length;
  const request: Request = { bytes, transfers: 1 };
  return () => {
    if (keys.length > 1) bytes.write(keys[pick(keys.length)] ?? '', keyAt, 'latin1');
    const digitsFrom = nextKey();
    digits.copy(bytes, idempotencyAt, digitsFrom, digitsFrom + KEY_DIGITS);
    let card = 1 + pick(cards);
    for (let at = cardEnd - 1; at >= cardEnd - CARD_DIGITS; at -= 1) {
      bytes[at] = ZERO + (card % 10);
      card = Math.floor(card / 10);
    }
    return request;
  };
}

function composeBatches(traffic: Traffic, rows: number): () => Request {
  const row = (): string =>
    `{"amount":${AMOUNT},"card_id":"${cardName(1 + pick(traffic.cards))}","idempotency_key":"${newKey()}"}`;
  return () => {
    const body = `{"transfers":[${Array.from({ length: rows }, row).join(',')}]}`;
    return { bytes: Buffer.from(post(traffic, `${TRANSFER_PATH}/batch`, undefined, body), 'latin1'), transfers: rows };
  };
}

function head({ url, keys }: Traffic, path: string): string {
  return `${path} HTTP/1.1\r\nHost: ${new URL(url).host}\r\nAuthorization: Bearer ${keys[pick(keys.length)]}\r\n`;
}

function post(traffic: Traffic, path: string, key: string | undefined, body: string): string {
  const keyLine = key === undefined ? '' : `Idempotency-Key: ${key}\r\n`;
  const length = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  return `POST ${head(traffic, path)}${keyLine}${length}${body}`;
}
