import type { ServerResponse } from 'node:http';
import { checkCallerAgain } from '../admission/caller.ts';
import { NoResponseError, withTimeout } from '../admission/timeouts.ts';
import type { RequestContext } from '../request-context.ts';
import type { HttpService } from '../service.ts';

/**
 * Writes pieces of text as fast as the caller reads them. Each piece is loaded after the previous one was sent, so only one
 * is in memory. Ends after the last piece, or when the caller disconnects.
 *
 * Throws the errors of `rest`, the refusal of a key that has become invalid, and NoResponseError if a piece is not loaded
 * or not read in time, or the service closes.
 */
export async function streamText(
  service: HttpService,
  context: RequestContext,
  first: string,
  rest: AsyncIterator<string, void, undefined>,
): Promise<void> {
  const { settings } = service;
  const { response } = context;
  try {
    for (let piece = first; ; ) {
      if (piece !== '' && !response.write(piece) && !response.destroyed) await waitUntilDrained(service, context);
      if (response.destroyed) return;
      const next = await withTimeout(
        context,
        settings.operationTimeoutMilliseconds + settings.operationGraceMilliseconds,
        nextPiece(service, context, rest),
      );
      if (next.done === true) return;
      piece = next.value;
    }
  } finally {
    // A load in progress may finish, but its result is not used.
    void rest.return?.().catch(() => undefined);
  }
}

/** Loads the next piece and checks the key before the piece is sent. */
async function nextPiece(
  service: HttpService,
  context: RequestContext,
  rest: AsyncIterator<string, void, undefined>,
): Promise<IteratorResult<string, void>> {
  const next = await rest.next();
  if (next.done !== true) await checkCallerAgain(service, context);
  return next;
}

async function waitUntilDrained(service: HttpService, context: RequestContext): Promise<void> {
  const { readTimeoutMilliseconds } = service.settings;
  try {
    await withTimeout(context, readTimeoutMilliseconds, drained(context.response));
  } catch (thrown) {
    if (service.isClosing) throw thrown;
    throw new NoResponseError(`The caller did not read the export for ${readTimeoutMilliseconds} ms.`);
  }
}

/** Resolves when everything written has been sent, or the connection closes. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
