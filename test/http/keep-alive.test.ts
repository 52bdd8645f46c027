import { expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../server/http/settings.ts';
import { fakeGateway, nextTaken, serve } from '../harness/http-server.ts';
import { post } from '../harness/raw-connection.ts';
import { keptConnections, sendRaw } from '../harness/raw-request.ts';

const TRANSFER = post('{"amount":1,"card_id":"c"}');

it('a connection stays open longer than its response promises', async () => {
  const settings = { keepAliveTimeoutMilliseconds: 1_000, keepAliveBufferMilliseconds: 600_000 };
  const { connect } = await serve(fakeGateway(), { settings });
  const kept = await connect(TRANSFER);
  expect((await kept.next()).headers.get('keep-alive')).toBe('timeout=1');
  // Waits longer than the timeout plus the second that Node adds to it.
  await new Promise((wake) => setTimeout(wake, 2_500));
  kept.send(TRANSFER);
  expect((await kept.next()).status).toBe(201);
});

it('an idle connection stays open longer than load balancers keep it, unless too many are open', async () => {
  const { connect } = await serve(fakeGateway(), { settings: { maxKeptConnections: 1 } });
  const first = await connect(TRANSFER);
  expect((await first.next()).headers.get('keep-alive')).toBe('timeout=75');
  const second = await connect(TRANSFER);
  expect((await second.next()).headers.get('keep-alive')).toBe('timeout=5');
  first.socket.destroy();
  await expect
    .poll(async () => {
      second.send(TRANSFER);
      return (await second.next()).headers.get('keep-alive');
    })
    .toBe('timeout=75');
});

it('an idle connection stays open for longer than the longest request takes', () => {
  const { operationTimeoutMilliseconds, operationGraceMilliseconds, ...settings } = DEFAULT_SETTINGS;
  const idle = settings.keepAliveTimeoutMilliseconds + settings.keepAliveBufferMilliseconds;
  expect(idle).toBeGreaterThan(1.5 * (operationTimeoutMilliseconds + operationGraceMilliseconds));
});

it('a request that is sent while its idle connection closes gets no response and does nothing', async () => {
  let calls = 0;
  const gateway = fakeGateway({
    create_transfer: async () => {
      calls += 1;
      return { json: '{}' };
    },
  });
  const settings = { keepAliveTimeoutMilliseconds: 50, keepAliveBufferMilliseconds: 50, lingerMilliseconds: 600_000 };
  const { connect } = await serve(gateway, { settings });
  const taken = nextTaken();
  const kept = await connect(TRANSFER);
  expect((await kept.next()).status).toBe(201);
  const atServer = await taken;
  const isOver = new Promise((resolve) => atServer.once('close', resolve));
  expect(await kept.rest()).toBe('');
  // To the server, this looks like a request that was sent before the caller noticed the close.
  kept.send(TRANSFER);
  kept.socket.end();
  await isOver;
  expect([kept.received, calls, atServer.bytesRead]).toEqual(['', 1, 2 * TRANSFER.length]);
});

it('a client that honors the timeout closes an idle connection before the server does', async () => {
  const settings = { keepAliveTimeoutMilliseconds: 2_000, keepAliveBufferMilliseconds: 600_000 };
  const { server } = await serve(fakeGateway(), { settings });
  const url = `http://127.0.0.1:${server.address?.port}`;
  const agent = keptConnections(1);
  const idle = (): number => Object.values(agent.freeSockets).flat().length;
  expect((await sendRaw(url, { body: { amount: 1, card_id: 'c' } }, agent)).headers['keep-alive']).toBe('timeout=2');
  expect(idle()).toBe(1);
  // The client closes the connection a second before the timeout. The server would keep it open for ten minutes.
  await expect.poll(idle).toBe(0);
  agent.destroy();
});
