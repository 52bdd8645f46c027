import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';
import type { Refusal } from '../../../domain/refusal.ts';

/**
 * Maximum number of pipelined requests that may wait. While there are more, the service does not read from the connection.
 * Clients pipeline far fewer.
 */
const MAX_WAITING = 100;

/**
 * If more pipelined requests than this wait, the connection is destroyed. Node parses everything that it has read, up to 64 KB,
 * before a connection can be paused. Only requests shorter than 128 bytes can exceed this number, and a request with an API key is
 * longer.
 */
const MAX_WAITING_IN_MEMORY = MAX_WAITING + 65_536 / 128;

/** A connection: its current request, and whether it can still be used. */
export class Connection {
  readonly socket: Socket;
  readonly openedAt = performance.now();
  /** The last request that was received. It may wait for the responses to earlier requests. */
  latest: { readonly request: IncomingMessage; readonly response: ServerResponse } | undefined = undefined;
  /** The error that ended the input, and the request that was cut short, if there was one. */
  fault: { readonly refusal: Refusal; readonly request: IncomingMessage | undefined } | undefined = undefined;
  /** Called with an error in the input while a body is read. */
  onFault: ((refusal: Refusal) => void) | undefined = undefined;
  /** Writes the record for an error in the input after the responses in progress, and ends the connection. */
  writePendingRecord: (() => void) | undefined = undefined;
  /** The number of bytes received when the last response was sent. */
  bytesHandled = 0;
  /** The caller's address for the rate limits. Set when it is first needed. */
  address: string | undefined = undefined;
  /** Whether the last response was sent. After that, further input is ignored. */
  ended = false;
  /** The number of received requests that wait for the responses to earlier requests. */
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
   * Counts a request that waits for its turn. While too many wait, the service does not read from the connection: each request
   * takes memory, and the admission limits apply only when its turn has come.
   */
  beginTurnWait(): void {
    this.#waiting += 1;
    if (this.#waiting > MAX_WAITING_IN_MEMORY) this.socket.destroy();
    else if (this.#waiting > MAX_WAITING && !this.#isPauseDue) {
      this.#isPauseDue = true;
      // Node resumes the socket after each request that it parses. So it can be paused only after everything is parsed.
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
   * Sends the remaining output, then discards input for `lingerMilliseconds`. If a socket is closed while it has unread input, it
   * is reset, and the reset can reach the caller before the response.
   */
  end(lingerMilliseconds: number): void {
    if (this.ended) return;
    const { writePendingRecord } = this;
    this.writePendingRecord = undefined;
    // If the caller half-closes, Node itself ends the connection after the last response that it has.
    if (writePendingRecord !== undefined && !this.busy) writePendingRecord();
    // The pending record was the last response, unless the caller had disconnected.
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
    // Node calls this function after a response with "Connection: close".
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
