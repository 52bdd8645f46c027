/** A message of an event stream. */
export type StreamMessage = {
  /** The last id that the stream has sent, with this message or an earlier one. Undefined if it has sent none. */
  readonly id: string | undefined;
  /** The name of the event, or `message` if it has none. */
  readonly event: string;
  /** Undefined for a message that only sets the id. */
  readonly data: string | undefined;
};

/** Longer than any event. Keeps a response that is not an event stream from filling the memory. */
const MAX_MESSAGE_CHARACTERS = 1_000_000;

/**
 * Reads an event stream (HTML standard, section 9.2.6), in chunks that can begin and end anywhere, even within a character
 * or a line end. An incomplete message at the end of the stream is not returned.
 *
 * The platform's `EventSource` is not used. It sends no Authorization header, hides the status and the body of a refusal,
 * does not report a silent connection, and is missing in Node by default.
 */
export class EventStreamParser {
  // Removes a byte order mark at the beginning. Fatal, because replacing an invalid character would change the event.
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #rest = '';
  #skipsLineFeed = false;
  #id: string | undefined;
  #hasId = false;
  #event = '';
  #data: string[] = [];
  #characters = 0;

  /**
   * Returns the messages that this chunk completes. Throws if it is not UTF-8, or if a message is longer than any event.
   */
  read(chunk: Uint8Array): readonly StreamMessage[] {
    let text = this.#decoder.decode(chunk, { stream: true });
    if (text === '') return [];
    // A carriage return at the end of a chunk has ended its line. A line feed after it belongs to the same line end.
    if (this.#skipsLineFeed && text.startsWith('\n')) text = text.slice(1);
    this.#skipsLineFeed = text.endsWith('\r');
    const lines = (this.#rest + text).split(/\r\n|\r|\n/);
    this.#rest = lines.pop() ?? '';
    const messages = lines.flatMap((line) => this.#readLine(line) ?? []);
    if (this.#rest.length + this.#characters > MAX_MESSAGE_CHARACTERS)
      throw new Error('A message of the stream is too long.');
    return messages;
  }

  #readLine(line: string): StreamMessage | undefined {
    if (line === '') return this.#complete();
    const colon = line.indexOf(':');
    // A comment, which only shows that the connection is alive.
    if (colon === 0) return undefined;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (name === 'data') {
      this.#data.push(value);
      this.#characters += value.length;
    }
    if (name === 'event') this.#event = value;
    if (name === 'id' && !value.includes('\0')) {
      this.#id = value;
      this.#hasId = true;
    }
    return undefined;
  }

  #complete(): StreamMessage | undefined {
    const data = this.#data.length === 0 ? undefined : this.#data.join('\n');
    const message = { id: this.#id, event: this.#event === '' ? 'message' : this.#event, data };
    const isMessage = data !== undefined || this.#hasId;
    this.#data = [];
    this.#event = '';
    this.#hasId = false;
    this.#characters = 0;
    return isMessage ? message : undefined;
  }
}
