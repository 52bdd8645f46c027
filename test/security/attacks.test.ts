import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Handler } from '../../server/calls/call.ts';
import { expectRecord } from '../harness/expect-record.ts';
import {
  DEMO_PROGRAM_ID,
  fakeGateway,
  type HttpTestServer,
  nextTaken,
  OTHER_PROGRAM_ID,
  serve as startServer,
} from '../harness/http-server.ts';
import { bare, type RawConnection } from '../harness/raw-connection.ts';

const EXPORT = '/api/v0.1/core/transfer/export';
const EXPORTS_MOST = 20;

const ask = ({ connect }: HttpTestServer, key: string, more: readonly string[] = [], path = EXPORT) =>
  connect(bare('GET', path, ['Host: localhost', `Authorization: Bearer ${key}`, ...more]));

/** Returns the status of a response that may never end. */
async function statusOf({ socket }: RawConnection): Promise<number> {
  const chunk = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(chunk.toString('latin1'))?.[1]);
}

describe('a request through a proxy on the machine of a sandbox without keys', () => {
  it.each([0, 1, 10])('is refused without a key, even if %i proxies are trusted', async (trustedProxies) => {
    const { ask, port } = await startServer(fakeGateway(), { settings: { trustedProxies } });
    // By default, nginx sends the service's address as the Host, so the Host does not reveal the proxy.
    const keys = (headers: readonly string[]) =>
      ask(bare('GET', '/api/v0.1/operator/key', [`Host: 127.0.0.1:${port}`, ...headers]));
    expect((await keys([])).status).toBe(200);
    for (const header of ['X-Forwarded-For: 127.0.0.1', 'X-Forwarded-For: 203.0.113.9, 127.0.0.1', 'Via: 1.1 proxy']) {
      expectRecord(await keys([header]), 403, 'forbidden');
      expectRecord(await keys([header, 'Authorization: Bearer nonsense']), 401, 'unauthenticated');
      expect((await keys([header, 'Authorization: Bearer operator'])).status).toBe(200);
    }
  });
});

describe('a card program that opens exports and reads them slowly', () => {
  const line = async (): Promise<IteratorResult<string, void>> => {
    await delay(20);
    return { done: false, value: '1,2\r\n' };
  };
  const endless: Handler = async () => ({
    csv: { fileName: 'lines.csv', first: 'a,b\r\n', rest: { next: line } },
  });

  const serve = (keyRatePerSecond: number) =>
    startServer(fakeGateway({ export_transfers: endless }), {
      settings: { keyRatePerSecond, maxDrainMilliseconds: 100 },
    });

  async function openAll(server: HttpTestServer): Promise<readonly RawConnection[]> {
    const opened: RawConnection[] = [];
    for (let count = 0; count < EXPORTS_MOST; count += 1) {
      const connection = await ask(server, 'program');
      expect(await statusOf(connection)).toBe(200);
      opened.push(connection);
    }
    return opened;
  }

  it('has at most twenty, does not affect others, and gets a free slot when one ends', async () => {
    const server = await serve(1_000);
    const opened = await openAll(server);
    const refused = await (await ask(server, 'program')).next();
    expectRecord(refused, 429, 'rate_limited');
    expect(refused.headers.get('retry-after')).toBe('1');
    // Using a different key does not help, because the limit is per program and a program may have many keys.
    const byOperator = await (await ask(server, 'operator', [`Program-Id: ${DEMO_PROGRAM_ID}`])).next();
    expectRecord(byOperator, 429, 'rate_limited');
    // Other programs, and this program's other operations, are not affected.
    expect(await statusOf(await ask(server, 'operator', [`Program-Id: ${OTHER_PROGRAM_ID}`]))).toBe(200);
    expect((await (await ask(server, 'program', [], '/api/v0.1/core/transfer')).next()).status).toBe(200);
    opened[0]?.socket.destroy();
    await expect.poll(async () => statusOf(await ask(server, 'program'))).toBe(200);
  });

  it('is not charged for exports whose callers disconnected before they were authenticated', async () => {
    const known = fakeGateway({ export_transfers: endless });
    const { promise: release, resolve } = Promise.withResolvers<void>();
    let requested = 0;
    const authenticate: typeof known.authenticate = async (key, deadline) => {
      if (key === 'program') {
        requested += 1;
        await release;
      }
      return known.authenticate(key === 'quick' ? 'program' : key, deadline);
    };
    const server = await startServer({ ...known, authenticate }, { settings: { keyRatePerSecond: 1_000 } });
    for (let count = 1; count <= 2 * EXPORTS_MOST; count += 1) {
      const taken = nextTaken();
      const caller = await ask(server, 'program');
      const serverSocket = await taken;
      await expect.poll(() => requested).toBe(count);
      caller.socket.resetAndDestroy();
      await expect.poll(() => serverSocket.destroyed).toBe(true);
    }
    resolve();
    for (let count = 0; count < EXPORTS_MOST; count += 1) expect(await statusOf(await ask(server, 'quick'))).toBe(200);
  });

  it('has no limit if rate limits are off', async () => {
    const server = await serve(0);
    await openAll(server);
    expect(await statusOf(await ask(server, 'program'))).toBe(200);
  });
});
