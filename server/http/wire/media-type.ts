import { MERGE_PATCH, type Operation } from '../../../contract/operation.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { RequestHead } from './request-head.ts';

/** How a body is labelled: as JSON, or with the type that plain clients put on anything. */
export type BodyLabel = 'json' | 'form';

/**
 * What the headers say about the body. No Content-Type is JSON; a form type may be JSON, its first byte will reportError.
 *
 * @throws {Refusal} unsupported_media_type
 */
export function readBodyLabel(head: RequestHead, method: Operation['method']): BodyLabel {
  const { contentType, contentEncoding, transferEncoding } = head;
  if (contentEncoding !== undefined && contentEncoding !== '' && contentEncoding.toLowerCase() !== 'identity') {
    throw unsupported('The body has a Content-Encoding. Send it as it is, without compression.');
  }
  if (transferEncoding !== undefined && transferEncoding.toLowerCase() !== 'chunked') {
    throw unsupported("The Transfer-Encoding can only be 'chunked'. Send the body without compression.");
  }
  if (contentType === undefined || contentType === 'application/json') return 'json';
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  for (const parameter of parameters) refuseCharset(parameter);
  if (type === '' || type === 'application/json') return 'json';
  if (type === MERGE_PATCH && method === 'PATCH') return 'json';
  if (type === 'application/x-www-form-urlencoded') return 'form';
  throw unsupported("The Content-Type must be 'application/json'.");
}

function refuseCharset(parameter: string): void {
  const [name = '', value = ''] = parameter.split('=', 2);
  if (name.trim() !== 'charset') return;
  const charset = value.trim().replaceAll('"', '');
  if (charset !== 'utf-8' && charset !== 'utf8') throw unsupported('The charset of the body must be UTF-8.');
}

/**
 * Refuses a body labelled as a form unless it is empty or JSON all the same, as curl sends it by default.
 *
 * @throws {Refusal} unsupported_media_type
 */
export function refuseForm(label: BodyLabel, bytes: Buffer): void {
  if (label === 'json') return;
  // A byte order mark is no more than white space to whoever reads the JSON behind it.
  const text = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
  const first = text.find((byte) => byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09);
  if (first === undefined || first === 0x7b) return;
  throw unsupported("The body is a form. Send a JSON object, as 'Content-Type: application/json'.");
}

function unsupported(message: string): Refusal {
  return new Refusal('unsupported_media_type', message);
}
