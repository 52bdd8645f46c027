import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Refusal } from '../../../domain/refusal.ts';

/** One connection: what is under way on it, and whether it can still be used. */
export class Connection {
  readonly socket: Socket;
  readonly openedAt = Date.now();
  /** The request that came last, which may still wait for those before it. */
  latest: { readonly request: IncomingMessage; readonly response: ServerResponse } | undefined = undefined;
  /** What broke the connection's input, and the request whose body it cut short, if it did. */
  fault: { readonly refusal: Refusal; readonly request: IncomingMessage | undefined } | undefined = undefined;
  /** Told of a fault while a body is read. */
  onFault: ((refusal: Refusal) => void) | undefined = undefined;
  /** Writes the answer to input that broke behind requests which are still being answered, and ends the connection. */
  pendingRecord: (() => void) | undefined = undefined;
  /** Bytes that had come when the last answer was sent. */
  bytesHandled = 0;
  /** Where it comes from, as the rate limits count it; known when it was asked for. */
  address: string | undefined = undefined;
  /** Whether the last answer has been sent: whatever still arrives is not a request. */
  ended = false;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** Whether a response is still to be finished. */
  get busy(): boolean {
    return this.latest !== undefined && !this.latest.response.writableFinished && !this.latest.response.destroyed;
  }

  /** Whether bytes came after the last request that was answered: the beginning of another. */
  get hasInput(): boolean {
    return this.socket.bytesRead > this.bytesHandled;
  }

  /**
   * Sends what is left, then takes and drops what still arrives for a moment. A socket closed with unread bytes is
   * reset, and a reset can overtake the answer: the caller would never learn why it was refused.
   */
  end(lingerMilliseconds: number): void {
    if (this.ended) return;
    const { pendingRecord } = this;
    this.pendingRecord = undefined;
    // Node ends the connection with the last answer it knows of when the caller has ended its side.
    if (pendingRecord !== undefined && !this.busy) pendingRecord();
    // The record that was pendingRecord has been the last answer, unless the caller had gone.
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

/** The open connections of a server. */
export class Connections {
  readonly #open = new Map<Duplex, Connection>();
  #taken = 0;

  /** Takes a new connection in. */
  add(socket: Socket, lingerMilliseconds: number): void {
    const connection = new Connection(socket);
    this.#taken += 1;
    this.#open.set(socket, connection);
    socket.once('close', () => this.#open.delete(socket));
    // Node calls this after an answer with "Connection: close".
    socket.destroySoon = () => connection.end(lingerMilliseconds);
  }

  of(socket: Duplex): Connection | undefined {
    return this.#open.get(socket);
  }

  /** How many there have been. */
  get taken(): number {
    return this.#taken;
  }

  all(): readonly Connection[] {
    return [...this.#open.values()];
  }
}
