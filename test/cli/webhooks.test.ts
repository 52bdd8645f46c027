import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { exampleReply } from '../../contract/examples.ts';
import type { AttemptRecord, WebhookRecord } from '../../sdk/client.ts';
import { startCannedService } from '../sdk/canned-service.ts';
import { type Outcome, runHere } from './in-process.ts';

const service = await startCannedService();
afterAll(() => service.close());
beforeEach(() => service.play());

const type = (text: string): Promise<Outcome> => runHere(service.url, text.split(' '));

const WEBHOOK: WebhookRecord = Object(exampleReply('get_webhook'));
const QUEUED = { webhook_id: 'wh_1', event_id: 'evt_1', state: 'waiting' };

function attempt(fields: Partial<AttemptRecord>): AttemptRecord {
  const [example] = Object(exampleReply('list_webhook_attempts')).data;
  return { ...example, webhook_id: 'wh_1', event_id: 'evt_1', ...fields };
}

const ok = (body: object) => ({ status: 200, body });
const pageOf = (...data: object[]) => ok({ data, next_cursor: null });
const received = () => service.received.map(({ method, url }) => `${method} ${url}`);

describe('webhooks test', () => {
  const TESTED = attempt({ kind: 'test', type: 'webhook.tested', response_start: 'fine,\nthank you\u0007' });

  test('waits for the attempt, and prints the status, the duration and the start of the response', async () => {
    service.play(ok(QUEUED), pageOf(), pageOf(TESTED));
    expect(await type('webhooks test wh_1')).toEqual({
      exitCode: 0,
      output: `event_id: evt_1
type:     webhook.tested
result:   delivered: 204 in 84 ms
address:  203.0.113.7
response: fine, thank you\\u0007
`,
      errors: '',
    });
    expect(received()).toEqual([
      'POST /api/v0.1/core/webhook/wh_1/test',
      'GET /api/v0.1/core/webhook/wh_1/attempt?event_id=evt_1&limit=100',
      'GET /api/v0.1/core/webhook/wh_1/attempt?event_id=evt_1&limit=100',
    ]);
  });

  test.each([
    [{ status: 500, error: null, response_start: 'no' }, 'failed: 500 in 84 ms', 'response: no'],
    [
      {
        status: null,
        error: 'connection_refused',
        address: null,
        message: 'Nothing listens there.',
        response_start: null,
      },
      'failed: connection_refused in 84 ms',
      'response: Nothing listens there.',
    ],
  ])('exits with 1 if the attempt failed: %j', async (fields, result, response) => {
    service.play(ok(QUEUED), pageOf({ ...TESTED, succeeded: false, ...fields }));
    const { exitCode, output } = await type('webhooks test wh_1');
    expect(exitCode).toBe(1);
    expect(output).toContain(`result:   ${result}\n`);
    expect(output).toContain(`${response}\n`);
  });

  test('exits with 3 if no attempt ends in time, and prints how to find it later', async () => {
    service.play(ok(QUEUED), pageOf());
    const { exitCode, errors } = await type('webhooks test wh_1 --operator --wait 1');
    expect(exitCode).toBe(3);
    expect(errors).toBe(
      'There is no result after 1 s. Check again later:\n' +
        '  transfer-service webhooks attempts wh_1 --event evt_1 --operator\n',
    );
  });

  test('prints the attempt as JSON with --json', async () => {
    service.play(ok(QUEUED), pageOf(TESTED));
    expect(JSON.parse((await type('--json webhooks test wh_1')).output)).toEqual(TESTED);
  });
});

describe('webhooks resend', () => {
  const event = attempt({ attempt_id: 'att_1', kind: 'event', succeeded: false, status: 500 });
  const first = attempt({ attempt_id: 'att_2', kind: 'resend', succeeded: false, status: 501 });
  const again = attempt({ attempt_id: 'att_4', kind: 'resend' });
  const retry = attempt({ attempt_id: 'att_3', kind: 'retry', succeeded: false, status: 502 });

  test('prints the attempt that the command caused, not another one for the same event', async () => {
    service.play(pageOf(first, event), ok(QUEUED), pageOf(retry, first, event), pageOf(again, retry, first, event));
    const { exitCode, output } = await type('webhooks resend wh_1 --event evt_1');
    expect([exitCode, output]).toEqual([0, expect.stringContaining('result:   delivered: 204 in 84 ms\n')]);
    expect(service.received).toHaveLength(4);
  });

  test('prints the first attempt again for a repeated idempotency key', async () => {
    const replayed = { ...ok(QUEUED), headers: { 'idempotent-replayed': 'true' } };
    service.play(pageOf(first, event), replayed, pageOf(first, event));
    const { exitCode, output } = await type('webhooks resend wh_1 --event evt_1 --idempotency-key k');
    expect([exitCode, output]).toEqual([1, expect.stringContaining('failed: 501 in 84 ms\n')]);
  });
});

describe('an empty list names the next step', () => {
  test.each([
    ['webhooks list', 'No webhooks. Create one, or try events out on this machine without one:\n'],
    ['webhooks attempts wh_1 --operator', '  transfer-service webhooks test wh_1 --operator\n'],
  ])('%s', async (text, advice) => {
    service.play(pageOf());
    expect((await type(text)).output).toContain(advice);
  });

  test.each([
    'webhooks list --operator --status paused',
    'webhooks attempts wh_1 --failed',
    'webhooks attempts wh_1 --succeeded',
  ])('names no next step if the list was filtered: %s', async (text) => {
    service.play(pageOf());
    expect((await type(text)).output).toMatch(/^No (webhooks|attempts) match these filters.\n$/);
  });
});

describe('webhooks show', () => {
  test.each<[Partial<WebhookRecord>, readonly string[]]>([
    [{}, []],
    [
      { status: 'paused', status_reason: null, next_attempt_at: '2026-01-31T10:45:00.000Z' },
      ['Only the oldest event is tried, next at 2026-01-31 10:45:00 UTC;', 'webhooks attempts wh_1 --failed\n'],
    ],
    [
      { status: 'disabled', status_reason: 'gone' },
      ['Nothing is sent: the URL responded with 410 Gone.', 'webhooks update wh_1 --status enabled --resume now\n'],
    ],
    [{ status: 'disabled', status_reason: 'failing' }, ['Nothing is sent: every attempt failed for 120 hours.']],
    [{ dead: 1 }, ['1 event is undelivered', 'webhooks replay wh_1 --only failed --from <time>\n']],
  ])('explains how to fix a webhook that is not sending: %j', async (fields, advice) => {
    service.play(ok({ ...WEBHOOK, webhook_id: 'wh_1', ...fields }));
    const { output } = await type('webhooks show wh_1');
    const [, after = ''] = output.split('\n\n');
    for (const text of advice) expect(after).toContain(text);
    expect(after === '').toBe(advice.length === 0);
  });

  test('shows its secrets, its replay and its times in words', async () => {
    const secret = { secret_id: 'sec_2', created_at: WEBHOOK.created_at, expires_at: null };
    const old = { ...secret, secret_id: 'sec_1', expires_at: '2026-02-01T09:30:00.000Z' };
    const replay = Object(exampleReply('replay_webhook'));
    service.play(ok({ ...WEBHOOK, secrets: [secret, old], replay: { ...replay, state: 'running', sent: 7 } }));
    const { output } = await type('webhooks show wh_1');
    expect(output).toContain('sec_2, sec_1 until 2026-02-01 09:30:00 UTC\n');
    expect(output).toContain(
      'failed events of 2026-01-30 22:00:00 UTC to 2026-01-31 06:00:00 UTC: at 20 of 42, 7 sent\n',
    );
    expect(output).not.toMatch(/\dT\d/);
  });
});

describe('times', () => {
  test.each([
    ['6h', 6],
    ['90m', 1.5],
    ['2d', 48],
  ])('--from %s means that long ago', async (text, hours) => {
    service.play(ok(Object(exampleReply('replay_webhook'))));
    const before = Date.now();
    await type(`webhooks replay wh_1 --only all --from ${text}`);
    const { from, to, only } = JSON.parse(service.received[0]?.body ?? '');
    expect(only).toBe('all');
    expect(Date.parse(from)).toBeGreaterThanOrEqual(before - hours * 3_600_000);
    expect(Date.parse(to) - Date.parse(from)).toBeGreaterThanOrEqual(hours * 3_600_000 - 60_000);
    expect(Date.parse(to)).toBeLessThanOrEqual(Date.now());
  });

  test('--previous-until 2h means two hours from now', async () => {
    service.play(ok(Object(exampleReply('roll_webhook_secret'))));
    const before = Date.now();
    await type('webhooks roll-secret wh_1 --previous-until 2h');
    const { previous_until: end } = JSON.parse(service.received[0]?.body ?? '');
    expect(Date.parse(end)).toBeGreaterThanOrEqual(before + 7_200_000);
  });
});

describe('the command refuses without a request', () => {
  test.each([
    ['webhooks create', "missing required argument 'url'"],
    ['webhooks create https://a.example --type transfer.complete', 'It must be a type such as transfer.completed'],
    ['webhooks create https://a.example --header Authorization', 'It must be a name and a value'],
    ['webhooks create https://a.example --rate many', 'It must be a whole number.'],
    ['webhooks list --status paused', '--status is only for --operator'],
    ['webhooks update wh_1', 'add what to change, such as --status enabled'],
    ['webhooks update wh_1 --remove url', 'Allowed fields are description, types, rate.'],
    ['webhooks update wh_1 --rate 5 --remove rate', 'rate cannot be set and removed in the same request'],
    ['webhooks replay wh_1', "required option '--from <time>' not specified"],
    ['webhooks replay wh_1 --from yesterday', 'It must be a time in UTC such as'],
    ['webhooks replay wh_1 --from 1h --to 2h', '--from must be before --to'],
    ['webhooks attempts wh_1 --failed --succeeded', 'cannot be used with option'],
  ])('%s', async (text, message) => {
    const { exitCode, errors } = await type(text);
    expect(exitCode).toBe(2);
    expect(errors).toContain(message);
    expect(service.received).toEqual([]);
  });
});
