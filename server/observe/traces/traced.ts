import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { toWireId } from '../../../domain/identifier.ts';
import type { EndedRequest, GroupTrace, RequestTrace } from '../../calls/trace.ts';

/** Returns the time when `performance.now()` was 0, by this machine's current clock. It is the origin of all times of a trace. */
const originNow = (): number => Date.now() - performance.now();

/** Returns the context for a span that is a child of the caller's span. */
function contextOf(traceparent: string | undefined): Context {
  if (traceparent === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    traceFlags: Number.parseInt(traceparent.slice(53, 55), 16),
    isRemote: true,
  });
}

/** A traced request. It has one span for the request, one for each wait in the lane, and a link to each group that included it. */
export class TracedRequest implements RequestTrace {
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly origin = originNow();
  #submittedAt: number | undefined;

  /** `beganAt` is a value of `performance.now()`. */
  constructor(tracer: Tracer, traceparent: string | undefined, beganAt: number) {
    this.#tracer = tracer;
    const options = { kind: SpanKind.SERVER, startTime: this.origin + beganAt };
    this.#span = tracer.startSpan('request', options, contextOf(traceparent));
  }

  get spanContext(): SpanContext {
    return this.#span.spanContext();
  }

  submitted(): void {
    this.#submittedAt ??= performance.now();
  }

  beginGroup(requests: readonly RequestTrace[]): GroupTrace {
    const traced = [...new Set(requests)].filter((request) => request instanceof TracedRequest);
    const group = new TracedGroup(this.#tracer, traced);
    for (const request of traced) request.join(group);
    return group;
  }

  /** Called when a group that includes this request has begun. */
  join({ spanContext, beganAt }: TracedGroup): void {
    this.#span.addLink({ context: spanContext });
    const startTime = this.origin + (this.#submittedAt ?? beganAt);
    this.#submittedAt = undefined;
    const context = trace.setSpan(ROOT_CONTEXT, this.#span);
    this.#tracer.startSpan('lane wait', { startTime }, context).end(this.origin + beganAt);
  }

  end({ requestId, method, path, operation, status, code, programId }: EndedRequest): void {
    this.#span.updateName([method, path].filter((part) => part !== undefined).join(' '));
    this.#span.setAttributes({
      'http.request.method': method,
      'http.route': path,
      'http.response.status_code': status,
      'error.type': code,
      'transfer_service.operation': operation,
      'transfer_service.request_id': toWireId('req', requestId),
      'transfer_service.program_id': programId === undefined ? undefined : toWireId('prog', programId),
    });
    if (status === undefined || status >= 500) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end(this.origin + performance.now());
  }
}

/** A group of transfers that includes a traced request. It has a separate trace, because many requests share it. */
class TracedGroup implements GroupTrace {
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #origin: number;
  /** When the group began, as a value of `performance.now()`. Its requests wait until then. */
  readonly beganAt = performance.now();
  #loadedAt: number | undefined;
  #decidedAt: number | undefined;

  constructor(tracer: Tracer, requests: readonly TracedRequest[]) {
    this.#tracer = tracer;
    // Uses the origin of a request, so that the times of the request's spans and the group's spans can be compared.
    this.#origin = requests[0]?.origin ?? originNow();
    const links = requests.map(({ spanContext }) => ({ context: spanContext }));
    this.#span = tracer.startSpan('group', { startTime: this.#origin + this.beganAt, links }, ROOT_CONTEXT);
  }

  get spanContext(): SpanContext {
    return this.#span.spanContext();
  }

  loaded(): void {
    this.#loadedAt = performance.now();
  }

  decided(): void {
    this.#decidedAt = performance.now();
  }

  ended(size: number, outcome: 'committed' | 'failed'): void {
    const now = performance.now();
    const steps = [
      { name: 'load', begin: this.beganAt, end: this.#loadedAt },
      { name: 'decide', begin: this.#loadedAt, end: this.#decidedAt },
      { name: 'commit', begin: this.#decidedAt, end: undefined },
    ];
    const context = trace.setSpan(ROOT_CONTEXT, this.#span);
    for (const { name, begin, end } of steps) {
      // The group ended during the step that has no end time. Later steps never began.
      if (begin === undefined) continue;
      const step = this.#tracer.startSpan(name, { startTime: this.#origin + begin }, context);
      this.#end(step, end ?? now, end === undefined && outcome === 'failed');
    }
    this.#span.setAttribute('transfer_service.group_size', size);
    this.#end(this.#span, now, outcome === 'failed');
  }

  #end(span: Span, at: number, isError: boolean): void {
    if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(this.#origin + at);
  }
}
