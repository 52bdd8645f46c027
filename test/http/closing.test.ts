import { afterEach, expect, it } from 'vitest';
import type { Reply } from '../../server/operations/call.ts';
import { expectRecord } from '../harness/expect-record.ts';
import { fakeGateway, startServer, type TestServer } from '../harness/http-server.ts';
import { RawConnection } from '../harness/raw-connection.ts';
import { bare, post } from './cases.ts';

let started: TestServer | undefined;
const open: RawConnection[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) connection.close();
  await started?.server.close();
  started = undefined;
});

async function connect(port: number): Promise<RawConnection> {
  const connection = await RawConnection.open(port);
  open.push(connection);
  return connection;
}

function isListening(port: number): Promise<boolean> {
  return RawConnection.open(port).then(
    (connection) => {
      connection.close();
      return true;
    },
    () => false,
  );
}

const TRANSFER = post('{"amount":1,"card_id":"c"}');

it('a server that closes says first that it is not ready, and serves until its callers know', async () => {
  started = await startServer(fakeGateway(), {
    settings: { maxDrainMilliseconds: 600_000, drainGraceMilliseconds: 600_000, drainQuietMilliseconds: 2_500 },
  });
  const { port, server } = started;
  const kept = await connect(port);
  kept.send(TRANSFER);
  expect((await kept.next()).headers.get('connection')).toBe('keep-alive');
  const closed = server.close();

  const probe = await connect(port);
  probe.send(bare('GET', '/health/ready'));
  const notReady = await probe.next();
  expectRecord(notReady, 503, 'service_unavailable');
  expect(notReady.body).toContain('The service is closing.');
  expect([notReady.headers.get('retry-after'), notReady.headers.get('should-retry')]).toEqual(['1', 'true']);

  for (const connection of [kept, await connect(port)]) {
    connection.send(TRANSFER);
    const answer = await connection.next();
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    expect(await connection.rest()).toBe('');
  }
  // Nobody has asked for a while: then it goes.
  await closed;
  await expect(RawConnection.open(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

it('a server that is asked all the time closes all the same', async () => {
  started = await startServer(fakeGateway(), {
    settings: { drainGraceMilliseconds: 300, drainQuietMilliseconds: 200 },
  });
  const { port, server } = started;
  let isOver = false;
  const statuses = new Set<number>();
  const asking = (async () => {
    while (!isOver) {
      const connection = await RawConnection.open(port).catch(() => undefined);
      if (connection === undefined) return;
      connection.send(TRANSFER);
      statuses.add((await connection.next()).status);
      connection.close();
    }
  })();
  await expect.poll(() => statuses.size).toBe(1);
  await server.close();
  isOver = true;
  await asking;
  expect([...statuses].filter((status) => ![200, 503].includes(status))).toEqual([]);
});

it('a connection on which nothing was asked yet is given the time to ask, and gets an answer', async () => {
  started = await startServer(fakeGateway(), {
    settings: { drainGraceMilliseconds: 0, lingerMilliseconds: 600_000, maxDrainMilliseconds: 600_000 },
  });
  const { port, server } = started;
  const fresh = await connect(port);
  const closed = server.close();
  await expect.poll(() => isListening(port)).toBe(false);
  fresh.send(TRANSFER);
  const answer = await fresh.next();
  expectRecord(answer, 503, 'service_unavailable');
  expect(answer.headers.get('money-moved')).toBe('no');
  expect(await fresh.rest()).toBe('');
  for (const connection of open) connection.close();
  await closed;
});

it('a request whose body comes when nothing more is taken moves nothing, and is told so', async () => {
  const { promise, resolve } = Promise.withResolvers<Reply>();
  let begun = 0;
  const created = async (): Promise<Reply> => {
    begun += 1;
    return { status: 201, body: '{}' };
  };
  const gateway = fakeGateway({ list_cards: () => promise, create_transfer: created });
  started = await startServer(gateway, { settings: { drainGraceMilliseconds: 0, maxDrainMilliseconds: 600_000 } });
  const { port, server } = started;
  const [held, slow] = [await connect(port), await connect(port)];
  held.send(bare('GET', '/api/v0.1/core/card'));
  slow.send(TRANSFER.slice(0, -5));
  // Both have been taken in by the time a third is answered.
  const third = await connect(port);
  third.send(bare('GET', '/health/live'));
  await third.next();
  const closed = server.close();
  await expect.poll(() => isListening(port)).toBe(false);
  slow.send(TRANSFER.slice(-5));
  const answer = await slow.next();
  expectRecord(answer, 503, 'service_unavailable');
  expect([answer.headers.get('money-moved'), begun]).toEqual(['no', 0]);
  resolve({ status: 200, body: '{}' });
  expect((await held.next()).status).toBe(200);
  await closed;
});
