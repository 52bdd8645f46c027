import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { VERSION } from '../../../installation.mjs';
import type { RequestTrace } from '../../calls/trace.ts';
import { TracedRequest } from './traced.ts';

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
