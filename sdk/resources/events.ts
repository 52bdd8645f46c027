import type { OperatorEventRecord, TransferServiceEvent } from '../generated/operations.ts';
import { EventsResource } from '../generated/resources.ts';
import type { Send } from '../send.ts';
import type { ClientSettings } from '../settings.ts';
import { type EventStreamOptions, type ReceivedEvent, streamEvents } from '../stream-events.ts';

/** Events: what happened in a card program, in order and without a gap. */
export class Events extends EventsResource {
  readonly #settings: ClientSettings;

  constructor(send: Send, settings: ClientSettings) {
    super(send);
    this.#settings = settings;
  }

  /**
   * The events of the card program as they happen, for `for await`: each one once, in order. The loop survives restarts
   * of the service and lost connections. It ends only when you leave it, or abort the signal.
   *
   * To survive a restart of your own program too, store the `position` of each event together with what you did for it,
   * and begin with it as `after`.
   *
   * Throws a RequestError with the code `events_expired` if events after `after` are no longer stored, an EventGap if the
   * service left one out, and the errors of any call; once connected, only those that a retry cannot resolve, such as a
   * revoked key.
   */
  async *stream(options: EventStreamOptions = {}): AsyncGenerator<TransferServiceEvent, void, undefined> {
    for await (const { event } of this.streamWithText(options)) yield event;
  }

  /**
   * The same as `stream`, with the text of each event as the service sent it: to pass it on unchanged, or to sign it as
   * the service signs webhooks.
   */
  async *streamWithText(
    options: EventStreamOptions = {},
  ): AsyncGenerator<ReceivedEvent<TransferServiceEvent>, void, undefined> {
    const position = await beginning(options, async (call) => (await this.list({ limit: 1 }, call)).position);
    if (position === undefined) return;
    yield* streamEvents<TransferServiceEvent>(
      this.#settings,
      { operation: 'list_events', position, isContiguous: true },
      options,
    );
  }

  /**
   * The events of all card programs and of the service as they happen, or those of `programId`. Continues after a
   * `number` instead of a `position`; otherwise the same as `stream`. Requires an operator key.
   */
  async *streamAllPrograms(options: EventStreamOptions = {}): AsyncGenerator<OperatorEventRecord, void, undefined> {
    const position = await beginning(options, async (call) => (await this.search({ limit: 1 }, call)).number);
    if (position === undefined) return;
    for await (const { event } of streamEvents<OperatorEventRecord>(
      this.#settings,
      { operation: 'search_events', position, isContiguous: options.programId === undefined },
      options,
    )) {
      yield event;
    }
  }
}

/**
 * The position after which a stream begins. Without `after`, it is requested first: a stream from the next event on would
 * have no position to continue from if its connection were lost before that event. Undefined if the signal aborts.
 */
async function beginning(
  { after, programId, signal }: EventStreamOptions,
  readPosition: (call: { programId?: string | undefined; signal?: AbortSignal | undefined }) => Promise<number>,
): Promise<number | undefined> {
  if (after !== undefined) return after;
  try {
    return await readPosition({ programId, signal });
  } catch (error) {
    if (signal?.aborted) return undefined;
    throw error;
  }
}
