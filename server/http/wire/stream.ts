import type { ServerResponse } from 'node:http';
import { NoAnswer, within } from '../admission/overdue.ts';
import type { Exchange } from '../exchange.ts';
import type { HttpService } from '../service.ts';

/**
 * Writes pieces of text as fast as the caller takes them and no faster: the next one is read when the last has left, so
 * one piece is in memory, whatever the length. Ends when there are no more, or when the caller has gone.
 *
 * Throws what reading throws, and NoAnswer when a piece is not read or not taken in time, or the service closes.
 */
export async function pour(
  service: HttpService,
  exchange: Exchange,
  first: string,
  rest: AsyncIterator<string, void, undefined>,
): Promise<void> {
  const { settings } = service;
  const { response } = exchange;
  try {
    for (let piece = first; ; ) {
      if (piece !== '' && !response.write(piece) && !response.destroyed) await waitUntilTaken(service, exchange);
      if (response.destroyed) return;
      const next = await within(exchange, settings.answerWithin_ms + settings.answerGrace_ms, rest.next());
      if (next.done === true) return;
      piece = next.value;
    }
  } finally {
    // Whoever still reads finishes what is under way, and nobody waits for it.
    void rest.return?.().catch(() => undefined);
  }
}

async function waitUntilTaken(service: HttpService, exchange: Exchange): Promise<void> {
  const { takeWithin_ms } = service.settings;
  try {
    await within(exchange, takeWithin_ms, taken(exchange.response));
  } catch (thrown) {
    if (service.isClosing) throw thrown;
    throw new NoAnswer(`The caller took nothing of the export for ${takeWithin_ms} ms.`);
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
