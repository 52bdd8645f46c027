import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { exampleOf } from '../../../contract/examples.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { readSigningKey, signMessage } from '../../../server/foundation/signature.ts';
import { attemptOf, NOTICE_SECRET, SilentProcessors } from '../../fixtures/processors.ts';
import { ledgerGateway, serve, startHttpServer } from '../../harness/http-server.ts';
import { sendRaw } from '../../harness/raw-request.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';

const server = await useServer();
const processors = new SilentProcessors();
const ledger = useLedger(server.connection, undefined, undefined, undefined, processors);
const client = await useConnection(server.connection);
const refused: string[] = [];
const gateway = ledgerGateway(ledger, { onRefusedCredential: ({ reason }) => void refused.push(reason) });
const http = await startHttpServer(gateway);
afterAll(() => http.server.close());

const OTHER_SECRET = `whsec_${Buffer.alloc(32, 'other').toString('base64')}`;

/** How a notice is sent, and to which URL. The defaults are valid. */
type Sending = {
  readonly to?: string;
  readonly secret?: string;
  readonly sentAt?: Date;
  /** The signed text, if it differs from the sent text. */
  readonly signed?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly port?: number;
};

async function send(notice: object | string, sending: Sending = {}) {
  const { to = 'simulator', secret = NOTICE_SECRET, sentAt = new Date(), headers = {}, port = http.port } = sending;
  const text = typeof notice === 'string' ? notice : JSON.stringify(notice);
  const signing = { id: `msg_${randomUUID()}`, sentAt, body: sending.signed ?? text };
  const signature = signMessage(signing, [readSigningKey(secret)]);
  const { status, fields } = await sendRaw(`http://127.0.0.1:${port}`, {
    method: 'POST',
    path: `/api/v0.1/connector/${to}/notice`,
    headers: { 'Content-Type': 'application/json', ...signature, ...headers },
    body: text,
  });
  return { status, code: fields.Code, fields };
}

/** Creates an attempt that notices can name. */
async function newAttempt(): Promise<{ readonly wireId: string; readonly attemptId: string }> {
  const card = { connector_id: 'simulator', processor_token: 'sim_pending', card_id: `card-${randomUUID()}` };
  await ledger.call('create_card', card);
  const made = await ledger.call('create_transfer', { amount: 1000, card_id: card.card_id });
  const { attemptId } = await attemptOf(ledger, String(JSON.parse(made.body).transfer_id));
  return { wireId: toWireId('pat', attemptId), attemptId };
}

const noticeOf = (attemptId: string, more: object = {}): { readonly notice_id: string } => ({
  ...JSON.parse(exampleOf('receive_notice').body ?? ''),
  notice_id: randomUUID(),
  attempt_id: attemptId,
  ...more,
});

async function storedOf(noticeId: string) {
  const { rows } = await client.query(
    'select connector_id, attempt_id, body, handled_at from processor_notice where notice_id = $1',
    [noticeId],
  );
  return rows;
}

describe('a signed notice', () => {
  test('is stored before it is acknowledged, and wakes the job that handles notices', async () => {
    const { wireId, attemptId } = await newAttempt();
    const notice = noticeOf(wireId);
    const wakes = processors.wakes;
    expect(await send(notice)).toMatchObject({ status: 200, fields: { received: true } });
    const { notice_id: _, ...body } = notice;
    expect(await storedOf(notice.notice_id)).toEqual([
      { connector_id: 'simulator', attempt_id: attemptId, body, handled_at: null },
    ]);
    expect(processors.wakes).toBe(wakes + 1);
  });

  test('is stored once if it arrives several times at once', async () => {
    const { wireId } = await newAttempt();
    const notice = noticeOf(wireId);
    const wakes = processors.wakes;
    const answers = await Promise.all(Array.from({ length: 5 }, () => send(notice)));
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, fields: { received: true } });
    expect(await storedOf(notice.notice_id)).toHaveLength(1);
    expect(processors.wakes).toBe(wakes + 1);
  });

  test('is refused if it reuses an id with other content, and adds a break for operators', async () => {
    const { wireId, attemptId } = await newAttempt();
    const notice = noticeOf(wireId);
    expect(await send(notice)).toMatchObject({ status: 200 });
    const stored = await storedOf(notice.notice_id);
    const others = [{ status: 'declined' }, { amount: 999 }, { attempt_id: toWireId('pat', randomUUID()) }];
    for (const other of [...others, ...others]) {
      const message = `An earlier notice has the notice_id '${notice.notice_id}' and different contents. Give each notice its own id.`;
      expect(await send({ ...notice, ...other })).toMatchObject({
        ...{ status: 409, code: 'notice_id_reused' },
        fields: { Message: message },
      });
    }
    expect(await send(notice)).toMatchObject({ status: 200 });
    expect(await storedOf(notice.notice_id)).toEqual(stored);
    const { rows } = await client.query(
      `select attempt_id, sent_attempt_id, expected, found from processor_break
        where kind = 'reused_notice_id' and found like $1 order by break_id`,
      [`%(notice ${notice.notice_id})%`],
    );
    const said = (status: string) => `${status} USD (notice ${notice.notice_id})`;
    const expected = 'approved of 10.00 USD';
    expect(rows).toEqual([
      {
        attempt_id: attemptId,
        sent_attempt_id: null,
        expected,
        found: [said('declined of 10.00'), said('approved of 9.99')].join(', '),
      },
      { attempt_id: null, sent_attempt_id: others[2]?.attempt_id, expected, found: said('approved of 10.00') },
    ]);
  });

  test('is stored even if its connector has no such attempt', async () => {
    const { wireId } = await newAttempt();
    const unknown = noticeOf(toWireId('pat', randomUUID()));
    expect(await send(unknown)).toMatchObject({ status: 200 });
    expect(await storedOf(unknown.notice_id)).toMatchObject([{ attempt_id: null, handled_at: null }]);
    await client.query("update processor_attempt set connector_id = 'another' where attempt_id = $1", [
      (await storedAttempt(wireId)).attempt_id,
    ]);
    const foreign = noticeOf(wireId);
    expect(await send(foreign)).toMatchObject({ status: 200 });
    expect(await storedOf(foreign.notice_id)).toMatchObject([{ attempt_id: null }]);
  });

  test('needs no key or session, and ignores any that it has', async () => {
    const { wireId } = await newAttempt();
    const live = await serve(ledgerGateway(ledger, { keyless: false }));
    expect(await send(noticeOf(wireId), { port: live.port })).toMatchObject({ status: 200 });
    const headers = {
      Authorization: 'Bearer nonsense',
      Cookie: '__Host-console=nonsense',
      Origin: 'https://evil.example',
    };
    expect(await send(noticeOf(wireId), { port: live.port, headers })).toMatchObject({ status: 200 });
  });

  test('is stored without any text that may be a card number', async () => {
    const { wireId } = await newAttempt();
    const notice = noticeOf(wireId, { processor_reference: '4242424242424242', raw: { pan: '4242424242424242' } });
    expect(await send(notice)).toMatchObject({ status: 200 });
    const [{ body }] = await storedOf(notice.notice_id);
    expect(body).toMatchObject({ processor_reference: '[redacted]' });
    expect(JSON.stringify(body)).not.toContain('4242');
    expect(await send(noticeOf(wireId, { notice_id: '4242424242424242' }))).toMatchObject({
      status: 400,
      code: 'card_number_refused',
    });
  });

  test.each([
    ['status', 'not_found'],
    ['amount', -1],
    ['currency', 'usd'],
    ['notice_id', 'x'.repeat(129)],
    ['attempt_id', 'order-7'],
    ['code', undefined],
  ])('is refused with %s %j', async (name, value) => {
    const { wireId } = await newAttempt();
    expect(await send(noticeOf(wireId, { [name]: value }))).toMatchObject({
      status: 400,
      code: 'receive_notice_schema',
    });
  });
});

async function storedAttempt(wireId: string) {
  const { rows } = await client.query(
    "select attempt_id from processor_attempt where 'pat_' || replace(attempt_id::text, '-', '') = $1",
    [wireId],
  );
  return rows[0];
}

describe('a notice is not stored and always gets the same response if it has', () => {
  const SECOND = 1000;
  // These are functions, so that the times are computed when the notice is sent.
  const CASES: readonly (readonly [string, () => Sending])[] = [
    ['another secret', () => ({ secret: OTHER_SECRET })],
    ['another body', () => ({ signed: '{}' })],
    ['a time more than 5 minutes ago', () => ({ sentAt: new Date(Date.now() - 302 * SECOND) })],
    ['a time more than 5 minutes ahead', () => ({ sentAt: new Date(Date.now() + 330 * SECOND) })],
    ['an unknown connector', () => ({ to: 'missing' })],
    ['an unknown connector and another secret', () => ({ to: 'missing', secret: OTHER_SECRET })],
    ['a malformed signature', () => ({ headers: { 'webhook-signature': 'v1,' } })],
    ['no time', () => ({ headers: { 'webhook-timestamp': '' } })],
  ];

  test.each(CASES)('%s', async (_, sendingOf) => {
    const { wireId } = await newAttempt();
    const notice = noticeOf(wireId);
    refused.length = 0;
    const { status, fields } = await send(notice, sendingOf());
    const expected = await send(notice, { secret: OTHER_SECRET });
    const { Message: message, ...rest } = fields;
    expect(status).toBe(401);
    expect({ Message: message, ...rest }).toEqual(expected.fields);
    expect(await storedOf(notice.notice_id)).toEqual([]);
    expect(refused).toEqual(['signature', 'signature']);
  });

  test('a malformed body and another secret, unlike a malformed body and the right secret', async () => {
    expect(await send('{', { secret: OTHER_SECRET })).toMatchObject({ code: 'unauthenticated' });
    expect(await send('{')).toMatchObject({ code: 'receive_notice_schema' });
  });
});

test('does not acknowledge a notice that it cannot store, and accepts it later', async () => {
  const { wireId } = await newAttempt();
  const notice = noticeOf(wireId);
  await client.query('alter table processor_notice rename to away');
  try {
    expect(await send(notice)).toMatchObject({ status: 500, code: 'unknown_receive_notice' });
  } finally {
    await client.query('alter table away rename to processor_notice');
  }
  expect(await send(notice)).toMatchObject({ status: 200 });
  expect(await storedOf(notice.notice_id)).toHaveLength(1);
});

test('refuses a notice of more than 64 KiB before it checks the signature', async () => {
  const { wireId } = await newAttempt();
  const fill = (bytes: number) => {
    const { length } = JSON.stringify(noticeOf(wireId, { raw: '' }));
    return noticeOf(wireId, { raw: 'x'.repeat(bytes - length) });
  };
  expect(await send(fill(65_536))).toMatchObject({ status: 200 });
  expect(await send(fill(65_537))).toMatchObject({ status: 413, code: 'payload_too_large' });
});

test('applies the same rate limit to connectors as to keys', async () => {
  const { wireId } = await newAttempt();
  const limited = await serve(gateway, { settings: { keyRatePerSecond: 1 } });
  const answers = await Promise.all(Array.from({ length: 30 }, () => send(noticeOf(wireId), { port: limited.port })));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
});
