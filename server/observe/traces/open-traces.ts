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
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { toWireId } from '../../../domain/identifier.ts';
import { VERSION } from '../../../installation.mjs';
import type { EndedRequest, GroupTrace, RequestTrace } from '../../calls/trace.ts';

/**
 * Maximum number of waiting spans. Further spans are dropped. A transfer has five, so this is enough for a few seconds at the
 * maximum sampling rate.
 */
const MAX_WAITING = 2_048;

const MAX_SENT = 512;

/** How long a span waits for others, so that they are sent together. */
const GATHER_MILLISECONDS = 1_000;

/** Time limit of a request to the collector, including retries. */
const TIMEOUT_MILLISECONDS = 5_000;

/**
 * Maximum number of concurrent requests to the collector: one that is already in flight, and enough to send all waiting
 * spans when the service stops.
 */
const MAX_REQUESTS = MAX_WAITING / MAX_SENT + 1;

/** Time for sending the last spans when the service stops. */
const STOP_MILLISECONDS = 1_000;

/** Maximum number of links of a span. A group has one per request, and a batch has one per group. */
const MAX_LINKS = 1_024;

export type TraceSettings = {
  /** URL of the collector, without `/v1/traces`. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The share of traced requests, from 0 to 1. */
  readonly ratio: number;
  readonly serviceName: string;
};

export type Traces = {
  /**
   * Begins the trace of a request. Returns undefined if the request is not traced. `beganAt` is a value of
   * `performance.now()`.
   */
  readonly begin: (traceparent: string | undefined, beganAt: number) => RequestTrace | undefined;
  readonly stop: () => Promise<void>;
};

/**
 * Opens the export of traces. `onFailure` is called with the number of lost spans, but only for the first of several
 * failures in a row. Nothing is registered globally, so libraries do not create spans automatically.
 */
export function openTraces(
  { endpoint, headers, ratio, serviceName }: TraceSettings,
  onFailure: (error: unknown, lost: number) => void,
): Traces {
  const collector = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/$/, '')}/v1/traces`,
    headers: { ...headers },
    timeoutMillis: TIMEOUT_MILLISECONDS,
    concurrencyLimit: MAX_REQUESTS,
    httpAgentOptions: { keepAlive: true },
  });
  const processor = new BatchSpanProcessor({
    exporter: new ReportingExporter(collector, onFailure),
    maxQueueSize: MAX_WAITING,
    maxExportBatchSize: MAX_SENT,
    scheduledDelayMillis: GATHER_MILLISECONDS,
    // Longer than the exporter's own time limit, so that the exporter stops first and reports the reason.
    exportTimeoutMillis: 2 * TIMEOUT_MILLISECONDS,
  });
  const service = resourceFromAttributes({ 'service.name': serviceName, 'service.version': VERSION });
  const provider = new TracerProvider({
    resource: defaultResource().merge(service),
    // The requests were already chosen, so every span here is exported, regardless of the caller's flags.
    sampler: new AlwaysOnSampler(),
    spanLimits: { linkCountLimit: MAX_LINKS },
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer('transfer-service', VERSION);
  const sampler = new Sampler(ratio);
  return {
    begin: (traceparent, beganAt) =>
      sampler.takes(traceparent, beganAt) ? new TracedRequest(tracer, traceparent, beganAt) : undefined,
    stop: () => withinTime(provider.shutdown(), STOP_MILLISECONDS),
  };
}

/** Waits until work has ended, successfully or not, but at most this many milliseconds. */
async function withinTime(work: Promise<void>, milliseconds: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  // The exporter has already reported a failure.
  work.then(resolve, () => resolve());
  await promise;
  clearTimeout(timer);
}

/**
 * Maximum number of requests per second that are traced because their callers ask for it. There is a limit because callers must not
 * decide the cost of tracing.
 */
const MAX_WANTED_PER_SECOND = 10;

/**
 * The number of hex digits of a trace id that are compared with the ratio. Other samplers compare the same digits, so all of them
 * choose the same traces.
 */
const COMPARED_DIGITS = 13;

/** The flag that a caller sets if it records the trace. */
const SAMPLED = 1;

/** Decides whether a request is traced. This happens before any other work for a trace. */
export class Sampler {
  readonly #ratio: number;
  #second = 0;
  #wanted = 0;

  /** `ratio` from 0 to 1. */
  constructor(ratio: number) {
    this.#ratio = ratio;
  }

  /** Returns whether to trace a request. `now` is a value of `performance.now()`. */
  takes(traceparent: string | undefined, now: number): boolean {
    if (traceparent === undefined) return Math.random() < this.#ratio;
    const share = Number.parseInt(traceparent.slice(35 - COMPARED_DIGITS, 35), 16) / 16 ** COMPARED_DIGITS;
    if (share < this.#ratio) return true;
    const isWanted = (Number.parseInt(traceparent.slice(53, 55), 16) & SAMPLED) === SAMPLED;
    return isWanted && this.#takesWanted(now);
  }

  #takesWanted(now: number): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#wanted = 0;
    }
    this.#wanted += 1;
    return this.#wanted <= MAX_WANTED_PER_SECOND;
  }
}

type OnResult = Parameters<SpanExporter['export']>[1];

/** Passes spans to an exporter, and reports only the first of several failures in a row. */
export class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #onFailure: (error: unknown, lost: number) => void;
  #isFailing = false;

  /** `onFailure` gets the number of lost spans. */
  constructor(exporter: SpanExporter, onFailure: (error: unknown, lost: number) => void) {
    this.#exporter = exporter;
    this.#onFailure = onFailure;
  }

  /** Passes spans on. `onResult` is called once: when the collector has received them, or when the exporter stops retrying. */
  export(spans: ReadableSpan[], onResult: OnResult): void {
    this.#exporter.export(spans, (result) => {
      const { error } = result;
      const hasFailed = error !== undefined;
      if (hasFailed && !this.#isFailing) this.#onFailure(causeOf(error), spans.length);
      this.#isFailing = hasFailed;
      onResult(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  async shutdown(): Promise<void> {
    await this.#exporter.shutdown();
  }
}

/**
 * Returns a replacement for the exporter's error about a status, because that error contains the body of the response, which must
 * not be logged.
 */
function causeOf(error: Error): Error {
  return 'code' in error && typeof error.code === 'number'
    ? new Error(`the answer has the status ${error.code}`)
    : error;
}

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
class TracedRequest implements RequestTrace {
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
