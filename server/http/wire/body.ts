import { MERGE_PATCH, type Operation } from '../../../contract/operation.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { CallerGone } from '../../calls/call.ts';
import type { RequestContext } from '../request-context.ts';
import type { HttpSettings } from '../settings.ts';
import type { RequestHead } from './request-head.ts';

/** A received body: its bytes, and the number of bytes received. If the body is too large, only its first bytes are kept. */
export type ReceivedBody = { readonly bytes: Buffer; readonly received: number; readonly overflow: boolean };

/**
 * Receives a body of at most `maxBodyBytes` bytes. Returns no promise if the body has already arrived. If it is larger, up to
 * `maxDiscardedBytes` are read and discarded, so that the caller has finished sending when the response arrives. Then the
 * connection is closed.
 *
 * @throws {Refusal} if the body is not complete in time, or is malformed; {@link CallerGone} if the connection closes
 */
export function receiveBody(
  context: RequestContext,
  maxBodyBytes: number,
  maxDiscardedBytes: number,
): ReceivedBody | Promise<ReceivedBody> {
  const { request } = context;
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > maxBodyBytes && (context.awaitsContinue || announced > maxDiscardedBytes)) {
    context.mustClose = true;
    request.resume();
    return { bytes: NO_BYTES, received: 0, overflow: true };
  }
  if (hasArrived(context)) {
    const bytes: Buffer = request.read() ?? NO_BYTES;
    return { bytes, received: bytes.length, overflow: bytes.length > maxBodyBytes };
  }
  const chunks: Buffer[] = [];
  let received = 0;
  const keep = (chunk: Buffer): void => {
    received += chunk.length;
    if (received <= maxBodyBytes || chunks.length === 0) chunks.push(chunk);
  };
  return readToEnd(context, maxBodyBytes + maxDiscardedBytes, keep).then((isWhole) => {
    if (!isWhole) context.mustClose = true;
    const [only] = chunks;
    const bytes = only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
    return { bytes, received, overflow: received > maxBodyBytes };
  });
}

const NO_BYTES = Buffer.alloc(0);

/** Returns whether the whole body is in memory and unread. Reading it with stream events would take several times as long. */
function hasArrived(context: RequestContext): boolean {
  const { request, connection } = context;
  return (
    request.complete &&
    !context.awaitsContinue &&
    !request.destroyed &&
    request.readableFlowing === null &&
    connection.fault === undefined
  );
}

/** Reads and discards the rest of a body before the response is sent. If it does not end in time, the connection is closed. */
export async function discardBody(context: RequestContext, settings: HttpSettings): Promise<void> {
  const { request, connection } = context;
  if (request.complete || request.destroyed || context.mustClose) return;
  if (context.awaitsContinue || connection.fault !== undefined) {
    context.mustClose = true;
    return;
  }
  const timer = setTimeout(() => connection.onFault?.(tooSlow()), settings.lingerMilliseconds);
  try {
    if (!(await readToEnd(context, settings.maxDiscardedBytes, () => undefined))) context.mustClose = true;
  } catch {
    context.mustClose = true;
  } finally {
    clearTimeout(timer);
  }
}

function tooSlow(): Refusal {
  return new Refusal('request_timeout', 'The body did not arrive in time.');
}

/** Reads a body. Resolves to true when it is complete. After `maxBytes`, resolves to false, and the rest is discarded. */
function readToEnd(context: RequestContext, maxBytes: number, take: (chunk: Buffer) => void): Promise<boolean> {
  const { request, response, connection } = context;
  return new Promise((resolve, reject) => {
    let left = maxBytes;
    const onData = (chunk: Buffer): void => {
      left -= chunk.length;
      take(chunk);
      if (left < 0) settle(() => resolve(false));
    };
    const onEnd = (): void => settle(() => resolve(true));
    const onGone = (): void =>
      settle(() => reject(new CallerGone('The connection closed before the whole body arrived.')));
    const settle = (outcome: () => void): void => {
      request.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
      connection.onFault = undefined;
      request.on('error', () => undefined);
      request.resume();
      outcome();
    };
    const onFault = (refusal: Refusal): void => {
      context.mustClose = true;
      settle(() => reject(refusal));
    };
    if (request.readableEnded) return onEnd();
    if (request.destroyed) return onGone();
    if (connection.fault?.request === request) return onFault(connection.fault.refusal);
    connection.onFault = onFault;
    request.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
    if (context.awaitsContinue) {
      context.awaitsContinue = false;
      response.writeContinue();
    }
  });
}

/** The media type of a body: JSON, or the form type that curl sends by default. */
export type BodyLabel = 'json' | 'form';

/**
 * Returns the media type of the body, according to its headers. It is JSON if there is no Content-Type. A body with the type of a
 * form may still be JSON, so {@link refuseForm} checks its first byte.
 *
 * @throws {Refusal} unsupported_media_type
 */
export function readBodyLabel(head: RequestHead, method: Operation['method']): BodyLabel {
  const { contentType, contentEncoding, transferEncoding } = head;
  if (contentEncoding !== undefined && contentEncoding !== '' && contentEncoding.toLowerCase() !== 'identity') {
    throw unsupported('The body has a Content-Encoding. Send the body without compression.');
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

/** Refuses a form (`unsupported_media_type`), unless it is empty or a JSON object, because curl sends JSON with this type. */
export function refuseForm(label: BodyLabel, bytes: Buffer): void {
  if (label === 'json') return;
  // The JSON parser skips a byte order mark.
  const text = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
  const first = text.find((byte) => byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09);
  if (first === undefined || first === 0x7b) return;
  throw unsupported("The body is a form. Send a JSON object, as 'Content-Type: application/json'.");
}

function unsupported(message: string): Refusal {
  return new Refusal('unsupported_media_type', message);
}
