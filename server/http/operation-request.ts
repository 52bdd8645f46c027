import type { Operation } from '../../contract/operation.ts';
import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import type { JsonValue } from '../../contract/reading/json.ts';
import type { AnyReply, Caller } from '../calls/call.ts';
import type { ProgramChoice } from './admission/caller.ts';
import type { RequestContext } from './request-context.ts';
import type { HttpService } from './service.ts';
import type { QueryMembers, RequestHead } from './wire/request-head.ts';

export type Sent = { readonly query: QueryMembers; readonly body: JsonValue };

/** A request to an operation in the pipeline. Each step sets fields that later steps need. */
export class OperationRequest {
  readonly service: HttpService;
  readonly context: RequestContext;
  readonly id: OperationId;
  readonly operation: Operation;
  readonly parameters: Readonly<Record<string, string>>;
  /** Deadline for identifying the caller and finding the card program, as a value of `performance.now()`. */
  readonly identifiedBy: number;
  declare head: RequestHead;
  declare caller: Caller;
  /** Empty for operations outside card programs. Undefined if `Program-Id` is missing. See the step `fields`. */
  declare program: ProgramChoice;
  /** Undefined for operations without a body. */
  declare body: Buffer | undefined;
  declare idempotencyKey: string | null;
  /** The versions in If-Match. Undefined if the header is missing. */
  declare ifMatch: readonly string[] | undefined;
  declare sent: Sent;
  declare fields: Readonly<Record<string, unknown>>;
  /** The reply of the handler. It is not set if the request was abandoned. */
  declare reply: AnyReply;

  constructor(
    service: HttpService,
    context: RequestContext,
    id: OperationId,
    parameters: Readonly<Record<string, string>>,
  ) {
    this.service = service;
    this.context = context;
    this.id = id;
    this.operation = OPERATIONS[id];
    this.parameters = parameters;
    this.identifiedBy = performance.now() + service.settings.operationTimeoutMilliseconds;
  }
}
