import { spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { waitFor } from '../harness/process.ts';
import { useOwnService } from '../harness/service.ts';

const WRITER = join(import.meta.dirname, '../../server/observe/log/line-writer.ts');

/**
 * A script that writes lines of a kilobyte to standard error and then reports that it has done so. It writes one more line after
 * the first input.
 */
const PROGRAM = (count: number) => `
  import { LineWriter } from ${JSON.stringify(WRITER)};
  process.stderr.on('error', () => undefined);
  let lost = 0;
  const lines = new LineWriter(process.stderr, (count) => { lost += count; });
  for (let at = 0; at < ${count}; at += 1) {
    (at % 100 === 0 ? (line) => lines.write(line) : (line) => lines.add(line))(JSON.stringify({ at, filler: 'x'.repeat(1000) }) + '\\n');
    if (at % 50 === 0) await new Promise((turn) => setImmediate(turn));
  }
  lines.flush();
  await new Promise((turn) => setTimeout(turn, 100));
  process.stdout.write('written\\n');
  process.stdin.once('data', async () => {
    lines.write(JSON.stringify({ last: true }) + '\\n');
    await new Promise((turn) => setTimeout(turn, 100));
    process.stdout.write('lost ' + lost + '\\n');
    process.stdin.destroy();
  });`;

type Line = { readonly at?: number; readonly last?: true; readonly event?: string; readonly lines?: number };

const run = (count: number, stderr: 'pipe' | number) =>
  spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM(count)], { stdio: ['pipe', 'pipe', stderr] });

const read = (text: string): readonly Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);

test('a slow reader blocks nothing: lines are dropped, counted, and reported once the pipe has room', async () => {
  const child = run(6_000, 'pipe');
  let said = '';
  child.stdout?.on('data', (chunk) => {
    said += chunk;
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  // The script has written everything before the test reads a byte.
  await waitFor('the lines', async () => said.includes('written'));
  let received = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk) => {
    received += chunk;
  });
  await waitFor('the report', async () => received.includes('log_lines_lost'));
  child.stdin?.end('go');
  expect(await ended).toBe(0);
  const lines = read(received);
  const kept = lines.flatMap(({ at }) => at ?? []);
  const lost = lines.reduce((sum, { event, lines: count }) => sum + (event === 'log_lines_lost' ? (count ?? 0) : 0), 0);
  expect(kept.length).toBeGreaterThan(500);
  expect(lost).toBeGreaterThan(1_000);
  expect(kept.length + lost).toBe(6_000);
  expect(kept).toEqual(kept.toSorted((left, right) => left - right));
  expect(lines.at(-1)).toEqual({ last: true });
  expect(said).toContain(`lost ${lost}\n`);
});

test('lines are dropped and counted on a full disk', async () => {
  const child = run(300, openSync('/dev/full', 'w'));
  let said = '';
  child.stdout?.on('data', (chunk) => {
    said += chunk;
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  await waitFor('the lines', async () => said.includes('written'));
  child.stdin?.end('go');
  expect(await ended).toBe(0);
  expect(said).toContain('lost 301\n');
});

test('every line is written to a file, in order', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'transfer-service-log-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'log');
  const child = run(3_000, openSync(path, 'w'));
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.stdin?.end('go');
  expect(await ended).toBe(0);
  expect(read(readFileSync(path, 'utf8')).flatMap(({ at }) => at ?? [])).toEqual(
    Array.from({ length: 3_000 }, (_, at) => at),
  );
});

const service = useOwnService('It stops the service.', { REQUEST_LOG: 'all', LOG_LEVEL: 'info' });

test('a service logs its start, every request with its trace, a fault with the same ids, and its stop', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const { url, errors, child } = service();
  /** Sends a request, and repeats it while the service is too busy. */
  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01`, 'Content-Type': 'application/json' };
    for (;;) {
      const response = await fetch(url + path, { ...init, headers: { ...headers, ...init.headers } });
      if (response.status !== 503) return response;
    }
  };
  const post = (headers: Readonly<Record<string, string>> = {}) =>
    send('/api/v0.1/core/transfer', { method: 'POST', body: '{"amount":100,"card_id":"card_active"}', headers });
  const [transfer, card, unknown, failed] = [
    await post(),
    await send('/api/v0.1/core/card/card_secret'),
    await send('/secret'),
    await post({ 'Sandbox-Provoke': 'unknown_create_transfer; money_moved=unknown' }),
  ];
  const closed = new Promise((resolve) => child.once('close', resolve));
  await service().stop();
  await closed;
  const lines = errors()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const started = { version: '0.1.0', mode: 'sandbox', processId: child.pid, port: Number(new URL(url).port) };
  expect(lines).toContainEqual(
    expect.objectContaining({
      event: 'service_start',
      ...started,
      migration: expect.stringMatching(/^\d{4}_.*\.sql$/),
    }),
  );
  expect(lines).toContainEqual(expect.objectContaining({ event: 'service_ready', milliseconds: expect.any(Number) }));
  expect(lines.at(-1)).toMatchObject({ event: 'service_stop', reason: 'SIGTERM', uptimeSeconds: expect.any(Number) });
  const linesOf = (response: Response) =>
    lines.filter(({ requestId }) => requestId === response.headers.get('request-id'));
  const known = { event: 'request', traceId: trace };
  const create = { operation: 'create_transfer', method: 'POST', path: '/api/v0.1/core/transfer' };
  expect(linesOf(transfer)).toEqual([expect.objectContaining({ ...known, ...create, status: 201 })]);
  const read = { operation: 'get_card', path: '/api/v0.1/core/card/{card_id}', status: 404, code: 'card_not_found' };
  expect(linesOf(card)).toEqual([expect.objectContaining({ ...known, ...read })]);
  expect(linesOf(unknown)).toEqual([expect.objectContaining({ ...known, status: 404, code: 'route_not_found' })]);
  const fault = { code: 'unknown_create_transfer', traceId: trace };
  expect(linesOf(failed)).toEqual([
    expect.objectContaining({ event: 'server_error', ...fault }),
    expect.objectContaining({ ...known, ...create, status: 500, ...fault, moneyMoved: 'unknown' }),
  ]);
  expect(errors()).not.toContain('secret');
});
