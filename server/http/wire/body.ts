import { Refusal } from '../../../domain/refusal.ts';
import type { RequestContext } from '../request-context.ts';
import type { HttpSettings } from '../settings.ts';

/** The caller has gone away; there is nobody to answer. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone';
}

/** A body as it arrived: its bytes, or only the first of them when there were too many, and how many have come. */
export type ReceivedBody = { readonly bytes: Buffer; readonly received: number; readonly overflow: boolean };

/**
 * Receives a body of at most `settings.bodyMost` bytes. Of a larger one the rest is thrown away up to a bound, so that
 * the caller is done sending when the answer comes; beyond the bound the connection closes.
 *
 * @throws {Refusal} what cut the body short; {@link CallerGone}
 */
export function receiveBody(context: RequestContext, settings: HttpSettings): Promise<ReceivedBody> {
  const { request } = context;
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > settings.bodyMost && (context.awaitsContinue || announced > settings.maxDiscardedBytes)) {
    context.mustClose = true;
    request.resume();
    return Promise.resolve({ bytes: Buffer.alloc(0), received: 0, overflow: true });
  }
  const chunks: Buffer[] = [];
  let received = 0;
  const keep = (chunk: Buffer): void => {
    received += chunk.length;
    if (received <= settings.bodyMost || chunks.length === 0) chunks.push(chunk);
  };
  return readToEnd(context, settings.bodyMost + settings.maxDiscardedBytes, keep).then((isWhole) => {
    if (!isWhole) context.mustClose = true;
    const [only] = chunks;
    const bytes = only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
    return { bytes, received, overflow: received > settings.bodyMost };
  });
}

/**
 * Waits until a body that nobody reads has arrived, withTimeout bounds, before an answer is sent; where it does not arrive,
 * the connection closes after the answer.
 */
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

/** Reads a body to its end (true) or to a number of bytes (false, and what follows is dropped). */
function readToEnd(context: RequestContext, most: number, take: (chunk: Buffer) => void): Promise<boolean> {
  const { request, response, connection } = context;
  return new Promise((resolve, reject) => {
    let left = most;
    const onData = (chunk: Buffer): void => {
      left -= chunk.length;
      take(chunk);
      if (left < 0) settle(() => resolve(false));
    };
    const onEnd = (): void => settle(() => resolve(true));
    const onGone = (): void => settle(() => reject(new CallerGone('The connection closed before the body was there.')));
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
