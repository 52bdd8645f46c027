import type { OperationId } from '../../contract/operations.ts';
import type { AnyReply, LiveReply, WaitReply } from '../calls/call.ts';
import { checkCallerAgain } from './admission/caller.ts';
import { beginWaiting, endWaiting } from './admission/timeouts.ts';
import type { RequestContext } from './request-context.ts';
import type { HttpService } from './service.ts';
import { sendStream } from './wire/event-stream.ts';
import { sendError, sendReply } from './wire/reply.ts';

/**
 * Serves a reply that waits for events or streams them. While it waits, the request does not count as load or as late, and only
 * its own deadline applies. Throws a refusal only before the response begins.
 */
export async function serveLive(
  service: HttpService,
  context: RequestContext,
  id: OperationId,
  reply: LiveReply,
): Promise<void> {
  const checkKey = (): void | Promise<void> => checkCallerAgain(service, context);
  if ('stream' in reply) {
    const signal = service.watchers.admit(context, 'stream');
    await sendStream(service, context, reply.stream, { signal, checkKey });
    return;
  }
  const last = await waitForReply(service, context, reply, checkKey);
  if (last !== undefined) await sendReply(service, context, id, last);
}

/**
 * Returns the reply after one or more waits. Undefined if the caller has disconnected or has already received an error
 * response.
 */
async function waitForReply(
  service: HttpService,
  context: RequestContext,
  first: WaitReply,
  checkKey: () => void | Promise<void>,
): Promise<Exclude<AnyReply, LiveReply> | undefined> {
  const { settings, watchers } = service;
  const timeoutMilliseconds = settings.operationTimeoutMilliseconds + settings.operationGraceMilliseconds;
  const isStored = first.isStored === true;
  const signal = isStored ? watchers.admitStored(context) : watchers.admit(context, 'wait');
  let reply: AnyReply = first;
  while ('wait' in reply) {
    const { wait }: WaitReply = reply;
    // A HEAD request must not wait.
    const isOver = (): boolean => signal.aborted || context.request.method === 'HEAD';
    if (!isOver()) await wait.forNews(signal);
    if (context.response.destroyed) return undefined;
    // If the operation has taken effect, the caller gets its reply even if its key is revoked during the wait.
    if (!isOver() && !isStored) await checkKey();
    beginWaiting(context, timeoutMilliseconds, (reason) => {
      endWaiting(context);
      context.isAbandoned = true;
      void sendError(service, context, reason);
    });
    reply = await wait.resume(isOver());
    if (!endWaiting(context)) return undefined;
  }
  if ('stream' in reply) throw new TypeError('A wait does not end in a stream.');
  return reply;
}
