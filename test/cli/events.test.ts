import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { exampleEvent } from '../../contract/events/catalogue.ts';
import { newWebhookSecret, verifyWebhook } from '../../sdk/client.ts';
import { type Canned, deadUrl, errorResponse, startCannedService } from '../sdk/canned-service.ts';
import { type Outcome, runHere } from './in-process.ts';
import { startWebhookTarget } from './webhook-target.ts';

const SECRET = newWebhookSecret();

const service = await startCannedService();
const target = await startWebhookTarget();
afterEach(() => {
  target.received.length = 0;
  target.respond = () => [200, ''];
});
afterAll(async () => {
  await target.cut();
  await service.close();
});

const HEAD: Canned = { status: 200, body: { data: [], next_cursor: null, position: 41, number: 1041 } };

/** Returns an event at a position. */
function event(position: number, type: Parameters<typeof exampleEvent>[0] = 'transfer.completed') {
  return { ...exampleEvent(type), event_id: `evt_${position}`, position, number: 1000 + position };
}

/** Returns a stream of events that stays open unless it is cut. */
function stream(events: readonly { readonly position: number; readonly type: string }[], ends?: 'cut'): Canned {
  const chunks = events.map((one) => `id: ${one.position}\nevent: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`);
  return { chunks, contentType: 'text/event-stream', ends: ends ?? 'without an end' };
}

/**
 * Runs a command until a condition holds, and then ends it as Ctrl-C does. `onError` receives its output on standard
 * error.
 */
async function runUntil(
  condition: () => void,
  commandLine: string,
  environment: Parameters<typeof runHere>[2] = {},
  onError?: (text: string) => void,
): Promise<Outcome> {
  const controller = new AbortController();
  const outcome = runHere(service.url, commandLine.split(' '), environment, controller.signal, onError);
  await Promise.race([vi.waitFor(condition, { timeout: 120_000, interval: 10 }), outcome]);
  controller.abort();
  return outcome;
}

/** Returns a condition that holds after `count` requests. More requests may follow before the command ends. */
function whenReceived({ received }: { readonly received: readonly unknown[] }, count: number): () => void {
  return () => expect(received.length).toBeGreaterThanOrEqual(count);
}

/** Runs `events tail` until it has read these events. */
async function tail(events: ReturnType<typeof event>[], options = ''): Promise<Outcome> {
  let isRead = false;
  const chunks = function* () {
    yield* (stream(events) as { chunks: string[] }).chunks;
    // The second stream is requested after the command has read the first.
    isRead = false;
  };
  service.play(HEAD, { chunks: chunks(), contentType: 'text/event-stream' }, stream([]));
  service.onRequest = () => {
    isRead = service.received.length === 3;
  };
  return runUntil(() => expect(isRead).toBe(true), `events tail ${options}`.trim());
}

describe('events tail', () => {
  test('prints one line for each event, and how to continue', async () => {
    const events = [
      event(42),
      event(43, 'switch.changed'),
      event(44, 'funding.low'),
      event(45, 'error.recorded'),
      event(46, 'card.created'),
      { ...event(47), type: 'moon.landed' as never, data: null as never },
    ];
    const { exitCode, output, errors } = await tail(events);
    expect(exitCode).toBe(0);
    const lines = output.split('\n');
    expect(lines).toHaveLength(events.length + 1);
    expect(lines[0]).toMatch(
      /^2026-01-31 09:30:00 UTC {6}42 {2}transfer\.completed {2}tr_[0-9a-f]{32} {2}10\.00 USD {2}card_active$/,
    );
    expect(lines[1]).toMatch(/ {2}disabled$/);
    expect(lines[2]).toMatch(/ USD available$/);
    expect(lines[3]).toMatch(/ {2}\d+ × [a-z_]+$/);
    expect(lines[5]).toMatch(/ {6}47 {2}moon\.landed {7}/);
    expect(errors).toContain('Reading events after 41. Press Ctrl-C to stop.\n');
    expect(errors).toMatch(/ended the stream\. Continuing after 47 in 0\.\d s\.\n/);
    expect(errors).toMatch(/To continue: --after 47\n$/);
  });

  test('prints JSON, one line for each event', async () => {
    const events = [event(42), event(43, 'switch.changed')];
    const { output } = await tail(events, '--json');
    expect(
      output
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(events);
  });

  test('accepts a position and types', async () => {
    service.play(stream([event(8)]));
    const { output } = await runUntil(
      whenReceived(service, 1),
      'events tail --after 7 --type transfer.*,card.created --type key.* --subject tr_1',
    );
    expect(output).toMatch(/^$|8 {2}transfer/);
    expect(service.received[0]?.url).toBe(
      '/api/v0.1/core/event?type=transfer.*%2Ccard.created%2Ckey.*&subject_id=tr_1&after=7',
    );
  });

  test('shows the number and the program of each event with --all-programs', async () => {
    const one = event(42);
    const numbered = `id: 1042\ndata: ${JSON.stringify(one)}\n\n`;
    service.play(HEAD, { chunks: [numbered], contentType: 'text/event-stream' }, stream([]));
    const { output, errors } = await runUntil(whenReceived(service, 3), 'events tail --all-programs');
    expect(service.received.map(({ url }) => url)).toEqual([
      '/api/v0.1/operator/event?limit=1',
      '/api/v0.1/operator/event?after=1041',
      '/api/v0.1/operator/event?after=1042',
    ]);
    expect(output).toMatch(/^ {2}1042 {2}prog_[0-9a-f]{32} {2}2026-/);
    expect(errors).toMatch(/To continue: --after 1042\n$/);
  });

  test('refuses a misspelled type', async () => {
    const { exitCode, errors } = await runHere(service.url, 'events tail --type transfer.complete'.split(' '));
    expect(exitCode).toBe(2);
    expect(errors).toContain('It must be a type such as transfer.completed');
  });

  test('reports a repeated failure once', async () => {
    service.play(stream([event(1)], 'cut'), { status: 502, body: 'Bad Gateway' });
    const { errors } = await runUntil(whenReceived(service, 5), 'events tail --after 0');
    expect(errors.match(/has status 502/g)).toHaveLength(1);
  });

  test('reports events that it cannot read, and exits with the same codes as other commands', async () => {
    service.play(errorResponse({ Status: 410, Code: 'events_expired', Type: 'Request Error' }));
    const expired = await runHere(service.url, ['events', 'tail', '--after', '0']);
    expect(expired.exitCode).toBe(1);
    expect(expired.errors).toContain('Code:        events_expired (');
    service.play(stream([event(3)]));
    const gap = await runHere(service.url, ['events', 'tail', '--after', '1']);
    expect(gap.exitCode).toBe(3);
    expect(gap.errors).toContain('error: Events are missing: the service sent the event 3 after the event 1.\n');
    const dead = await runHere(await deadUrl(), ['events', 'tail']);
    expect(dead.exitCode).toBe(4);
    expect(dead.errors).toContain('Is the service running?');
  });
});

test.each([
  ['events list --after 41 --type transfer.* --limit 5', '/api/v0.1/core/event?limit=5&after=41&type=transfer.*'],
  [
    'events list --type transfer.*,card.created --type key.*',
    '/api/v0.1/core/event?type=transfer.*%2Ccard.created%2Ckey.*',
  ],
  ['events search --after 1041 --program prog_1', '/api/v0.1/operator/event?after=1041&program_id=prog_1'],
])('%s continues after a position', async (commandLine, url) => {
  service.play(HEAD);
  expect((await runHere(service.url, commandLine.split(' '))).output).toMatch(/^No events/);
  const [received = '', expected] = [service.received[0]?.url, url].map((one) => one?.split(/[?&]/).sort().join(' '));
  expect(received).toBe(expected);
});

describe('events listen', () => {
  const LISTEN = `events listen --forward-to ${target.url} --after 0`;

  test('forwards each event once, in order, as a webhook that other libraries can verify', async () => {
    let inProgress = 0;
    target.respond = async () => {
      inProgress += 1;
      expect(inProgress).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 20));
      inProgress -= 1;
      return [204, ''];
    };
    const events = [event(1), event(2, 'card.created'), event(3)];
    service.play(stream(events.slice(0, 2), 'cut'), stream(events.slice(2)));
    const { exitCode, output, errors } = await runUntil(whenReceived(target, 3), LISTEN);
    expect(exitCode).toBe(0);
    const [, secret = ''] = /^Webhook secret: (whsec_\S+)$/m.exec(errors) ?? [];
    for (const [index, { headers, body }] of target.received.entries()) {
      const signed = headers as Record<string, string>;
      expect(new Webhook(secret).verify(body, signed)).toEqual(events[index]);
      expect(await verifyWebhook(body, headers, secret)).toEqual(events[index]);
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': `evt_${index + 1}` });
      expect(() => new Webhook(SECRET).verify(body, signed)).toThrow('No matching signature');
    }
    expect(output).toMatch(/^ {5}1 {2}transfer\.completed {2}tr_[0-9a-f]{32} {2}204 in \d+ ms\n/);
    expect(errors).toContain(`Forwarding to ${target.url}\n`);
  });

  test('forwards exactly the bytes that the service sent', async () => {
    const text = JSON.stringify(event(1)).replace(/}}$/, ',"large":90071992547409930, "1":1.0}}');
    const chunks = [`id: 1\ndata: ${text}\n\n`];
    service.play({ chunks, contentType: 'text/event-stream', ends: 'without an end' });
    await runUntil(whenReceived(target, 1), LISTEN);
    expect(target.received[0]?.body).toBe(text);
  });

  test('waits until something listens at the URL', async () => {
    await target.stop();
    service.play(stream([event(1), event(2)]));
    const waiting = Promise.withResolvers<void>();
    const onError = (text: string) => {
      if (text.includes('waiting until something listens there')) waiting.resolve();
    };
    const listening = runUntil(whenReceived(target, 2), `${LISTEN} --secret ${SECRET}`, {}, onError);
    await waiting.promise;
    // Leaves time for about two more failed attempts, which are not reported.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await target.start();
    const { output, errors } = await listening;
    expect(target.received.map(({ headers }) => headers['webhook-id'])).toEqual(['evt_1', 'evt_2']);
    expect(errors.match(/waiting until something listens there/g)).toHaveLength(1);
    expect(errors).toContain('ECONNREFUSED');
    expect(errors).not.toContain(SECRET);
    expect(output).toContain('200 in ');
  });

  test('tries a refused event four times, then continues with the next', async () => {
    target.respond = ({ body }) => (body.includes('"evt_1"') ? [500, 'no\n such <thing>\u0007'] : [200, '']);
    service.play(stream([event(1), event(2)]));
    const { exitCode, output, errors } = await runUntil(whenReceived(target, 5), LISTEN);
    expect(exitCode).toBe(0);
    expect(target.received.map(({ headers }) => headers['webhook-id'])).toEqual([
      'evt_1',
      'evt_1',
      'evt_1',
      'evt_1',
      'evt_2',
    ]);
    expect(output.match(/500 in \d+ ms: no such <thing>\\u0007\n/g)).toHaveLength(4);
    expect(errors).toContain('skipped after 4 attempts; to send it again: --after 0\n');
  });

  test('retries when no response arrives, and follows no redirect', async () => {
    let count = 0;
    target.respond = async () => {
      count += 1;
      if (count > 1) return [count === 2 ? 302 : 200, ''];
      await target.cut();
      await target.start();
      return [200, ''];
    };
    service.play(stream([event(1)]));
    const { output } = await runUntil(whenReceived(target, 3), `${LISTEN} --json`);
    const attempts = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(attempts.map(({ status }) => status)).toEqual([null, 302, 200].slice(0, attempts.length));
    expect(attempts[0]).toMatchObject({ position: 1, event_id: 'evt_1', type: 'transfer.completed' });
    expect(attempts[0].problem).toContain('no response');
  });

  test('takes the secret from the environment', async () => {
    service.play(stream([event(1)]));
    await runUntil(whenReceived(target, 1), LISTEN, { webhookSecret: SECRET });
    const [webhook] = target.received;
    expect(await verifyWebhook(webhook?.body ?? '', webhook?.headers ?? {}, SECRET)).toEqual(event(1));
  });

  test('accepts a URL without a scheme', async () => {
    service.play(stream([event(1)]));
    await runUntil(whenReceived(target, 1), LISTEN.replace('http://', ''));
    expect(target.received).toHaveLength(1);
  });

  test.each([
    ['a secret that is not valid', '--forward-to localhost:1 --secret secret', 'must be whsec_'],
    ['a URL that is not valid', '--forward-to http://', 'must be a URL'],
    ['another scheme', '--forward-to ftp://localhost', 'must be a URL'],
    ['no URL', '', "required option '--forward-to <url>' not specified"],
  ])('refuses %s before it reads anything', async (_, options, message) => {
    service.play(HEAD);
    const { exitCode, errors } = await runHere(service.url, `events listen ${options}`.trim().split(' '));
    expect(exitCode).toBe(2);
    expect(errors).toContain(message);
    expect(service.received).toEqual([]);
  });
});
