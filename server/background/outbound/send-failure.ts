export type SendError =
  | 'url_refused'
  | 'address_refused'
  | 'name_not_found'
  | 'connection_refused'
  | 'connect_timeout'
  | 'tls_failed'
  | 'answer_timeout'
  | 'connection_lost'
  | 'aborted';

/** Long enough for Node's messages. TLS messages are cut off, because they may contain all names of a certificate. */
const MAX_CAUSE_LENGTH = 200;

/**
 * The failure of a request that got no answer. Card programs see the message, so it does not contain an address that
 * they could not look up.
 */
export class SendFailure extends Error {
  readonly kind: SendError;
  /** The destination address of the request, even if it was not sent. */
  readonly address: string | null;
  /** Whether the connection had been idle before, and may have been closed when the request was sent. */
  readonly isStale: boolean;

  constructor(kind: SendError, message: string, address: string | null = null, isStale = false) {
    super(message);
    this.kind = kind;
    this.address = address;
    this.isStale = isStale;
  }
}

export function urlRefused(problem: string): SendFailure {
  return new SendFailure('url_refused', problem);
}

export function addressRefused(): SendFailure {
  return new SendFailure('address_refused', 'The host has an address to which webhooks are not sent.');
}

export function nameNotFound(code: string): SendFailure {
  return new SendFailure('name_not_found', `The name of the host could not be resolved: ${code}.`);
}

export function notConnected(milliseconds: number): SendFailure {
  return new SendFailure('connect_timeout', `No connection was established within ${seconds(milliseconds)}.`);
}

export function notAnswered(milliseconds: number, address: string | null): SendFailure {
  return new SendFailure('answer_timeout', `There was no complete response within ${seconds(milliseconds)}.`, address);
}

export function aborted(): SendFailure {
  return new SendFailure('aborted', 'The request was aborted.');
}

export function connectFailed(error: unknown, phase: 'connect' | 'tls', address: string | null): SendFailure {
  if (error instanceof SendFailure) return new SendFailure(error.kind, error.message, error.address ?? address);
  if (phase === 'tls') return new SendFailure('tls_failed', `TLS failed: ${causeOf(error)}.`, address);
  const kind = codeOf(error) === 'ETIMEDOUT' ? 'connect_timeout' : 'connection_refused';
  return new SendFailure(kind, `No connection could be established: ${codeOf(error)}.`, address);
}

export function connectionLost(error: unknown, address: string | null, isStale: boolean): SendFailure {
  if (error instanceof SendFailure) return error;
  const isInvalid = codeOf(error).startsWith('HPE_');
  const sentence = isInvalid ? 'The response is not valid HTTP' : 'The connection was lost before the response ended';
  return new SendFailure('connection_lost', `${sentence}: ${codeOf(error)}.`, address, isStale);
}

/** Returns the failure for any error. An error that is not a `SendFailure` was caused by an invalid header. */
export function toFailure(error: unknown): SendFailure {
  return error instanceof SendFailure ? error : urlRefused(`The request cannot be sent: ${causeOf(error)}.`);
}

export function codeOf(error: unknown): string {
  const code = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : String(error).slice(0, MAX_CAUSE_LENGTH);
}

function causeOf(error: unknown): string {
  // The message of an OpenSSL error begins with numbers. The reason does not.
  const reason = error instanceof Error ? (Reflect.get(error, 'reason') ?? error.message) : error;
  return String(reason)
    .slice(0, MAX_CAUSE_LENGTH)
    .replace(/[.\s]+$/, '');
}

function seconds(milliseconds: number): string {
  return `${milliseconds / 1000} seconds`;
}
