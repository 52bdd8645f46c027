import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { deadUrl, startCannedService } from '../../sdk/canned-service.ts';
import { connect, environmentOf, MCP, NODE, type Settings } from './mcp-client.ts';

const service = await startCannedService();
afterAll(() => service.close());

const firstPage = (mode: string) => ({ status: 200, body: { service: 'transfer-service', version: '0.1.0', mode } });

const INITIALIZE = {
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

type Process = { readonly child: ChildProcess; readonly output: () => string; readonly errors: () => string };

function start(settings: Settings, ...options: readonly string[]): Process {
  const child = spawn(NODE, [...MCP, ...options], { env: environmentOf(settings), stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const texts = { output: '', errors: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    texts.output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    texts.errors += text;
  });
  return { child, output: () => texts.output, errors: () => texts.errors };
}

const send = ({ child }: Process, message: object) =>
  child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

test('writes only messages of the protocol to standard output, and ends when standard input is closed', async () => {
  const begun = start({ url: await deadUrl() });
  send(begun, INITIALIZE);
  send(begun, { method: 'notifications/initialized' });
  begun.child.stdin?.write('this is not JSON\n');
  send(begun, { id: 1, method: 'tools/call', params: { name: 'search_docs', arguments: { query: 'refund' } } });
  while (!begun.output().includes('"id":1')) await once(begun.child.stdout ?? begun.child, 'data');
  begun.child.stdin?.end();
  expect(await once(begun.child, 'close')).toEqual([0, null]);
  const messages = begun.output().trimEnd().split('\n');
  expect(messages.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ jsonrpc: '2.0', id: 0, result: expect.any(Object) }),
    expect.objectContaining({ jsonrpc: '2.0', id: 1, result: expect.objectContaining({ isError: true }) }),
  ]);
  expect(begun.errors()).toContain('Offering 6 tools for http://127.0.0.1:');
});

test('ends when standard input is closed, even while the service does not respond', async () => {
  service.play('no response');
  const arrived = new Promise<void>((resolve) => {
    service.onRequest = () => resolve();
  });
  const begun = start({ url: service.url });
  send(begun, INITIALIZE);
  send(begun, { id: 1, method: 'tools/call', params: { name: 'search_docs', arguments: { query: 'refund' } } });
  await arrived;
  begun.child.stdin?.end();
  expect(await once(begun.child, 'close')).toEqual([0, null]);
});

test.each(['SIGINT', 'SIGTERM'] as const)('ends with 0 after %s', async (signal) => {
  const begun = start({ url: await deadUrl() });
  send(begun, INITIALIZE);
  await once(begun.child.stdout ?? begun.child, 'data');
  begun.child.kill(signal);
  expect(await once(begun.child, 'close')).toEqual([0, null]);
});

test('refuses --write for a live service', async () => {
  service.play(firstPage('live'));
  const begun = start({ url: service.url, key: 'secret' }, '--write');
  expect(await once(begun.child, 'close')).toEqual([2, null]);
  expect(begun.output()).toBe('');
  expect(begun.errors()).toContain('error: --write is refused. The service is live');
  // The question needs no key.
  expect(service.received.map(({ url, headers }) => [url, headers.authorization])).toEqual([['/', undefined]]);
});

test('asks before each call that writes, because the URL can lead to a different service later', async () => {
  service.play(firstPage('sandbox'));
  const { call } = await connect({ url: service.url }, ['--write']);
  service.play(firstPage('live'));
  for (const [name, given] of [
    ['create_transfer', { amount: 1, card_id: 'card_active' }],
    ['provoke_error', { code: 'card_lost' }],
  ] as const) {
    expect(await call(name, given)).toMatchObject({ isError: true, data: { failure: 'refused_call' } });
  }
  expect(service.received.map(({ url }) => url)).toEqual(['/', '/']);
});

test('says that money may have moved if there is no response, and how to repeat the call', async () => {
  service.play(firstPage('sandbox'));
  const { call } = await connect({ url: service.url }, ['--write']);
  service.play(firstPage('sandbox'), 'cut before the response');
  const { isError, data } = await call('create_transfer', {
    amount: 1,
    card_id: 'card_active',
    idempotency_key: 'k-1',
  });
  expect({ isError, ...data }).toMatchObject({ isError: true, money_moved: 'unknown', idempotency_key: 'k-1' });
  expect(data.what_to_do).toContain('Call the tool again with the same arguments and this idempotency_key');
});

test('says what to do if nothing listens, or something other than the service responds', async () => {
  const url = await deadUrl();
  const { call, errors } = await connect({ url }, ['--write']);
  await vi.waitFor(() => expect(errors()).toContain(`warning: no service responds at ${url} yet.`), 120_000);
  const down = await call('get_transfer_story', { transfer_id: 'tr_1' });
  expect(down).toMatchObject({ isError: true, data: { failure: 'no_response', money_moved: 'no' } });
  expect(down.data.what_to_do).toContain('To start it: transfer-service start.');
  service.play({ status: 502, body: '<h1>Bad Gateway: Bearer secret</h1>' });
  const other = await connect({ url: service.url, key: 'secret' });
  for (const [name, given] of [
    ['get_transfer_story', { transfer_id: 'tr_1' }],
    ['search_docs', { query: 'refund' }],
  ] as const) {
    const { isError, data, text } = await other.call(name, given);
    expect([isError, data.failure]).toEqual([true, 'unexpected_response']);
    expect(data.response_begins_with).toContain('Bad Gateway');
    expect(text).not.toContain('secret');
  }
});
