import type { MoneyMoved, ResponseDetails, WithResponse } from './call.ts';
import type {
  ApprovalRecord,
  CaseRecord,
  CreateCaseBody,
  ErrorCode,
  ErrorRecord,
  ErrorType,
} from './generated/operations.ts';
import { ERRORS } from './tables.ts';

/** Any string, without hiding the known literals from completion in editors. */
type AnyText = string & Record<never, never>;

/** Whether this is Node, or a runtime compatible with it. */
const IS_NODE = (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !== undefined;

/**
 * Adds the code, the request id and whether money moved to the console's output of an error. Node prints the stack and the
 * enumerable fields, so undefined fields are made non-enumerable. A browser prints only the stack, and replaces everything
 * above the first call with the message, so for browsers these facts are at the end.
 */
function describe(
  error: Error,
  code: string,
  { requestId, moneyMoved }: { readonly requestId?: string | undefined; readonly moneyMoved: MoneyMoved },
): void {
  const facts = `${requestId === undefined ? '' : `request ${requestId}, `}money moved: ${moneyMoved}`;
  const { stack, message } = error;
  // V8 begins the stack with the name and the message. In other engines, the console adds them.
  const end = stack?.indexOf(message) ?? -1;
  if (stack !== undefined && end >= 0) {
    const calls = stack.slice(end + message.length);
    error.stack = IS_NODE
      ? `${error.name} [${code}]: ${message} (${facts})${calls}`
      : `${error.name}: ${message}${calls}\n    [${code}] ${facts}`;
  }
  const empty = Object.entries(error).filter(([, value]) => value === undefined);
  hide(error, 'headers', ...empty.map(([name]) => name));
}

/** Makes fields non-enumerable. They can still be read. */
function hide(error: Error, ...names: readonly string[]): void {
  for (const name of names) if (Object.hasOwn(error, name)) Object.defineProperty(error, name, { enumerable: false });
}

/** An error record as received (specification, section 2.1). Codes and types of a newer service are plain strings. */
export type ReceivedRecord = Omit<ErrorRecord, 'Code' | 'Type'> & {
  readonly Code: ErrorCode | AnyText;
  readonly Type: ErrorType | AnyText;
};

/** The facts that every failed call has. */
export type FailedCall = {
  /** Whether this call moved money in any of its attempts. */
  readonly moneyMoved: MoneyMoved;
  /** The idempotency key that was sent. Sending the same request with it again is always safe. */
  readonly idempotencyKey: string | undefined;
  /** The number of attempts. */
  readonly attempts: number;
};

/**
 * The service responded with an error record (specification, sections 2.1 and 7). The subclasses are the types of error. An
 * error of a type that this client does not know is a plain TransferServiceError.
 */
export class TransferServiceError extends Error implements ReceivedRecord, FailedCall {
  /** The specific cause; the same as `message`. */
  readonly Message: string;
  /** HTTP status. */
  readonly Status: number;
  /** Category of causes. Compare this instead of the message (specification, section 7.2, rule 2). */
  readonly Code: ErrorCode | AnyText;
  readonly Type: ErrorType | AnyText;
  /** The id to quote to support. */
  readonly requestId: string | undefined;
  /**
   * Whether this call moved money. If an earlier attempt got no response, this is `unknown` even when the last response
   * reports `no`, because a response only covers its own request.
   */
  readonly moneyMoved: MoneyMoved;
  /** Whether the same request can succeed if it is retried unchanged. */
  readonly shouldRetry: boolean;
  /** How long to wait before a retry, in seconds, if the service reported it. */
  readonly retryAfterSeconds: number | undefined;
  /** The transfer that exists or may exist. */
  readonly transferId: string | undefined;
  /** JSON pointer of the invalid field, such as `/amount`. */
  readonly field: string | undefined;
  /** Whether this is the stored first response to the idempotency key. */
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
    describe(this, record.Code, this);
    hide(this, 'Message');
  }

  override get name(): string {
    return 'TransferServiceError';
  }

  /** The same as `Code`, under the name that most libraries use. */
  get code(): ErrorCode | AnyText {
    return this.Code;
  }

  /** The same as `Type`. */
  get type(): ErrorType | AnyText {
    return this.Type;
  }

  /** The same as `Status`. */
  get status(): number {
    return this.Status;
  }

  /**
   * Opens a case with support about this error, or returns its open case. The key needs the scope `cases:write`. `text` adds
   * facts that the error record lacks, such as who is waiting. Rejects like every call.
   */
  async openCase(text?: string): Promise<WithResponse<CaseRecord>> {
    const open = OPENERS.get(this);
    if (open === undefined || this.requestId === undefined) throw new InvalidArgument('The error has no request id.');
    return open({ request_id: this.requestId, ...(text !== undefined && { text }) });
  }

  /** Returns the error record with all facts about the call, for your log. */
  toJSON(): object {
    return Object.assign({ Message: this.Message }, this);
  }
}

type OpenCase = (body: CreateCaseBody) => Promise<WithResponse<CaseRecord>>;

/**
 * The function that opens a case for each error. It is not a property, so that an error prints and compares as its record.
 */
const OPENERS = new WeakMap<object, OpenCase>();

/** Lets an error open a case with the client that received it. */
export function withOpener(error: Error, open: OpenCase): Error {
  OPENERS.set(error, open);
  return error;
}

/** `Request Error`: the caller resolves it by correcting the problem in the message. */
export class RequestError extends TransferServiceError {
  override get name(): string {
    return 'RequestError';
  }
}

/** `Server Error`: support resolves it, urgently, because it can affect many customers. */
export class ServerError extends TransferServiceError {
  override get name(): string {
    return 'ServerError';
  }
}

/** `Process Error`: support resolves it. It can take longer than a server error. */
export class ProcessError extends TransferServiceError {
  override get name(): string {
    return 'ProcessError';
  }
}

const CLASSES: Readonly<Record<ErrorType, typeof TransferServiceError>> = {
  'Request Error': RequestError,
  'Server Error': ServerError,
  'Process Error': ProcessError,
};

/**
 * An operator's request was accepted, and is waiting for the approval of a second person (status 202). Nothing has changed yet,
 * and no money moved. Only operators get it, and only if the approval policy has a rule about the request. The same request with
 * the same idempotency key returns its result once it is approved.
 */
export class AwaitsApproval extends Error implements FailedCall {
  readonly approval: ApprovalRecord;
  /** The id to quote to support. */
  readonly requestId: string | undefined;
  readonly moneyMoved = 'no';
  readonly idempotencyKey: string | undefined;
  readonly attempts: number;
  readonly headers: Headers;

  constructor(approval: ApprovalRecord, { requestId, idempotencyKey, attempts, headers }: ResponseDetails) {
    super(`The request is waiting for an approval: ${approval.approval_id}, ${approval.status}.`);
    this.name = 'AwaitsApproval';
    this.approval = approval;
    this.requestId = requestId;
    this.idempotencyKey = idempotencyKey;
    this.attempts = attempts;
    this.headers = headers;
    describe(this, approval.approval_id, this);
  }
}

/** Returns the error for a record, in the class for its type. */
export function errorFor(record: ReceivedRecord, headers: Headers, call: FailedCall): TransferServiceError {
  const known = Object.hasOwn(CLASSES, record.Type) ? CLASSES[record.Type as ErrorType] : TransferServiceError;
  return new known(record, headers, call);
}

/**
 * The reason why there is no response. With `unreachable`, or `aborted` before the first attempt, the service did not
 * receive the request.
 */
export type NoResponseReason = 'unreachable' | 'lost' | 'timeout' | 'aborted';

/** There was no response. `cause` is the platform's error, or the reason of the signal that aborted the call. */
export class ConnectionFailure extends Error implements FailedCall {
  readonly reason: NoResponseReason;
  readonly moneyMoved: MoneyMoved;
  readonly idempotencyKey: string | undefined;
  readonly attempts: number;
  /** The URL that the client tried. */
  readonly baseUrl: string;

  constructor(
    message: string,
    facts: FailedCall & { readonly reason: NoResponseReason; readonly baseUrl: string; readonly cause: unknown },
  ) {
    super(message, { cause: facts.cause });
    this.reason = facts.reason;
    this.moneyMoved = facts.moneyMoved;
    this.idempotencyKey = facts.idempotencyKey;
    this.attempts = facts.attempts;
    this.baseUrl = facts.baseUrl;
    describe(this, facts.reason, facts);
  }

  override get name(): string {
    return 'ConnectionFailure';
  }
}

/**
 * An export was cut off: the received part is not the complete export. The service cuts off an export that it cannot
 * complete. Its error log has the reason under the request id.
 */
export class IncompleteResponse extends ConnectionFailure {
  override get name(): string {
    return 'IncompleteResponse';
  }
  /** The id to quote to support. */
  readonly requestId: string | undefined;
  readonly headers: Headers;

  constructor(message: string, facts: ConstructorParameters<typeof ConnectionFailure>[1], headers: Headers) {
    super(message, facts);
    this.requestId = headers.get('request-id') ?? undefined;
    this.headers = headers;
    hide(this, 'headers');
  }
}

/** The response is not a record or an error record: a proxy responded instead of the service, or the base URL is wrong. */
export class UnexpectedResponse extends Error implements FailedCall {
  /** HTTP status, or 0 for a redirect that a browser hides. */
  readonly status: number;
  readonly requestId: string | undefined;
  /** The beginning of the body, at most 200 characters. */
  readonly excerpt: string;
  readonly moneyMoved: MoneyMoved;
  readonly idempotencyKey: string | undefined;
  readonly attempts: number;
  readonly headers: Headers;

  constructor(message: string, response: { status: number; headers: Headers; excerpt: string }, call: FailedCall) {
    super(message);
    this.status = response.status;
    this.requestId = response.headers.get('request-id') ?? undefined;
    this.excerpt = response.excerpt;
    this.moneyMoved = call.moneyMoved;
    this.idempotencyKey = call.idempotencyKey;
    this.attempts = call.attempts;
    this.headers = response.headers;
    describe(this, String(response.status), this);
  }

  override get name(): string {
    return 'UnexpectedResponse';
  }
}

/** An argument is invalid, so the call cannot be made. Nothing was sent. */
export class InvalidArgument extends TypeError {
  /** Always `no`: nothing was sent. */
  get moneyMoved(): 'no' {
    return 'no';
  }

  override get name(): string {
    return 'InvalidArgument';
  }
}

/** Whether a thrown value is the failure of a call, which reports whether money moved. */
export function isFailedCall(error: unknown): error is Error & FailedCall {
  return (
    error instanceof TransferServiceError ||
    error instanceof ConnectionFailure ||
    error instanceof UnexpectedResponse ||
    error instanceof AwaitsApproval
  );
}

/** Whether a string is one of the error codes that this client knows. */
export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text);
}

/**
 * Returns whether a request that got this response moved money. The service reports it for operations that move money. An
 * error of the HTTP layer can lack the header. Then the error code decides.
 */
export function moneyMovedBy(movesMoney: boolean, headers: Headers, code: string | undefined): MoneyMoved {
  const reported = headers.get('money-moved');
  if (reported === 'no' || reported === 'yes' || reported === 'unknown') return reported;
  if (!movesMoney) return 'no';
  return code !== undefined && isErrorCode(code) && ERRORS[code].moneyMoved === 'no' ? 'no' : 'unknown';
}

/** Returns `Retry-After` in whole seconds from now, sent in seconds or as a date, or undefined for anything else. */
export function readRetryAfter(headers: Headers): number | undefined {
  const sent = headers.get('retry-after')?.trim() ?? '';
  if (/^[0-9]{1,9}$/.test(sent)) return Number(sent);
  const moment = /[A-Za-z]/.test(sent) ? Date.parse(sent) : Number.NaN;
  return Number.isNaN(moment) ? undefined : Math.max(0, Math.ceil((moment - Date.now()) / 1000));
}

/** Returns the error record in a body, or undefined if one of its four fields is missing (specification, section 2.1). */
export function readErrorRecord(body: unknown): ReceivedRecord | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { Message, Status, Code, Type } = body as Record<string, unknown>;
  if (typeof Message !== 'string' || !Number.isInteger(Status)) return undefined;
  if (typeof Code !== 'string' || typeof Type !== 'string') return undefined;
  return { Message, Status: Status as number, Code, Type };
}
