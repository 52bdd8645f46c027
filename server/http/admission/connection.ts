import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';
import type { Refusal } from '../../../domain/refusal.ts';

/** Maximum pipelined requests that wait before the connection is no longer read. Clients pipeline far fewer. */
const MAX_WAITING = 100;

/**
 * Maximum pipelined requests that wait before the connection is destroyed. Node parses everything that it has read, up to
 * 64 KB, before a connection can be paused. Only requests shorter than 128 bytes exceed this, and a request with an API key
 * is longer.
 */
const MAX_WAITING_IN_MEMORY = MAX_WAITING + 65_536 / 128;

/** One connection: its current request, and whether it can still be used. */
export class Connection {
  readonly socket: Socket;
  readonly openedAt = performance.now();
  /** The last request received. It may wait for the requests before it. */
  latest: { readonly request: IncomingMessage; readonly response: ServerResponse } | undefined = undefined;
  /** The error that ended the input, and the request that it cut short, if any. */
  fault: { readonly refusal: Refusal; readonly request: IncomingMessage | undefined } | undefined = undefined;
  /** Called with an input error while a body is read. */
  onFault: ((refusal: Refusal) => void) | undefined = undefined;
  /** Writes the record for an input error after the responses in progress, and ends the connection. */
  writePendingRecord: (() => void) | undefined = undefined;
  /** Bytes received when the last response was sent. */
  bytesHandled = 0;
  /** The caller's address for the rate limits. Set when first needed. */
  address: string | undefined = undefined;
  /** Whether the last response has been sent. Further input is ignored. */
  ended = false;
  /** Requests received that wait for the responses to the requests before them. */
  #waiting = 0;
  #isPauseDue = false;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  get busy(): boolean {
    return this.latest !== undefined && !this.latest.response.writableFinished && !this.latest.response.destroyed;
  }

  /** Whether part of another request has been received. */
  get hasInput(): boolean {
    return this.socket.bytesRead > this.bytesHandled;
  }

  /**
   * Counts a request that waits for its turn. While many wait, the connection is not read: each request takes memory, and
   * no admission limit applies before its turn.
   */
  beginTurnWait(): void {
    this.#waiting += 1;
    if (this.#waiting > MAX_WAITING_IN_MEMORY) this.socket.destroy();
    else if (this.#waiting > MAX_WAITING && !this.#isPauseDue) {
      this.#isPauseDue = true;
      // Node resumes the socket after each request that it parses, so it can be paused only when everything is parsed.
      process.nextTick(() => this.#pause());
    }
  }

  endTurnWait(): void {
    this.#waiting -= 1;
    if (this.#waiting === MAX_WAITING) this.socket.resume();
  }

  #pause(): void {
    this.#isPauseDue = false;
    if (this.#waiting > MAX_WAITING) this.socket.pause();
  }

  /**
   * Sends the remaining output, then discards input for `lingerMilliseconds`. A socket closed with unread input is
   * reset, and the reset can reach the caller before the response.
   */
  end(lingerMilliseconds: number): void {
    if (this.ended) return;
    const { writePendingRecord } = this;
    this.writePendingRecord = undefined;
    // When the caller half-closes, Node ends the connection after the last response that it has itself.
    if (writePendingRecord !== undefined && !this.busy) writePendingRecord();
    // The pending record was the last response, unless the caller disconnected.
    if (this.ended) return;
    this.ended = true;
    const { socket } = this;
    if (socket.destroyed) return;
    socket.end();
    const timer = setTimeout(() => socket.destroy(), lingerMilliseconds);
    timer.unref();
    socket.once('close', () => clearTimeout(timer));
  }
}

export class Connections {
  readonly #open = new Map<Duplex, Connection>();
  #accepted = 0;

  add(socket: Socket, lingerMilliseconds: number): void {
    const connection = new Connection(socket);
    this.#accepted += 1;
    this.#open.set(socket, connection);
    socket.once('close', () => this.#open.delete(socket));
    // Node calls this after a response with "Connection: close".
    socket.destroySoon = () => connection.end(lingerMilliseconds);
  }

  of(socket: Duplex): Connection | undefined {
    return this.#open.get(socket);
  }

  get size(): number {
    return this.#open.size;
  }

  get accepted(): number {
    return this.#accepted;
  }

  all(): readonly Connection[] {
    return [...this.#open.values()];
  }
}
