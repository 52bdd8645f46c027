import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { LineWriter } from '../../observe/log/line-writer.ts';
import { openLog } from '../../observe/log/log.ts';
import { Lifecycle } from './lifecycle.ts';

function started(level: 'info' | 'error' | 'silent') {
  const stream = new PassThrough();
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const lines = new LineWriter(stream);
  const lifecycle = new Lifecycle(lines);
  lifecycle.start(openLog(level, lines), { mode: 'sandbox', port: 1, migration: '0001_ledger.sql' });
  lifecycle.ready(1);
  const logged = async (): Promise<readonly Record<string, unknown>[]> => {
    await new Promise((turn) => setImmediate(turn));
    const all = text.split('\n').filter((line) => line !== '');
    return all.map((line) => JSON.parse(line));
  };
  return { lifecycle, lines, logged };
}

test('logs a failed stop last, with the reason, and rethrows the error', async () => {
  const { lifecycle, lines, logged } = started('info');
  lines.add('{"event":"request"}\n');
  const failure = new Error('cannot close postgresql://user:password@host/ledger');
  await expect(lifecycle.stop('SIGTERM', () => Promise.reject(failure))).rejects.toBe(failure);
  const all = await logged();
  expect(all.map(({ event }) => event)).toEqual(['service_start', 'service_ready', 'request', 'service_stop']);
  expect(all.at(-1)).toMatchObject({ level: 50, reason: 'SIGTERM', cause: expect.stringContaining('cannot close') });
  expect(JSON.stringify(all)).not.toContain('password');
});

test('logs start and stop depending on LOG_LEVEL', async () => {
  const quiet = started('error');
  await quiet.lifecycle.stop('SIGTERM', async () => undefined);
  expect(await quiet.logged()).toEqual([]);
  const failing = started('error');
  await failing.lifecycle.stop('SIGINT', () => Promise.reject(new Error('no'))).catch(() => undefined);
  expect((await failing.logged()).map(({ event }) => event)).toEqual(['service_stop']);
  const silent = started('silent');
  await silent.lifecycle.stop('SIGINT', () => Promise.reject(new Error('no'))).catch(() => undefined);
  expect(await silent.logged()).toEqual([]);
});

test('logs nothing if the service is stopped before it has started', async () => {
  const lifecycle = new Lifecycle(new LineWriter(new PassThrough()));
  await expect(lifecycle.stop('SIGTERM', async () => undefined)).resolves.toBeUndefined();
});
