import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { COMPILED } from '../harness/process.ts';
import { type Canned, deadUrl, errorResponse, startCannedService, TRANSFER } from '../sdk/canned-service.ts';
import type { Outcome } from './in-process.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
const MAIN = resolve(PROJECT, 'cli/main.ts');
const PINNED = resolve(PROJECT, 'node_modules/.bin/node');
/** The pinned version of Node if it is installed, because the tests can run on a version without TypeScript support. */
const NODE = existsSync(PINNED) ? PINNED : process.execPath;
const CREATE = ['transfers', 'create', '--card', 'card_active', '--amount', '1000', '--idempotency-key', 'k'];

const service = await startCannedService();
afterAll(() => service.close());

/** Runs the command in a separate process, with only these environment variables. */
function runCommand(commandLine: readonly string[], environment: Record<string, string>): Promise<Outcome> {
  return new Promise((done, fail) => {
    const child = spawn(NODE, [MAIN, ...commandLine], {
      env: { ...COMPILED, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    child.on('error', fail);
    child.on('close', (code) => done({ exitCode: code ?? -1, output, errors }));
  });
}

function play(canned: Canned): Record<string, string> {
  service.play(canned);
  return {
    ...COMPILED,
    TRANSFER_SERVICE_URL: service.url,
    TRANSFER_SERVICE_KEY: 'secret',
    TRANSFER_SERVICE_PROGRAM: '',
  };
}

test('creates and shows a transfer, with settings from the environment', async () => {
  const { exitCode, output, errors } = await runCommand(CREATE, play({ status: 201, body: TRANSFER }));
  expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
  expect(output).toBe(
    `transfer_id:     ${TRANSFER.transfer_id}
program_id:      prog_demo
card_id:         card_active
type:            load
amount:          10.00 USD
captured_amount: 10.00 USD
reversed_amount: 0.00 USD
currency:        USD
status:          completed
outcome:         final
capture:         automatic
metadata.order:  17
request_id:      req_0199c1d2e3f4a5b6c7d8e9f0a1b2c3d5
idempotency_key: order-17
created_by:      sandbox
created_at:      2030-01-31 12:00:00 UTC
updated_at:      2030-01-31 12:00:00 UTC
completed_at:    2030-01-31 12:00:00 UTC
idempotency_key: k
replayed:        no
`,
  );
  expect(service.received[0]?.headers).toMatchObject({ authorization: 'Bearer secret', 'idempotency-key': 'k' });
  expect(service.received[0]?.headers).not.toHaveProperty('program-id');
});

test('prints a Request Error on standard error and exits with 1', async () => {
  const record = { Message: 'The card has less.', Status: 409, Code: 'insufficient_funds', Type: 'Request Error' };
  const headers = { 'money-moved': 'no', 'should-retry': 'false', 'error-field': '/amount' };
  const { exitCode, output, errors } = await runCommand(CREATE, play(errorResponse(record, headers)));
  expect({ exitCode, output }).toEqual({ exitCode: 1, output: '' });
  expect(errors).toBe(
    `error: The card has less.

Code:        insufficient_funds (Request Error, 409)
Field:       /amount
Money moved: no
Request id:  req_canned
Retryable:   no
What to do:  Send a smaller amount, or add funds to the account. Then use a new
             idempotency key.
             See every check, with the same options:
               transfer-service transfers explain
More:        ${service.url}/errors/insufficient_funds
`,
  );
});

test('exits with 3 after a Process Error, and shows the time of the next attempt', async () => {
  const record = { Status: 424, Code: 'service_disabled', Type: 'Process Error' };
  const headers = { 'money-moved': 'no', 'should-retry': 'false', 'retry-after': '60' };
  const { exitCode, errors } = await runCommand(CREATE, play(errorResponse(record, headers)));
  expect(exitCode).toBe(3);
  expect(errors).toContain('Retryable:   not within 60 seconds\n');
});

test('exits with 3 after a response that is not from the service', async () => {
  const { exitCode, errors } = await runCommand(CREATE, play({ status: 502, body: '<h1>Bad Gateway</h1>' }));
  expect(exitCode).toBe(3);
  expect(errors).toContain('The response begins with: <h1>Bad Gateway</h1>\n');
  expect(errors).toContain('--idempotency-key k');
});

test("exits with 4 if the service is unreachable, and takes the default URL's port from PORT", async () => {
  const url = await deadUrl();
  const { exitCode, output, errors } = await runCommand(['cards', 'list'], { PORT: new URL(url).port });
  expect({ exitCode, output }).toEqual({ exitCode: 4, output: '' });
  expect(errors).toContain(`cannot be reached at ${url} `);
  expect(errors).toContain('Is the service running? Start it: transfer-service start\n');
});

test('prints a long export completely, and reads it no faster than its own output is read', async () => {
  // More transfers than all buffers together hold.
  const count = 400;
  const chunk = `${'x'.repeat(99_998)}\r\n`;
  let sent = 0;
  const chunks = (function* () {
    for (; sent < count; sent += 1) yield chunk;
  })();
  const child = spawn(NODE, [MAIN, 'transfers', 'export'], {
    env: play({ chunks }),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = new Promise((done) => child.on('close', (code) => done(code)));
  await vi.waitFor(() => expect(sent).toBeGreaterThan(0), 120_000);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(sent).toBeLessThan(count);
  let length = 0;
  for await (const text of child.stdout) length += text.length;
  expect({ length, code: await ended }).toEqual({ length: count * chunk.length, code: 0 });
});

test('leaves no file when a signal ends an export', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'transfer-service-export-'));
  const environment = play({ chunks: ['transfer_id\r\n'], ends: 'without an end' });
  const commandLine = ['transfers', 'export', '--output', join(folder, 'out.csv')];
  const child = spawn(NODE, [MAIN, ...commandLine], { env: environment, stdio: 'ignore' });
  const ended = new Promise((done) => child.on('close', (_, signal) => done(signal)));
  await vi.waitFor(() => expect(readdirSync(folder)).toEqual([expect.stringMatching(/\.unfinished$/)]), 120_000);
  await vi.waitFor(() => expect(service.received).toHaveLength(1), 120_000);
  child.kill('SIGINT');
  expect(await ended).toBe('SIGINT');
  expect(readdirSync(folder)).toEqual([]);
  rmSync(folder, { recursive: true });
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  'events tail exits with 0 after %s, and prints how to continue',
  async (signal) => {
    const chunks = [
      'id: 1\ndata: {"position":1,"type":"card.created","subject_id":"card_1","created_at":"2030-01-31T12:00:00.000Z","data":{}}\n\n',
    ];
    const env = play({ chunks, contentType: 'text/event-stream', ends: 'without an end' });
    const child = spawn(NODE, [MAIN, 'events', 'tail', '--after', '0'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = new Promise((done) => child.on('close', (code, by) => done({ code, by })));
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    await new Promise((done) => child.stdout.once('data', done));
    child.kill(signal);
    expect(await ended).toEqual({ code: 0, by: null });
    expect(errors).toBe('Reading events after 0. Press Ctrl-C to stop.\nTo continue: --after 1\n');
  },
);

test('events listen exits with 0 after SIGINT while nothing listens at its URL', async () => {
  const chunks = [
    'id: 1\ndata: {"position":1,"event_id":"evt_1","type":"card.created","subject_id":"card_1","data":{}}\n\n',
  ];
  const env = play({ chunks, contentType: 'text/event-stream', ends: 'without an end' });
  const commandLine = ['events', 'listen', '--forward-to', await deadUrl(), '--after', '0'];
  const child = spawn(NODE, [MAIN, ...commandLine], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((done) => child.on('close', (code, by) => done({ code, by })));
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  await vi.waitFor(() => expect(errors).toContain('waiting until something listens there'), 120_000);
  child.kill('SIGINT');
  expect(await ended).toEqual({ code: 0, by: null });
  expect(errors).toMatch(/To continue: --after 0\n$/);
});

test('events tail ends without an error when the process that reads its output ends', async () => {
  const lines = (function* () {
    for (let at = 1; at <= 20_000; at += 1)
      yield `id: ${at}\ndata: {"position":${at},"type":"card.created","subject_id":"card_1","created_at":"2030-01-31T12:00:00.000Z"}\n\n`;
  })();
  const env = play({ chunks: lines, contentType: 'text/event-stream', ends: 'without an end' });
  const child = spawn(NODE, [MAIN, 'events', 'tail', '--after', '0'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise((done) => child.on('close', (code) => done(code)));
  child.stdout.once('data', () => child.stdout.destroy());
  expect(await ended).toBe(0);
});
