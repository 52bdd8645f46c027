import type { ServerResponse } from 'node:http';
import { NoResponseError, withTimeout } from '../admission/timeouts.ts';
import type { RequestContext } from '../request-context.ts';
import type { HttpService } from '../service.ts';

/**
 * Writes pieces of text as fast as the caller takes them and no faster: the next one is read when the last has left, so
 * one piece is in memory, whatever the length. Ends when there are no more, or when the caller has gone.
 *
 * Throws what reading throws, and NoResponseError when a piece is not read or not taken in time, or the service closes.
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
      if (piece !== '' && !response.write(piece) && !response.destroyed) await waitUntilTaken(service, context);
      if (response.destroyed) return;
      const next = await withTimeout(
        context,
        settings.operationTimeoutMilliseconds + settings.operationGraceMilliseconds,
        rest.next(),
      );
      if (next.done === true) return;
      piece = next.value;
    }
  } finally {
    // Whoever still reads finishes what is under way, and nobody waits for it.
    void rest.return?.().catch(() => undefined);
  }
}

async function waitUntilTaken(service: HttpService, context: RequestContext): Promise<void> {
  const { readTimeoutMilliseconds } = service.settings;
  try {
    await withTimeout(context, readTimeoutMilliseconds, taken(context.response));
  } catch (thrown) {
    if (service.isClosing) throw thrown;
    throw new NoResponseError(`The caller read nothing of the export for ${readTimeoutMilliseconds} ms.`);
  }
}

/** Resolves when everything that was written has left, or the connection has gone. */
function taken(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
