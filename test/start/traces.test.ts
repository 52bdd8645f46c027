import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openTraces, Sampler } from '../../server/observe/traces/open-traces.ts';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { type ServiceProcess, startService, waitFor } from '../harness/process.ts';
import { Collector, type ReceivedSpan } from './collector.ts';

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

/** Variables that the OpenTelemetry SDK would read. The service ignores them. */
const OTHER_VARIABLES = {
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:9/elsewhere',
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-tenant=another,x-more=header',
  OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
  OTEL_EXPORTER_OTLP_TIMEOUT: '1',
  OTEL_EXPORTER_OTLP_CERTIFICATE: '/nowhere.pem',
  OTEL_RESOURCE_ATTRIBUTES: 'service.name=another,host.name=private',
  OTEL_SDK_DISABLED: 'true',
  OTEL_TRACES_SAMPLER: 'always_on',
  OTEL_SPAN_LINK_COUNT_LIMIT: '0',
  OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '1',
  OTEL_BSP_MAX_QUEUE_SIZE: '1',
  OTEL_LOG_LEVEL: 'debug',
};

describe('a service with a collector', () => {
  const collector = new Collector();
  let service: ServiceProcess;
  let directory: Awaited<ReturnType<typeof ledgerDirectory>>;
  beforeAll(async () => {
    await collector.start();
    directory = await ledgerDirectory();
    service = await startService({
      DATA_DIR: directory.path,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20collector-secret,x-tenant=bank',
      OTEL_TRACES_SAMPLER_ARG: '0',
      OTEL_SERVICE_NAME: 'ledger of tests',
      ...OTHER_VARIABLES,
    });
  });
  afterAll(async () => {
    if (service?.child.exitCode === null) await service.stop();
    await directory?.remove();
    await collector.stop();
  });

  /** Sends a request, and repeats it while the service is too busy to begin it. */
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    for (;;) {
      const response = await fetch(service.url + path, init);
      if (response.status !== 503) return response;
    }
  };
  const transfer = (traceparent?: string, amount = 100) =>
    send('/api/v0.1/core/transfer', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(traceparent === undefined ? {} : { traceparent }) },
      body: JSON.stringify({ amount, card_id: 'card_active' }),
    });
  const named = (name: string): ReceivedSpan | undefined => collector.spans.find((span) => span.name === name);
  const attributesOf = ({ attributes }: Pick<ReceivedSpan, 'attributes'>) =>
    Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

  test('sends only the spans of requests whose caller records the trace', async () => {
    const [traceId, parent] = [hex(16), hex(8)];
    await transfer();
    await transfer(`00-${hex(16)}-${hex(8)}-00`);
    const response = await transfer(`00-${traceId}-${parent}-01`);
    expect(response.status).toBe(201);
    await waitFor('the spans', async () => collector.spans.length >= 6);
    const request = named('POST /api/v0.1/core/transfer');
    const group = named('group');
    expect(request).toMatchObject({ traceId, parentSpanId: parent, kind: 2, status: { code: 0 } });
    expect(attributesOf(request as ReceivedSpan)).toMatchObject({
      'http.response.status_code': 201,
      'transfer_service.operation': 'create_transfer',
      'transfer_service.request_id': response.headers.get('request-id'),
    });
    expect(named('lane wait')).toMatchObject({ traceId, parentSpanId: request?.spanId });
    expect(request?.links).toMatchObject([{ traceId: group?.traceId, spanId: group?.spanId }]);
    expect(group?.links).toMatchObject([{ traceId, spanId: request?.spanId }]);
    for (const name of ['load', 'decide', 'commit']) {
      expect(named(name)).toMatchObject({ traceId: group?.traceId, parentSpanId: group?.spanId });
    }
    // The spans follow one another within the request.
    const times = ['lane wait', 'load', 'decide', 'commit'].flatMap((name) => {
      const span = named(name) as ReceivedSpan;
      return [Number(span.startTimeUnixNano), Number(span.endTimeUnixNano)];
    });
    for (const [index, time] of times.entries()) expect(time).toBeGreaterThanOrEqual(times[index - 1] ?? 0);
    expect(times[0]).toBeGreaterThanOrEqual(Number(request?.startTimeUnixNano));
    expect(times.at(-1)).toBeLessThanOrEqual(Number(request?.endTimeUnixNano));
    // If the other two requests had spans, they would have arrived first.
    expect(collector.spans).toHaveLength(6);
    const [sent] = collector.requests;
    expect(sent?.path).toBe('/v1/traces');
    expect(sent?.headers).toMatchObject({ authorization: 'Bearer collector-secret', 'x-tenant': 'bank' });
    expect(sent?.headers).not.toHaveProperty('x-more');
    const [resource] = sent?.body.resourceSpans ?? [];
    expect(attributesOf(resource?.resource ?? { attributes: [] })).toEqual({
      'service.name': 'ledger of tests',
      'service.version': '0.1.0',
      'telemetry.sdk.language': 'nodejs',
      'telemetry.sdk.name': 'opentelemetry',
      'telemetry.sdk.version': expect.stringMatching(/^[0-9]+\.[0-9]+\.[0-9]+$/),
    });
  });

  test('sends the span of a refused request with its code and no text from the caller', async () => {
    const before = collector.spans.length;
    await send('/api/v0.1/core/card/card_private?x=private', {
      headers: { traceparent: `00-${hex(16)}-${hex(8)}-01` },
    });
    await waitFor('the span', async () => collector.spans.length > before);
    const span = named('GET /api/v0.1/core/card/{card_id}') as ReceivedSpan;
    expect(attributesOf(span)).toMatchObject({ 'http.response.status_code': 404, 'error.type': 'card_not_found' });
    expect(JSON.stringify(collector.requests)).not.toContain('private');
  });

  test('sends one request span for a batch, linked to its groups', async () => {
    const traceId = hex(16);
    const row = (key: string) => ({ idempotency_key: key, amount: 100, card_id: 'card_active' });
    const response = await send('/api/v0.1/core/transfer/batch', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', traceparent: `00-${traceId}-${hex(8)}-01` },
      body: JSON.stringify({ transfers: [row('a'), row('b'), row('c')] }),
    });
    expect(response.status).toBe(200);
    const request = () => collector.spans.find((span) => span.traceId === traceId && span.kind === 2);
    await waitFor('the span', async () => request() !== undefined);
    expect(request()?.links.length).toBeGreaterThan(0);
  });

  test('a hanging or stopped collector does not delay requests or the stop, and is reported once', async () => {
    const hanging: unknown[] = [];
    collector.respond = (response) => void hanging.push(response);
    const traced = () => transfer(`00-${hex(16)}-${hex(8)}-01`);
    expect((await traced()).status).toBe(201);
    await waitFor('a request that hangs', async () => hanging.length > 0);
    // The collector has not responded to the first export yet.
    for (let times = 0; times < 5; times += 1) expect((await traced()).status).toBe(201);
    await waitFor('the line', async () => service.errors().includes('traces_not_sent'));
    await collector.stop();
    expect((await traced()).status).toBe(201);
    expect(await service.stop()).toBe(0);
    const lines = service
      .errors()
      .split('\n')
      .filter((line) => line.includes('traces_not_sent'));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 40, cause: 'Error: Request timed out' });
    expect(service.output()).not.toContain('collector-secret');
  });
});

const REQUEST = {
  requestId: '00000000-0000-4000-8000-000000000000',
  method: 'GET',
  path: '/a-path',
  operation: undefined,
  status: 200,
  code: undefined,
  programId: undefined,
};

/** The number of spans that are sent immediately, without waiting for more. */
const BATCH = 512;

describe('the export', () => {
  const failures: string[] = [];

  /** Opens an export that includes every request. Also returns a function that creates spans. */
  async function openExport() {
    const collector = new Collector();
    await collector.start();
    onTestFinished(() => collector.stop());
    failures.length = 0;
    const traces = openTraces(
      { endpoint: `${collector.url}/`, headers: {}, ratio: 1, serviceName: 'test' },
      (error, lost) => failures.push(`${error}, ${lost}`),
    );
    onTestFinished(traces.stop);
    const trace = (count: number): void => {
      for (let times = 0; times < count; times += 1) traces.begin(undefined, performance.now())?.end(REQUEST);
    };
    return { collector, trace, stop: traces.stop };
  }

  test('reports the first failure, tries again, and sends later spans', async () => {
    const { collector, trace } = await openExport();
    collector.respond = (response) => void response.writeHead(400, 'text of the collector').end('more text');
    for (let failed = 1; failed <= 3; failed += 1) {
      trace(BATCH);
      await waitFor('a failure', async () => collector.requests.length === failed);
    }
    await waitFor('the report', async () => failures.length > 0);
    expect(failures).toEqual(['Error: the answer has the status 400, 512']);
    collector.respond = (response) => void response.writeHead(200).end('{}');
    const before = collector.requests.length;
    trace(BATCH);
    await waitFor('a success', async () => collector.requests.length > before);
    collector.respond = (response) => void response.writeHead(401).end();
    await waitFor('the next failure', async () => {
      trace(1);
      return failures.length === 2;
    });
    expect(failures[1]).toContain('the answer has the status 401');
  });

  test('keeps a bounded number of spans', async () => {
    const { collector, trace } = await openExport();
    const hanging: ServerResponse[] = [];
    collector.respond = (response) => void hanging.push(response);
    trace(10_000);
    await waitFor('a request', async () => hanging.length === 1);
    collector.respond = (response) => void response.writeHead(200).end('{}');
    hanging[0]?.writeHead(200).end('{}');
    await waitFor('the rest', async () => collector.spans.length >= BATCH + 2_048);
    trace(1);
    await waitFor('a later one', async () => collector.spans.length > BATCH + 2_048);
    expect(collector.spans).toHaveLength(BATCH + 2_048 + 1);
    expect(failures).toEqual([]);
  });

  test('sends waiting spans when it stops', async () => {
    const { collector, trace, stop } = await openExport();
    trace(10);
    await stop();
    expect(collector.spans).toHaveLength(10);
    expect(failures).toEqual([]);
  });

  test('does not wait for a hanging collector when it stops', async () => {
    const { collector, trace, stop } = await openExport();
    collector.respond = () => undefined;
    trace(BATCH);
    await stop();
    // A failure would be reported after the time limit for the response.
    expect(failures).toEqual([]);
  });
});

describe('the sampler', () => {
  const traced = (flags: string): string => `00-${hex(16)}-${hex(8)}-${flags}`;
  const count = (sampler: Sampler, traceparent: () => string | undefined, now = (_: number) => 0): number => {
    let taken = 0;
    for (let at = 0; at < 10_000; at += 1) if (sampler.takes(traceparent(), now(at))) taken += 1;
    return taken;
  };

  test('takes the configured share of requests, with or without a trace', () => {
    expect(count(new Sampler(0), () => undefined)).toBe(0);
    expect(count(new Sampler(1), () => undefined)).toBe(10_000);
    for (const traceparent of [() => undefined, () => traced('00')]) {
      const taken = count(new Sampler(0.1), traceparent);
      expect(taken).toBeGreaterThan(700);
      expect(taken).toBeLessThan(1_300);
    }
  });

  test('decides the same way for all requests of a trace', () => {
    const sampler = new Sampler(0.5);
    for (let at = 0; at < 100; at += 1) {
      const one = traced('00');
      expect(sampler.takes(one, 0)).toBe(sampler.takes(one, 0));
    }
  });

  test('takes at most ten requests a second whose callers ask for a trace', () => {
    expect(count(new Sampler(0), () => traced('01'))).toBe(10);
    expect(
      count(
        new Sampler(0),
        () => traced('03'),
        (at) => at,
      ),
    ).toBe(100);
    expect(count(new Sampler(0), () => traced('02'))).toBe(0);
  });
});
