import { Refusal } from '../../../domain/refusal.ts';
import type { RequestHead } from './request-head.ts';

const MAX_KEY_LENGTH = 255;

/**
 * The idempotency key of a request: 1 to 255 visible ASCII characters, as they are or as a quoted string (RFC 8941),
 * which is the same key. Null when there is none, or when the operation has no use for one.
 *
 * @throws {Refusal} invalid_idempotency_key
 */
export function readIdempotencyKey(head: RequestHead, use: 'none' | 'optional' | 'required'): string | null {
  if (use === 'none') return null;
  if (head.idempotencyKeyTwice) throw invalid('The Idempotency-Key header was sent more than once.');
  const sent = head.idempotencyKey;
  if (sent === undefined) {
    if (use === 'optional') return null;
    throw invalid('This operation needs an Idempotency-Key header, and there is none.');
  }
  const key = sent.startsWith('"') ? unquoted(sent) : sent;
  if (key === '') throw invalid('The Idempotency-Key is empty.');
  if (key.length > MAX_KEY_LENGTH) {
    throw invalid(`The Idempotency-Key has ${key.length} characters, and ${MAX_KEY_LENGTH} are the most.`);
  }
  for (let at = 0; at < key.length; at += 1) {
    const code = key.charCodeAt(at);
    if (code < 0x21 || code > 0x7e) {
      throw invalid(`Character ${at + 1} of the Idempotency-Key is a blank or is not visible ASCII.`);
    }
  }
  return key;
}

function unquoted(sent: string): string {
  let key = '';
  for (let at = 1; at < sent.length; at += 1) {
    const character = sent.charAt(at);
    if (character === '"') {
      if (at === sent.length - 1) return key;
      break;
    }
    if (character === '\\') {
      at += 1;
      const escaped = sent.charAt(at);
      if (escaped !== '"' && escaped !== '\\') break;
      key += escaped;
    } else {
      key += character;
    }
  }
  throw invalid('The Idempotency-Key begins with a quotation mark, but it is not one quoted string.');
}

function invalid(message: string): Refusal {
  return new Refusal('invalid_idempotency_key', message);
}
