import type { Watch } from './watch.ts';

/**
 * A long answer, piece by piece as it comes, for `for await`; a piece may begin and end anywhere in a line. When the
 * answer breaks off, the loop throws an IncompleteAnswer instead of ending. Leaving the loop gives the rest up. The
 * client waits for a slow reader, but the service cuts off one that takes nothing for half a minute.
 */
export type TextChunks = AsyncGenerator<string, void, undefined>;

/**
 * Begins to read a body. Resolves when its first piece is there, so that an answer that breaks off before it rejects
 * here, where it can still be asked for again; `failure` makes the error for one that breaks off later.
 */
export async function beginText(
  body: ReadableStream<Uint8Array> | null,
  watch: Watch,
  failure: (cause: unknown) => Error,
): Promise<TextChunks> {
  const chunks = readText(body, watch);
  const first = await chunks.next();
  return withFailure(first, chunks, failure);
}

async function* readText(body: ReadableStream<Uint8Array> | null, watch: Watch): TextChunks {
  // Strict, because half a character at the end is one more sign of an answer that broke off.
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const reader = body?.getReader();
  try {
    let isDone = reader === undefined;
    while (!isDone) {
      watch.wait();
      const piece = await reader?.read();
      watch.rest();
      isDone = piece?.done ?? true;
      const text = decoder.decode(piece?.value, { stream: !isDone });
      if (text !== '') yield text;
    }
  } finally {
    watch.end();
    // A body that failed refuses to be given up, which changes nothing.
    await reader?.cancel().catch(() => undefined);
  }
}

async function* withFailure(
  first: IteratorResult<string, void>,
  chunks: TextChunks,
  failure: (cause: unknown) => Error,
): TextChunks {
  try {
    if (!first.done) yield first.value;
    yield* chunks;
  } catch (cause) {
    throw failure(cause);
  } finally {
    await chunks.return();
  }
}
