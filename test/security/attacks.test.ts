import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Handler } from '../../server/operations/call.ts';
import { expectRecord } from '../harness/expect-record.ts';
import { DEMO_PROGRAM_ID, fakeGateway, nextTaken, OTHER_PROGRAM_ID, startServer } from '../harness/http-server.ts';
import { RawConnection } from '../harness/raw-connection.ts';

const EXPORT = '/api/v0.1/core/transfer/export';
const EXPORTS_MOST = 20;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function ask(port: number, key: string, more = '', path = EXPORT): Promise<RawConnection> {
  const connection = await RawConnection.open(port);
  closers.push(() => connection.close());
  connection.send(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n${more}\r\n`);
  return connection;
}

/** The status of an answer whose body may have no end. */
async function statusOf({ socket }: RawConnection): Promise<number> {
  const chunk = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(chunk.toString('latin1'))?.[1]);
}

describe('a stranger who comes through a proxy on the machine of a sandbox without keys', () => {
  it.each([0, 1, 10])(
    'is refused without a key, also where the word of %i proxies is taken',
    async (trustedProxies) => {
      const { port, server } = await startServer(fakeGateway(), { settings: { trustedProxies } });
      closers.push(server.close);
      const keys = async (headers: readonly string[]) => {
        const connection = await RawConnection.open(port);
        closers.push(() => connection.close());
        // nginx, unless told otherwise, names the service itself as the host.
        const head = ['GET /api/v0.1/operator/key HTTP/1.1', `Host: 127.0.0.1:${port}`, ...headers];
        connection.send(`${head.join('\r\n')}\r\n\r\n`);
        return connection.next();
      };
      expect((await keys([])).status).toBe(200);
      for (const header of [
        'X-Forwarded-For: 127.0.0.1',
        'X-Forwarded-For: 203.0.113.9, 127.0.0.1',
        'Via: 1.1 proxy',
      ]) {
        expectRecord(await keys([header]), 403, 'forbidden');
        expectRecord(await keys([header, 'Authorization: Bearer nonsense']), 401, 'unauthenticated');
        expect((await keys([header, 'Authorization: Bearer operator'])).status).toBe(200);
      }
    },
  );
});

describe('a card program that opens exports and is in no hurry to read them', () => {
  const line = async (): Promise<IteratorResult<string, void>> => {
    await delay(20);
    return { done: false, value: '1,2\r\n' };
  };
  const endless: Handler = async () => ({
    status: 200,
    body: 'a,b\r\n',
    csv: { fileName: 'lines.csv', rest: { next: line } },
  });

  async function serve(keyRatePerSecond: number): Promise<number> {
    const settings = { keyRatePerSecond, maxDrainMilliseconds: 100 };
    const { port, server } = await startServer(fakeGateway({ export_transfers: endless }), { settings });
    closers.push(server.close);
    return port;
  }

  async function openAll(port: number): Promise<readonly RawConnection[]> {
    const opened: RawConnection[] = [];
    for (let count = 0; count < EXPORTS_MOST; count += 1) {
      const connection = await ask(port, 'program');
      expect(await statusOf(connection)).toBe(200);
      opened.push(connection);
    }
    return opened;
  }

  it('has twenty at a time; the next is told to wait, others are served, and one that ends makes room', async () => {
    const port = await serve(1_000);
    const opened = await openAll(port);
    const refused = await (await ask(port, 'program')).next();
    expectRecord(refused, 429, 'rate_limited');
    expect(refused.headers.get('retry-after')).toBe('1');
    // The same program under another key, too: keys are free to make.
    const byOperator = await (await ask(port, 'operator', `Program-Id: ${DEMO_PROGRAM_ID}\r\n`)).next();
    expectRecord(byOperator, 429, 'rate_limited');
    // Nobody else waits for it, and neither does what else the program asks.
    expect(await statusOf(await ask(port, 'operator', `Program-Id: ${OTHER_PROGRAM_ID}\r\n`))).toBe(200);
    expect((await (await ask(port, 'program', '', '/api/v0.1/core/transfer')).next()).status).toBe(200);
    opened[0]?.socket.destroy();
    await expect.poll(async () => statusOf(await ask(port, 'program'))).toBe(200);
  });

  it('does not count those whose caller has gone before it was known', async () => {
    const known = fakeGateway({ export_transfers: endless });
    const { promise: letGo, resolve } = Promise.withResolvers<void>();
    let asked = 0;
    const authenticate: typeof known.authenticate = async (key, deadline) => {
      if (key === 'program') {
        asked += 1;
        await letGo;
      }
      return known.authenticate(key === 'quick' ? 'program' : key, deadline);
    };
    const { port, server } = await startServer({ ...known, authenticate }, { settings: { keyRatePerSecond: 1_000 } });
    closers.push(server.close);
    for (let count = 1; count <= 2 * EXPORTS_MOST; count += 1) {
      const taken = nextTaken();
      const caller = await ask(port, 'program');
      const answering = await taken;
      await expect.poll(() => asked).toBe(count);
      caller.socket.resetAndDestroy();
      await expect.poll(() => answering.destroyed).toBe(true);
    }
    resolve();
    for (let count = 0; count < EXPORTS_MOST; count += 1) expect(await statusOf(await ask(port, 'quick'))).toBe(200);
  });

  it('has as many as it likes where nothing is limited', async () => {
    const port = await serve(0);
    await openAll(port);
    expect(await statusOf(await ask(port, 'program'))).toBe(200);
  });
});
