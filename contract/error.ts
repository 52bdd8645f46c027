import type { Problem } from './errors/problems.ts';
import type { ErrorType } from './errors/record.ts';
import { type ExampleRequest, writtenJson } from './examples.ts';
import { OPERATIONS, type OperationId } from './operations.ts';

/** Advice for support about an error of a customer. It does not say whether money moved, because that varies per request. */
export type SupportAdvice = {
  /** What support may tell the customer. */
  readonly tell: string;
  /** What support does next: change nothing, wait, ask someone, or escalate. */
  readonly next: string;
};

/** A header that responses with a code have in addition to the headers of every error. */
export type SpecificHeader = {
  readonly name: 'Retry-After' | 'Allow' | 'Accept' | 'WWW-Authenticate' | 'Readiness' | 'Runbook' | 'ETag';
  /** An example, or the value itself if `constant`. */
  readonly value: string;
  readonly description: string;
  /** Whether every response with the code has exactly this value. */
  readonly constant?: true;
  /** Whether some responses with the code do not have the header. */
  readonly optional?: true;
};

/** A request of a sample, and the operation that it calls, if any. */
export type SampleRequest = ExampleRequest & { readonly operation?: OperationId | undefined };

/** A precondition of a sample that requests cannot create. The test that runs the samples creates it. */
export type Condition =
  | 'a rate limit of one request per second'
  | 'a body that does not arrive'
  | 'a shutdown'
  | 'events that are older than the retention period'
  | 'a card program with 20 webhooks'
  | 'a replay that does not end'
  | 'a case with 200 messages'
  | 'a daily limit for operators'
  | 'an OpenID provider'
  | 'a second person';

/**
 * How to get the code from a sandbox. The catalogue pages, the OpenAPI document and `test/codes` print or run it, so the message
 * must be exactly the one that the service sends.
 */
export type Sample = {
  /** What to do, in a sentence. */
  readonly reproduce: string;
  /** Requests to send first, each with a 2xx response, or a condition. */
  readonly given?: readonly SampleRequest[] | Condition;
  /**
   * The request that gets the code. In its path, `{transfer_id}`, `{webhook_id}`, `{case_id}`, `{incident_id}` and `{person_id}` stand
   * for an id that `given` created, and `{attempt_id}` for an id that it listed.
   */
  readonly request: SampleRequest;
  /** Requests that undo `given`. */
  readonly after?: readonly SampleRequest[];
  /** The message of the response, without the request to contact support. */
  readonly message: string;
  /** Whether the code is in the `error` of the transfer in a 201, not in the response itself. */
  readonly isOnTransfer?: true;
  /** JSON pointer in the `Error-Field` header. */
  readonly field?: string;
  /** A shell command to print instead of the request, for bodies and headers too long to print; `{base}` is the URL. */
  readonly shell?: string;
};

/** Everything about one error code. `status` and `type` never vary for a code (specification, section 7.2). */
export type ErrorDefinition = {
  readonly status: number;
  readonly type: ErrorType;
  /** Who can resolve it (specification, section 7.1). */
  readonly resolver: 'caller' | 'support';
  /** The problem as users see it. The errors page lists the code under it. */
  readonly problem: Problem;
  readonly meaning: string;
  /** Additional search terms, which the other texts do not contain: phrases in lower case, separated by commas. */
  readonly alsoCalled: string;
  /** What can cause it, each a full sentence. */
  readonly causes: readonly string[];
  readonly resolution: string;
  /** Advice for support, if it is not that the customer's developers correct the request: see `supportAdvice`. */
  readonly support?: SupportAdvice;
  /** Whether the same request can succeed when it is sent again unchanged. */
  readonly retryable: boolean;
  /** The possible values of `Money-Moved` on operations that move money. */
  readonly moneyMoved: 'no' | 'no or unknown';
  readonly headers: readonly SpecificHeader[];
  /** Version of the API that introduced the code. */
  readonly since: string;
  readonly sample: Sample;
};

type Essential = 'status' | 'problem' | 'meaning' | 'causes' | 'resolution' | 'sample';

/**
 * Defines an error code. Unless stated otherwise it is a `Request Error` that no retry resolves, has existed since
 * version 0.1 and moves no money. The resolver follows from the type; a `Server Error` is retryable.
 */
export function errorCode(definition: Pick<ErrorDefinition, Essential> & Partial<ErrorDefinition>): ErrorDefinition {
  const { type = 'Request Error' } = definition;
  return {
    type,
    resolver: type === 'Request Error' ? 'caller' : 'support',
    retryable: type === 'Server Error',
    moneyMoved: 'no',
    headers: [],
    alsoCalled: '',
    since: '0.1',
    ...definition,
  };
}

/** The parts of a sample's request that its operation does not decide. */
export type CallOptions = {
  /** Values of the path parameters, already escaped. */
  readonly params?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a string unchanged. */
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A request for an operation. Parameters without a value remain in the path. */
export function call(operation: OperationId, { params = {}, body, headers = {} }: CallOptions = {}): SampleRequest {
  const { method, path: template } = OPERATIONS[operation];
  const path = Object.entries(params).reduce((filled, [name, value]) => filled.replace(`{${name}}`, value), template);
  if (body === undefined) return { operation, method, path, headers };
  return { operation, method, path, headers, body: typeof body === 'string' ? body : writtenJson(body) };
}

/** A load of 10.00 USD onto a card of the demo program, with other fields and headers as given. */
export function load(fields: object = {}, headers: Readonly<Record<string, string>> = {}): SampleRequest {
  return call('create_transfer', { body: { amount: 1000, card_id: 'card_active', ...fields }, headers });
}
