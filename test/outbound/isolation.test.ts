import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startWebhookTarget } from '../cli/webhook-target.ts';
import { useOwnService } from '../harness/service.ts';
import { type Behaviour, type Endpoint, listen, perRequest } from './endpoint.ts';

const service = useOwnService('It would deliver to webhooks of other files.');

/** Writes for as long as the client reads. */
const endless = (socket: Socket): void => {
  const more = (): void => {
    while (!socket.destroyed && socket.write('x'.repeat(1000)));
    socket.once('drain', more);
  };
  socket.write('HTTP/1.1 200 OK\r\n\r\n');
  more();
};

const drip = (socket: Socket): void => {
  socket.write('HTTP/1.1 200 OK\r\nX-A: ');
  const timer = setInterval(() => socket.write('x'), 50);
  socket.once('close', () => clearInterval(timer));
};

/** The behavior of each endpoint, and the result that the service must record. Nothing listens on port 1. */
const HOSTILE: Readonly<Record<string, readonly [Behaviour, object]>> = {
  silent: [() => undefined, { error: 'answer_timeout', status: null }],
  drip: [perRequest(drip), { error: 'answer_timeout', status: null }],
  handshake: [() => undefined, { error: 'connect_timeout', status: null }],
  endless: [perRequest(endless), { error: null, status: 200 }],
  reset: [(socket) => socket.resetAndDestroy(), { error: 'connection_lost', status: null }],
  headers: [
    perRequest((socket) => socket.write(`HTTP/1.1 200 OK\r\nX-A: ${'x'.repeat(100_000)}\r\n\r\n`)),
    { error: 'connection_lost', status: null },
  ],
  redirect: [
    perRequest((socket) => socket.write('HTTP/1.1 307 X\r\nLocation: http://127.0.0.2/\r\nContent-Length: 0\r\n\r\n')),
    { error: null, status: 307 },
  ],
  broken: [
    perRequest((socket) => socket.write('HTTP/1.1 500 X\r\nContent-Length: 3\r\n\r\nno!')),
    { error: null, status: 500, response_start: 'no!' },
  ],
  refused: [() => undefined, { error: 'connection_refused', status: null }],
};

const urlOf = (name: string, { port }: Endpoint): string =>
  name === 'refused' ? 'http://127.0.0.1:1/' : `http${name === 'handshake' ? 's' : ''}://127.0.0.1:${port}/${name}`;

test('endpoints that do not answer, or that answer with nonsense or too much, do not delay others', async () => {
  const { client } = service();
  const load = () => client.transfers.create({ amount: 1, card_id: 'card_active' });
  const endpoints = new Map<string, Endpoint>();
  const ids = new Map<string, string>();
  for (const [name, [behave]] of Object.entries(HOSTILE)) {
    const endpoint = await listen(behave);
    endpoints.set(name, endpoint);
    const { webhook_id: id } = await client.webhooks.create({ url: urlOf(name, endpoint), concurrency: 100 });
    ids.set(name, id);
  }
  const targets = await Promise.all([startWebhookTarget(), startWebhookTarget()]);
  onTestFinished(async () => void (await Promise.all(targets.map((target) => target.cut()))));
  for (const [index, target] of targets.entries()) {
    await client.webhooks.create({ url: target.url, order: index === 0 ? 'parallel' : 'strict' });
  }
  const sent: string[] = [];

  // While a request waits for the silent endpoint, a newer event must reach the other endpoints. If the machine takes
  // longer than the request lasts, the next request gives the test another try.
  const silent = endpoints.get('silent');
  await expect
    .poll(async () => {
      sent.push((await load()).transfer_id);
      await expect.poll(() => silent?.open()).toBe(1);
      const before = silent?.connections();
      const { transfer_id: id } = await load();
      sent.push(id);
      await expect
        .poll(() => targets.every((target) => target.received.some(({ body }) => body.includes(id))))
        .toBe(true);
      return [silent?.open(), (silent?.connections() ?? 0) - (before ?? 0)];
    })
    .toEqual([1, 0]);

  // Sends many more events. The strict webhook must get them in order.
  for (let time = 0; time < 50; time += 1) sent.push((await load()).transfer_id);
  for (const { received } of targets) {
    const completed = () =>
      received.map(({ body }) => JSON.parse(body)).filter(({ type }) => type === 'transfer.completed');
    await expect.poll(() => completed().length).toBe(sent.length);
    const positions = completed().map(({ position }) => position);
    if (received === targets[1]?.received) expect(positions).toEqual(positions.toSorted((a, b) => a - b));
    expect(new Set(completed().map(({ subject_id: id }) => id))).toEqual(new Set(sent));
  }
  // Each endpoint's result is recorded.
  for (const [name, [, recorded]] of Object.entries(HOSTILE)) {
    await expect
      .poll(async () => (await client.webhooks.attempts(ids.get(name) ?? '')).data.at(-1) ?? null)
      .toMatchObject({ ...recorded, succeeded: name === 'endless' });
  }
  // An endpoint that does not answer has at most one connection with a request, and another that is about to close.
  for (const name of ['silent', 'drip', 'handshake']) expect(endpoints.get(name)?.mostOpen()).toBeLessThanOrEqual(2);
});

test('a redirect is not followed', async () => {
  const { client } = service();
  const inside = await listen(() => undefined, null);
  const location = `http://127.0.0.2:${inside.port}/`;
  const endpoint = await listen(
    perRequest((socket) => socket.write(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`)),
  );
  const { webhook_id: id } = await client.webhooks.create({ url: `http://127.0.0.1:${endpoint.port}/` });
  await client.webhooks.test(id);
  await expect
    .poll(async () => (await client.webhooks.attempts(id)).data)
    .toMatchObject([{ status: 302, succeeded: false, kind: 'test' }]);
  expect(inside.connections()).toBe(0);
});
