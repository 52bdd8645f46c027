import type { ErrorType, MoneyMoved } from '../domain/catalogue-entry.ts';
import { CATALOGUE, type ErrorCode, isErrorCode } from '../domain/errors.ts';

/** Any text, next to literals that editors should still offer. */
type AnyText = string & Record<never, never>;

/** The error record as it came (specification, section 2.1). Codes and types of a newer service are plain strings. */
export type ReceivedRecord = {
  readonly Message: string;
  readonly Status: number;
  readonly Code: ErrorCode | AnyText;
  readonly Type: ErrorType | AnyText;
};

/** What is known about a call when it fails, whatever it failed of. */
export type FailedCall = {
  /** Whether this call, all its attempts together, moved money. */
  readonly moneyMoved: MoneyMoved;
  /** The idempotency key that was sent; sending the same request with it again is always safe. */
  readonly idempotencyKey: string | undefined;
  /** How many attempts were made. */
  readonly attempts: number;
};

/**
 * The service answered with an error record (specification, sections 2.1 and 7). `instanceof` one of the subclasses
 * sorts by who resolves it; a type that this client does not know yet stays a plain TransferServiceError.
 */
export class TransferServiceError extends Error implements ReceivedRecord, FailedCall {
  override readonly name: string = 'TransferServiceError';
  /** The specific cause; the same as `message`. */
  readonly Message: string;
  /** HTTP status of the answer. */
  readonly Status: number;
  /** Category of causes; compare this, not the message (specification, section 7.2, rule 2). */
  readonly Code: ErrorCode | AnyText;
  readonly Type: ErrorType | AnyText;
  /** What to quote to support. */
  readonly requestId: string | undefined;
  /**
   * Whether this call moved money. When an earlier attempt of it stayed without an answer, this is `unknown` although
   * the last answer may say `no`: that answer speaks of its own request only.
   */
  readonly moneyMoved: MoneyMoved;
  /** Whether the same request, sent again unchanged, can succeed. */
  readonly shouldRetry: boolean;
  /** How long to wait before that, in seconds, if the service said so. */
  readonly retryAfterSeconds: number | undefined;
  /** The transfer that exists or may exist. */
  readonly transferId: string | undefined;
  /** JSON pointer of the member that is at fault, such as `/amount`. */
  readonly field: string | undefined;
  /** Whether this is the first answer to the idempotency key, given again. */
  readonly replayed: boolean;
  readonly idempotencyKey: string | undefined;
  readonly attempts: number;
  readonly headers: Headers;

  constructor(record: ReceivedRecord, headers: Headers, call: FailedCall) {
    super(record.Message);
    this.Message = record.Message;
    this.Status = record.Status;
    this.Code = record.Code;
    this.Type = record.Type;
    this.requestId = headers.get('request-id') ?? undefined;
    this.moneyMoved = call.moneyMoved;
    this.shouldRetry = headers.get('should-retry') === 'true';
    this.retryAfterSeconds = readRetryAfter(headers);
    this.transferId = headers.get('transfer-id') ?? undefined;
    this.field = headers.get('error-field') ?? undefined;
    this.replayed = headers.get('idempotent-replayed') === 'true';
    this.idempotencyKey = call.idempotencyKey;
    this.attempts = call.attempts;
    this.headers = headers;
  }

  /** The same as `Code`, under the name at which most libraries look for it. */
  get code(): ErrorCode | AnyText {
    return this.Code;
  }
}

/** `Request Error`: the caller resolves it by correcting what the message names. */
export class RequestError extends TransferServiceError {
  override readonly name = 'RequestError';
}

/** `Server Error`: support resolves it, and soon, because it can seriously affect customers. */
export class ServerError extends TransferServiceError {
  override readonly name = 'ServerError';
}

/** `Process Error`: support resolves it; it can take longer than a server error. */
export class ProcessError extends TransferServiceError {
  override readonly name = 'ProcessError';
}

const CLASSES: Readonly<Record<ErrorType, typeof TransferServiceError>> = {
  'Request Error': RequestError,
  'Server Error': ServerError,
  'Process Error': ProcessError,
};

/** The error for a record, of the class that goes with its type. */
export function errorFor(record: ReceivedRecord, headers: Headers, call: FailedCall): TransferServiceError {
  const known = Object.hasOwn(CLASSES, record.Type) ? CLASSES[record.Type as ErrorType] : TransferServiceError;
  return new known(record, headers, call);
}

/** Why there was no answer: `unreachable` and `aborted` before sending mean that the service never saw the request. */
export type SilenceReason = 'unreachable' | 'lost' | 'timeout' | 'aborted';

/** There was no answer at all. `cause` is what the platform says of it, or the reason of the signal that aborted. */
export class ConnectionFailure extends Error implements FailedCall {
  override readonly name: string = 'ConnectionFailure';
  readonly reason: SilenceReason;
  readonly moneyMoved: MoneyMoved;
  readonly idempotencyKey: string | undefined;
  readonly attempts: number;
  /** Where the service was looked for. */
  readonly baseUrl: string;

  constructor(
    message: string,
    facts: FailedCall & { readonly reason: SilenceReason; readonly baseUrl: string; readonly cause: unknown },
  ) {
    super(message, { cause: facts.cause });
    this.reason = facts.reason;
    this.moneyMoved = facts.moneyMoved;
    this.idempotencyKey = facts.idempotencyKey;
    this.attempts = facts.attempts;
    this.baseUrl = facts.baseUrl;
  }
}

/**
 * An export broke off. It is a ConnectionFailure, but one in which an answer had begun: what came of it is not the whole
 * of it. The service cuts an export that it cannot finish; why, its error log says by the request id.
 */
export class IncompleteAnswer extends ConnectionFailure {
  override readonly name = 'IncompleteAnswer';
  /** What to quote to support. */
  readonly requestId: string | undefined;
  readonly headers: Headers;

  constructor(message: string, facts: ConstructorParameters<typeof ConnectionFailure>[1], headers: Headers) {
    super(message, facts);
    this.requestId = headers.get('request-id') ?? undefined;
    this.headers = headers;
  }
}

/**
 * The answer is neither a record nor an error record: something between the client and the service answered in its
 * place, or the base URL leads elsewhere.
 */
export class UnexpectedAnswer extends Error implements FailedCall {
  override readonly name = 'UnexpectedAnswer';
  /** HTTP status of the answer; 0 for a redirection that a browser hides. */
  readonly status: number;
  readonly requestId: string | undefined;
  /** The beginning of the body, at most 200 characters. */
  readonly excerpt: string;
  readonly moneyMoved: MoneyMoved;
  readonly idempotencyKey: string | undefined;
  readonly attempts: number;
  readonly headers: Headers;

  constructor(message: string, answer: { status: number; headers: Headers; excerpt: string }, call: FailedCall) {
    super(message);
    this.status = answer.status;
    this.requestId = answer.headers.get('request-id') ?? undefined;
    this.excerpt = answer.excerpt;
    this.moneyMoved = call.moneyMoved;
    this.idempotencyKey = call.idempotencyKey;
    this.attempts = call.attempts;
    this.headers = answer.headers;
  }
}

/** The call cannot be sent as it is: nothing has left this machine. */
export class InvalidArgument extends TypeError {
  override readonly name = 'InvalidArgument';
}

/**
 * Whether a request that was answered like this moved money. The service says so for money operations; a fault of the
 * HTTP itself may come without a word, and then the catalogue knows.
 */
export function moneyMovedBy(movesMoney: boolean, headers: Headers, code: string | undefined): MoneyMoved {
  const said = headers.get('money-moved');
  if (said === 'no' || said === 'yes' || said === 'unknown') return said;
  if (!movesMoney) return 'no';
  return code !== undefined && isErrorCode(code) && CATALOGUE[code].moneyMoved === 'no' ? 'no' : 'unknown';
}

/** `Retry-After` in whole seconds from now, whether it was sent as seconds or as a date; undefined if it is neither. */
export function readRetryAfter(headers: Headers): number | undefined {
  const sent = headers.get('retry-after')?.trim() ?? '';
  if (/^[0-9]{1,9}$/.test(sent)) return Number(sent);
  const moment = /[A-Za-z]/.test(sent) ? Date.parse(sent) : Number.NaN;
  return Number.isNaN(moment) ? undefined : Math.max(0, Math.ceil((moment - Date.now()) / 1000));
}

/** The error record in a body, or undefined when the four members are not there (specification, section 2.1). */
export function readErrorRecord(body: unknown): ReceivedRecord | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { Message, Status, Code, Type } = body as Record<string, unknown>;
  if (typeof Message !== 'string' || !Number.isInteger(Status)) return undefined;
  if (typeof Code !== 'string' || typeof Type !== 'string') return undefined;
  return { Message, Status: Status as number, Code, Type };
}
