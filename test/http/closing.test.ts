import { expect, it } from 'vitest';
import type { AnyReply } from '../../server/calls/call.ts';
import { expectRecord } from '../harness/expect-record.ts';
import { fakeGateway, serve } from '../harness/http-server.ts';
import { bare, isListening, post, RawConnection } from '../harness/raw-connection.ts';

const TRANSFER = post('{"amount":1,"card_id":"c"}');

it('a closing server reports that it is not ready, and serves requests until no more arrive', async () => {
  const { ask, connect, port, server } = await serve(fakeGateway(), {
    settings: { maxDrainMilliseconds: 600_000, drainGraceMilliseconds: 600_000, drainQuietMilliseconds: 10_000 },
  });
  const kept = await connect(TRANSFER);
  expect((await kept.next()).headers.get('connection')).toBe('keep-alive');
  const closed = server.close();

  const notReady = await ask(bare('GET', '/health/ready'));
  expectRecord(notReady, 503, 'service_unavailable');
  expect(notReady.body).toContain('The service is closing.');
  expect([notReady.headers.get('retry-after'), notReady.headers.get('should-retry')]).toEqual(['1', 'true']);
  expect(notReady.headers.get('readiness')).toBe('service_closing');
  expect(notReady.headers.get('runbook')).toBe('docs/runbook/service-closing.md');

  for (const connection of [kept, await connect()]) {
    connection.send(TRANSFER);
    const response = await connection.next();
    expect([response.status, response.headers.get('connection')]).toEqual([201, 'close']);
    expect(await connection.rest()).toBe('');
  }
  await closed;
  await expect(RawConnection.open(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

it('a server closes even if requests never stop', async () => {
  const { port, server } = await serve(fakeGateway(), {
    settings: { drainGraceMilliseconds: 300, drainQuietMilliseconds: 200 },
  });
  let isOver = false;
  const statuses = new Set<number>();
  let lost = 0;
  const asking = (async () => {
    while (!isOver) {
      const connection = await RawConnection.open(port).catch(() => undefined);
      if (connection === undefined) return;
      connection.send(TRANSFER);
      const response = await connection.next().catch(() => undefined);
      connection.close();
      if (response === undefined) lost += 1;
      else statuses.add(response.status);
    }
  })();
  await expect.poll(() => statuses.size).toBe(1);
  await server.close();
  isOver = true;
  await asking;
  expect([...statuses].filter((status) => ![201, 503].includes(status))).toEqual([]);
  // On a busy machine, the kernel may accept one more connection just when the server stops listening.
  expect(lost).toBeLessThanOrEqual(1);
});

it('serves the first request on a connection that was open before the server began to close', async () => {
  const { connect, port, server } = await serve(fakeGateway(), {
    settings: { drainGraceMilliseconds: 0, lingerMilliseconds: 600_000, maxDrainMilliseconds: 600_000 },
  });
  const fresh = await connect();
  const closed = server.close();
  await expect.poll(() => isListening(port)).toBe(false);
  fresh.send(TRANSFER);
  const response = await fresh.next();
  expectRecord(response, 503, 'service_unavailable');
  expect(response.headers.get('money-moved')).toBe('no');
  expect(await fresh.rest()).toBe('');
  fresh.close();
  await closed;
});

it('refuses a request whose body arrives after the server stopped accepting requests, and moves no money', async () => {
  const { promise, resolve } = Promise.withResolvers<AnyReply>();
  let begun = 0;
  const created = async (): Promise<AnyReply> => {
    begun += 1;
    return { json: '{}' };
  };
  const gateway = fakeGateway({ list_cards: () => promise, create_transfer: created });
  const { ask, connect, port, server } = await serve(gateway, {
    settings: { drainGraceMilliseconds: 0, maxDrainMilliseconds: 600_000 },
  });
  const held = await connect(bare('GET', '/api/v0.1/core/card'));
  const slow = await connect(TRANSFER.slice(0, -5));
  // By the time a third request gets its response, the server has read both.
  await ask(bare('GET', '/health/live'));
  const closed = server.close();
  await expect.poll(() => isListening(port)).toBe(false);
  slow.send(TRANSFER.slice(-5));
  const response = await slow.next();
  expectRecord(response, 503, 'service_unavailable');
  expect([response.headers.get('money-moved'), begun]).toEqual(['no', 0]);
  resolve({ json: '{}' });
  expect((await held.next()).status).toBe(200);
  await closed;
});
