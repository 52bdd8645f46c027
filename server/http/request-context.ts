import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OperationId } from '../../contract/operations.ts';
import { toWireId } from '../../domain/identifier.ts';
import type { Refusal } from '../../domain/refusal.ts';
import { newId } from '../ids.ts';
import type { Caller } from '../operations/call.ts';
import type { Connection } from './admission/connection.ts';
import type { RateStatus } from './admission/rate-limiter.ts';
import type { RequestHead } from './wire/request-head.ts';

const NOT_LIMITED: RateStatus = [];

/** One request and what has become known of it so far: what its answer, and a report of its failure, are made from. */
export class RequestContext {
  /** Inner UUID of the request. */
  readonly requestId = newId();
  readonly startedAt = Date.now();
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly connection: Connection;
  /** Path and query; set before the head is read, so that the earliest refusal can name the operation. */
  target: string;
  /** Authority of a target in absolute form, which then counts as the host. */
  authority: string | undefined = undefined;
  head: RequestHead | undefined = undefined;
  operation: OperationId | undefined = undefined;
  /** Whether it is answered in pieces, as fast as the caller takes them. */
  isExport = false;
  /** The pattern of the route that matched. */
  pattern: string | undefined = undefined;
  /** The parameters in the path of the operation. */
  parameters: Readonly<Record<string, string>> | undefined = undefined;
  /** Where it comes from, as the rate limits count it. */
  address: string | undefined = undefined;
  caller: Caller | undefined = undefined;
  programId: string | undefined = undefined;
  idempotencyKey: string | undefined = undefined;
  members: Readonly<Record<string, unknown>> | undefined = undefined;
  /** Names of members that were sent and not looked at. */
  ignored: readonly string[] = [];
  /** Whether there was an idempotency key, and the operation has no use for one. */
  ignoresKey = false;
  /** The methods of the path, when the one of the request is not among them. */
  allow: string | undefined = undefined;
  /** Whether the operation itself has begun: from then on a bug may have moved money. */
  begun = false;
  /** Whether the caller waits for `100 Continue` before it sends the body. */
  awaitsContinue = false;
  /** Whether the connection cannot be used after this answer. */
  mustClose = false;
  answered = false;
  /** The refusal of a request that is one too many for its address. */
  addressLimitRefusal: Refusal | undefined = undefined;
  /** Where it stands under the rate limits; empty where there are none, or before they were looked at. */
  rate: RateStatus = NOT_LIMITED;
  /** When the wait for a step of it began, by `performance.now()`. */
  waitingSince = Number.POSITIVE_INFINITY;
  /** When the wait for a step of it is over, by `performance.now()`. */
  timesOutAt = Number.POSITIVE_INFINITY;
  /** When it was noticed that the whole answer is written and not yet taken, by `performance.now()`. */
  writtenAt: number | undefined = undefined;
  /** Ends the wait for the operation, with an error. */
  abandon: ((reason: Error) => void) | undefined = undefined;

  constructor(request: IncomingMessage, response: ServerResponse, connection: Connection) {
    this.request = request;
    this.response = response;
    this.connection = connection;
    this.target = request.url ?? '/';
  }

  /** The id of the request as the caller sees it. */
  get wireId(): string {
    return toWireId('req', this.requestId);
  }

  /** The path without its query. */
  get path(): string {
    const end = this.target.indexOf('?');
    return end === -1 ? this.target : this.target.slice(0, end);
  }
}
