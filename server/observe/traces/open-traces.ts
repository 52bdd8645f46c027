import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { VERSION } from '../../../installation.mjs';
import type { RequestTrace } from '../../calls/trace.ts';
import { ReportingExporter } from './reporting-exporter.ts';
import { Sampler } from './sampler.ts';
import { TracedRequest } from './traced.ts';

/**
 * Maximum number of waiting spans; more are dropped. A transfer has five, so this is a few seconds of the maximum that
 * is sampled.
 */
const MAX_WAITING = 2_048;

/** Maximum number of spans in one request to the collector. */
const MAX_SENT = 512;

/** How long a span waits for others. */
const GATHER_MILLISECONDS = 1_000;

/** How long the collector may take, with the attempts after the first. */
const TIMEOUT_MILLISECONDS = 5_000;

/**
 * Maximum number of concurrent requests to the collector: everything that waits when the service stops, and one in
 * flight.
 */
const MAX_REQUESTS = MAX_WAITING / MAX_SENT + 1;

/** Time for sending the last spans when the service stops. */
const STOP_MILLISECONDS = 1_000;

/** A group has one link per request, a batch one per group. */
const MAX_LINKS = 1_024;

/** Which traces are sent, and where. */
export type TraceSettings = {
  /** URL of the collector, without `/v1/traces`. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The share of requests that are traced, from 0 to 1. */
  readonly ratio: number;
  readonly serviceName: string;
};

/** The traces of a process. */
export type Traces = {
  /** The trace of a request, if it gets one; `beganAt` by `performance.now()`. */
  readonly begin: (traceparent: string | undefined, beganAt: number) => RequestTrace | undefined;
  readonly stop: () => Promise<void>;
};

/**
 * Opens the export of traces. `onFailure` is called for the first of several failures in a row, with the number of lost
 * spans. Nothing is registered globally, so no library creates spans by itself.
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
    // The exporter gives up earlier, and says why.
    exportTimeoutMillis: 2 * TIMEOUT_MILLISECONDS,
  });
  const service = resourceFromAttributes({ 'service.name': serviceName, 'service.version': VERSION });
  const provider = new TracerProvider({
    resource: defaultResource().merge(service),
    // Everything that gets this far is traced, whatever the flags of its caller.
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

/** Waits for something to end, successfully or not, but at most this many milliseconds. */
async function withinTime(work: Promise<void>, milliseconds: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  // The exporter has already reported a failure.
  work.then(resolve, () => resolve());
  await promise;
  clearTimeout(timer);
}
