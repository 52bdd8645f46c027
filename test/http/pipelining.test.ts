import { describe, expect, it } from 'vitest';
import type { AnyReply } from '../../server/calls/call.ts';
import { fakeGateway, nextTaken, serve } from '../harness/http-server.ts';
import { bare } from '../harness/raw-connection.ts';

const LIST = bare('GET', '/api/v0.1/core/card');
const LIVE = bare('GET', '/health/live');

/** A request as long as one with an API key, more than 128 bytes. */
const long = (path: string) => bare('GET', path, ['Host: localhost', `X-Padding: ${'0'.repeat(93)}`]);

/**
 * Returns a server whose list_cards waits until `release` is called, a connection to it, and the server's side of the
 * connection.
 */
async function held() {
  const { promise, resolve } = Promise.withResolvers<AnyReply>();
  const { connect } = await serve(fakeGateway({ list_cards: () => promise }), {
    // No timeout may end a request or a connection.
    settings: { headTimeoutMilliseconds: 600_000, requestTimeoutMilliseconds: 600_000, maxDrainMilliseconds: 0 },
  });
  const taken = nextTaken();
  const connection = await connect();
  return { connection, socket: await taken, release: () => resolve({ json: '{"held":true}' }) };
}

/** Waits until the server has read nothing for several turns of its loop, or has closed the connection. */
async function untilStill(socket: { readonly bytesRead: number; readonly destroyed: boolean }): Promise<void> {
  for (let seen = -1, still = 0; still < 200 && !socket.destroyed; still += 1) {
    if (seen !== socket.bytesRead) still = 0;
    seen = socket.bytesRead;
    await new Promise((turn) => setImmediate(turn));
  }
}

describe('requests pipelined while a request is in progress', () => {
  it.each([
    ['short', LIVE],
    ['as long as a request with a key', long('/health/live')],
  ])('are not all read: %s', async (_what, request) => {
    const { connection, socket } = await held();
    connection.send(`${LIST}${request.repeat(20_000)}`);
    await expect.poll(() => socket.bytesRead, { timeout: 60_000 }).toBeGreaterThan(0);
    await untilStill(socket);
    expect({ isBounded: socket.destroyed || socket.bytesRead < 262_144, read: socket.bytesRead }).toMatchObject({
      isBounded: true,
    });
  });

  it('all get their responses in order when it ends, no matter how many', async () => {
    const { connection, socket, release } = await held();
    const count = 2_000;
    connection.send(long('/api/v0.1/core/card') + long('/health/live').repeat(count));
    await untilStill(socket);
    expect(socket.bytesRead).toBeLessThan(262_144);
    release();
    expect((await connection.next()).body).toBe('{"held":true}');
    for (let at = 0; at < count; at += 1) expect((await connection.next()).status).toBe(200);
    connection.send(LIST);
    expect((await connection.next()).body).toBe('{"held":true}');
  });

  it('are not all read after the last response of the connection', async () => {
    const { connection, socket } = await held();
    // HTTP/1.0 has no chunks, so the connection ends after the response.
    const last = 'POST / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n';
    connection.send(`${last}${long('/health/live').repeat(20_000)}`);
    expect((await connection.next()).status).toBe(400);
    await untilStill(socket);
    expect(socket.destroyed || socket.bytesRead < 262_144).toBe(true);
  });
});
