import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { listen, OK, perRequest, replying } from './endpoint.ts';
import { countConnections, openTestSender, outcomeOf, sendTo } from './sender.ts';

const ALLOWED = ['127.0.0.1', '::1'];

describe('a connection', () => {
  test('is reused for the same host and port, even by a different webhook', async () => {
    const endpoint = await listen(replying(OK));
    const sender = openTestSender({ allowedNetworks: ALLOWED });
    for (const path of ['a', 'b', 'c']) {
      expect(outcomeOf(await sendTo(sender, `http://127.0.0.1:${endpoint.port}/${path}`))).toBe(200);
    }
    expect(endpoint.connections()).toBe(1);
    expect(outcomeOf(await sendTo(sender, `http://localhost:${endpoint.port}/`))).toBe(200);
    expect(endpoint.connections()).toBe(2);
  });

  test('is replaced after its maximum life', async () => {
    const endpoint = await listen(replying(OK));
    const sender = openTestSender({ allowedNetworks: ALLOWED, limits: { maxConnectionMilliseconds: 0 } });
    for (let time = 0; time < 3; time += 1) await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`);
    expect(endpoint.connections()).toBe(3);
    await expect.poll(endpoint.open).toBe(0);
  });

  test('is closed after its maximum life or idle time', async () => {
    for (const limits of [{ maxConnectionMilliseconds: 100 }, { maxIdleMilliseconds: 100 }]) {
      const endpoint = await listen(replying(OK));
      const sender = openTestSender({ allowedNetworks: ALLOWED, limits });
      await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`);
      await expect.poll(endpoint.open).toBe(0);
      expect(outcomeOf(await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`))).toBe(200);
    }
  });

  test('is not kept if enough others are idle', async () => {
    const waiting: Socket[] = [];
    const endpoint = await listen(
      perRequest((socket) => {
        waiting.push(socket);
        if (waiting.length === 3) for (const each of waiting) each.write(OK);
      }),
    );
    const sender = openTestSender({ allowedNetworks: ALLOWED, limits: { maxIdleConnections: 2 } });
    const sent = Array.from({ length: 3 }, () => sendTo(sender, `http://127.0.0.1:${endpoint.port}/`));
    for (const answer of await Promise.all(sent)) expect(outcomeOf(answer)).toBe(200);
    await expect.poll(endpoint.open).toBe(2);
    expect(endpoint.mostOpen()).toBe(3);
  });

  test('is replaced if it ended while it was idle, and the request is sent again', async () => {
    const endpoint = await listen(
      perRequest((socket, count) => (count === 1 ? socket.write(OK) : socket.resetAndDestroy())),
    );
    const sender = openTestSender({ allowedNetworks: ALLOWED });
    for (let time = 0; time < 3; time += 1) {
      expect(outcomeOf(await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`))).toBe(200);
    }
    expect(endpoint.connections()).toBe(3);
  });

  test('is not replaced if it is lost after an answer began, because the receiver has the request', async () => {
    const endpoint = await listen(
      perRequest((socket, count) => {
        if (count === 1) socket.write(OK);
        else socket.write('HTTP/1.1 103 Early Hints\r\n\r\n', () => setImmediate(() => socket.resetAndDestroy()));
      }),
    );
    const sender = openTestSender({ allowedNetworks: ALLOWED });
    expect(outcomeOf(await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`))).toBe(200);
    expect(outcomeOf(await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`))).toBe('connection_lost');
    expect(endpoint.connections()).toBe(1);
  });

  test('is not replaced if it was new, however often it is lost', async () => {
    const endpoint = await listen(perRequest((socket) => socket.resetAndDestroy()));
    const sender = openTestSender({ allowedNetworks: ALLOWED });
    for (let time = 0; time < 3; time += 1) {
      expect(outcomeOf(await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`))).toBe('connection_lost');
    }
    expect(endpoint.connections()).toBe(3);
  });

  test('is not kept if the server announces that it will close it soon', async () => {
    const endpoint = await listen(replying('HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 0\r\n\r\n'));
    const sender = openTestSender({ allowedNetworks: ALLOWED });
    await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`);
    await expect.poll(endpoint.open).toBe(0);
  });

  test('is not reused if it received more than one answer', async () => {
    const forged = 'HTTP/1.1 500 Forged\r\nContent-Length: 0\r\n\r\n';
    const endpoint = await listen(perRequest((socket, count) => socket.write(count === 1 ? `${OK}${forged}` : OK)));
    const sender = openTestSender({ allowedNetworks: ALLOWED });
    for (let time = 0; time < 3; time += 1) {
      expect(outcomeOf(await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`))).toBe(200);
    }
  });
});

test('each request opens a connection if the sender may keep none, and no request is repeated when a connection closes', async () => {
  const endpoint = await listen(perRequest((socket, count) => socket.end(count === 1 ? OK : '')));
  const sender = openTestSender({ allowedNetworks: ALLOWED, limits: { maxIdleConnections: 0 } });
  for (const connections of [1, 2, 3]) {
    expect(outcomeOf(await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`))).toBe(200);
    expect(endpoint.connections()).toBe(connections);
  }
  await expect.poll(endpoint.open).toBe(0);
});

describe('an aborted request', () => {
  test('opens no connection before it is sent', async () => {
    const endpoint = await listen(replying(OK));
    const connections = countConnections();
    const sender = openTestSender({ allowedNetworks: ALLOWED });
    const answer = await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`, AbortSignal.abort());
    expect(answer).toMatchObject({ error: 'aborted', message: 'The request was aborted.' });
    expect([connections(), endpoint.received()]).toEqual([0, '']);
  });

  test.each([
    ['while it waits for an answer', ''],
    ['while it reads the answer', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc'],
  ])('closes its connection %s', async (_, head) => {
    const stopping = new AbortController();
    const endpoint = await listen(
      perRequest((socket) => {
        socket.write(head);
        stopping.abort();
      }),
    );
    const sender = openTestSender({ allowedNetworks: ALLOWED });
    expect(outcomeOf(await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`, stopping.signal))).toBe('aborted');
    await expect.poll(endpoint.open).toBe(0);
  });

  test('ends at once while it is connecting', async () => {
    const stopping = new AbortController();
    // The endpoint does not answer the handshake.
    const endpoint = await listen(() => stopping.abort());
    const sender = openTestSender({ allowedNetworks: ALLOWED });
    expect(outcomeOf(await sendTo(sender, `https://127.0.0.1:${endpoint.port}/`, stopping.signal))).toBe('aborted');
  });

  test('writes nothing if it is aborted before its connection is ready', async () => {
    const endpoint = await listen(replying(OK));
    const sender = openTestSender({ allowedNetworks: ALLOWED });
    const url = `http://127.0.0.1:${endpoint.port}/`;
    let asked = 0;
    const isWanted = (): boolean => {
      asked += 1;
      return false;
    };
    expect(outcomeOf(await sendTo(sender, url))).toBe(200);
    const received = endpoint.received();
    // First on an idle connection, then on a new one.
    for (const count of [1, 2]) {
      expect(outcomeOf(await sender.send({ method: 'POST', url, headers: {}, body: 'unwanted', isWanted }))).toBe(
        'aborted',
      );
      expect(asked).toBe(count);
    }
    await expect.poll(endpoint.open).toBe(0);
    expect(endpoint.received()).toBe(received);
  });

  test('is not affected if it had already ended', async () => {
    const endpoint = await listen(replying(OK));
    const sender = openTestSender({ allowedNetworks: ALLOWED });
    const stopping = new AbortController();
    await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`, stopping.signal);
    stopping.abort();
    expect(outcomeOf(await sendTo(sender, `http://127.0.0.1:${endpoint.port}/`))).toBe(200);
    expect(endpoint.connections()).toBe(1);
  });
});

test('closing a sender ends idle connections, requests and handshakes, and prevents new requests', async () => {
  const idle = await listen(replying(OK));
  const silent = await listen(() => undefined);
  const sender = openTestSender({ allowedNetworks: ALLOWED });
  await sendTo(sender, `http://127.0.0.1:${idle.port}/`);
  const waiting = ['http', 'https'].map((scheme) => sendTo(sender, `${scheme}://127.0.0.1:${silent.port}/`));
  await expect.poll(silent.connections).toBe(2);
  sender.close();
  for (const answer of await Promise.all(waiting)) expect(outcomeOf(answer)).toBe('aborted');
  await expect.poll(() => idle.open() + silent.open()).toBe(0);
  const connections = countConnections();
  expect(outcomeOf(await sendTo(sender, `http://127.0.0.1:${idle.port}/`))).toBe('aborted');
  expect(connections()).toBe(0);
});

test('a hundred endpoints that never answer do not delay one that does', async () => {
  const silent = await listen(() => undefined);
  const healthy = await listen(replying(OK));
  const sender = openTestSender({ allowedNetworks: ALLOWED });
  let waiting = 0;
  const stuck = Array.from({ length: 100 }, async (_, index) => {
    waiting += 1;
    await sendTo(sender, `http${index % 2 === 0 ? '' : 's'}://127.0.0.1:${silent.port}/`);
    waiting -= 1;
  });
  await expect.poll(silent.connections).toBe(100);
  for (let time = 0; time < 20; time += 1) {
    expect(outcomeOf(await sendTo(sender, `http://127.0.0.1:${healthy.port}/`))).toBe(200);
  }
  expect(waiting).toBe(100);
  sender.close();
  await Promise.all(stuck);
});
