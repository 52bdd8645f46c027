import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import {
  InvalidArgument,
  newWebhookSecret,
  signWebhook,
  verifyWebhook,
  WebhookVerificationError,
} from '../../sdk/client.ts';
import { opensslSignature } from './openssl-signature.ts';

const EVENT = { event_id: 'evt_1', type: 'transfer.completed', position: 1, data: { note: 'ü€😀 "x"' } };
const BODY = JSON.stringify(EVENT);
const ID = 'evt_1';
const SECRET = newWebhookSecret();
const OTHER_SECRET = newWebhookSecret();

/** Returns headers that the package standardwebhooks has signed. */
function signedByPackage(secret: string, body = BODY, signedAt = new Date()): Record<string, string> {
  return {
    'webhook-id': ID,
    'webhook-timestamp': String(Math.floor(signedAt.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(ID, signedAt, body),
  };
}

async function refusalOf(verification: Promise<unknown>): Promise<unknown> {
  const thrown = await verification.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(WebhookVerificationError);
  return (thrown as WebhookVerificationError).reason;
}

describe('the SDK', () => {
  test.each(['', 'x', BODY, 'ü€😀', 'a\r\nb\0c'])('signs like the package standardwebhooks: %j', async (body) => {
    const headers = await signWebhook({ id: ID, body }, SECRET);
    expect(() => new Webhook(SECRET).verify(body, headers, { jsonParse: false })).not.toThrow();
    expect(() => new Webhook(SECRET).verify(`${body} `, headers)).toThrow('No matching signature');
    expect(() => new Webhook(OTHER_SECRET).verify(body, headers)).toThrow('No matching signature');
  });

  test.each([24, 32, 63, 64])('signs with a secret of %i bytes as openssl does', async (length) => {
    const secret = `whsec_${randomBytes(length).toString('base64')}`;
    const headers = await signWebhook({ id: ID, body: BODY, signedAt: new Date('2030-01-31T12:00:00.999Z') }, secret);
    expect(headers).toEqual({
      'webhook-id': ID,
      'webhook-timestamp': '1896091200',
      'webhook-signature': opensslSignature(secret, ID, '1896091200', BODY),
    });
  });

  test('creates a new secret each time', () => {
    expect(SECRET).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(OTHER_SECRET).not.toBe(SECRET);
  });
});

describe('a webhook is verified', () => {
  test('if the package standardwebhooks signed it', async () => {
    expect(await verifyWebhook(BODY, signedByPackage(SECRET), SECRET)).toEqual(EVENT);
  });

  test('if openssl signed it', async () => {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = opensslSignature(SECRET, ID, timestamp, BODY);
    const headers = { 'webhook-id': ID, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
    expect(await verifyWebhook(BODY, headers, SECRET)).toEqual(EVENT);
  });

  test.each<[string, string | Uint8Array]>([
    ['a string', BODY],
    ['bytes', new TextEncoder().encode(BODY)],
    ['a Buffer', Buffer.from(BODY)],
    ['part of a larger buffer', Buffer.from(`[${BODY}]`).subarray(1, -1)],
  ])('with %s as the body', async (_, body) => {
    expect(await verifyWebhook(body, signedByPackage(SECRET), SECRET)).toEqual(EVENT);
  });

  test('with the headers of fetch or of Node, in upper and lower case', async () => {
    const signed = signedByPackage(SECRET);
    const inCapitals = Object.fromEntries(Object.entries(signed).map(([name, value]) => [name.toUpperCase(), value]));
    const inLists = Object.fromEntries(Object.entries(signed).map(([name, value]) => [name, [value]]));
    for (const headers of [signed, new Headers(signed), inCapitals, inLists]) {
      expect(await verifyWebhook(BODY, headers, [SECRET])).toEqual(EVENT);
    }
  });

  test('with one of several secrets and one of several signatures', async () => {
    const { 'webhook-signature': signature = '', ...rest } = signedByPackage(SECRET);
    const { 'webhook-signature': another = '' } = signedByPackage(OTHER_SECRET);
    const signatures = `v1a,AAAA v1,%% v1, ${another} v2,x ${signature}`;
    const headers = { ...rest, 'webhook-signature': signatures };
    expect(await verifyWebhook(BODY, headers, [newWebhookSecret(), SECRET])).toEqual(EVENT);
    const inLines = { ...rest, 'webhook-signature': [another, signature] };
    expect(await verifyWebhook(BODY, inLines, SECRET)).toEqual(EVENT);
    expect(await refusalOf(verifyWebhook(BODY, headers, newWebhookSecret()))).toBe('no_matching_signature');
  });

  test.each([-300, -1, 0, 1, 300])('%i seconds after it was signed', async (seconds) => {
    const signedAt = new Date('2030-01-31T12:00:00Z');
    const now = new Date(signedAt.getTime() + seconds * 1000);
    expect(await verifyWebhook(BODY, signedByPackage(SECRET, BODY, signedAt), SECRET, { now })).toEqual(EVENT);
  });

  test('with an unknown type', async () => {
    const body = JSON.stringify({ ...EVENT, type: 'some.later.type' });
    expect(await verifyWebhook(body, signedByPackage(SECRET, body), SECRET)).toMatchObject({ type: 'some.later.type' });
  });
});

describe('a webhook is refused', () => {
  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('without %s', async (name) => {
    const { [name]: _, ...headers } = signedByPackage(SECRET);
    expect(await refusalOf(verifyWebhook(BODY, headers, SECRET))).toBe('missing_header');
    expect(await refusalOf(verifyWebhook(BODY, new Headers({ ...headers, [name]: '' }), SECRET))).toBe(
      'missing_header',
    );
  });

  test.each(['now', '1e9', '-1', '1.5', '0x10', '1234567890123', '1, 2'])('with the time %s', async (timestamp) => {
    const headers = { ...signedByPackage(SECRET), 'webhook-timestamp': timestamp };
    expect(await refusalOf(verifyWebhook(BODY, headers, SECRET))).toBe('invalid_timestamp');
  });

  test.each([
    [301, 'too_old'],
    [-301, 'too_new'],
  ])('%i seconds after it was signed', async (seconds, reason) => {
    const signedAt = new Date('2030-01-31T12:00:00Z');
    const now = new Date(signedAt.getTime() + seconds * 1000);
    const headers = signedByPackage(SECRET, BODY, signedAt);
    expect(await refusalOf(verifyWebhook(BODY, headers, SECRET, { now }))).toBe(reason);
    expect(await verifyWebhook(BODY, headers, SECRET, { now, toleranceSeconds: 301 })).toEqual(EVENT);
  });

  test.each<[string, (signed: Record<string, string>) => Record<string, string>, string]>([
    ['another body', (signed) => signed, BODY.replace('"position":1', '"position":2')],
    ['another id', (signed) => ({ ...signed, 'webhook-id': 'evt_2' }), BODY],
    [
      'another time',
      (signed) => ({ ...signed, 'webhook-timestamp': String(Number(signed['webhook-timestamp']) + 1) }),
      BODY,
    ],
    ['a moved separator', (signed) => ({ ...signed, 'webhook-id': `${ID}.1` }), BODY],
    ['no version', (signed) => ({ ...signed, 'webhook-signature': signed['webhook-signature']?.slice(3) ?? '' }), BODY],
    [
      'another version',
      (signed) => ({ ...signed, 'webhook-signature': `v1a${signed['webhook-signature']?.slice(2)}` }),
      BODY,
    ],
    ['half a signature', (signed) => ({ ...signed, 'webhook-signature': 'v1,AAAA' }), BODY],
    ['an empty signature', (signed) => ({ ...signed, 'webhook-signature': 'v1,' }), BODY],
    ['a signature that is not Base64', (signed) => ({ ...signed, 'webhook-signature': 'v1,%%%%' }), BODY],
  ])('with %s', async (_, change, body) => {
    expect(await refusalOf(verifyWebhook(body, change(signedByPackage(SECRET)), SECRET))).toBe('no_matching_signature');
  });

  test.each(['', 'x', '1', 'null', '[]', '{}', '{"type":1}'])('with %j as the signed body', async (body) => {
    expect(await refusalOf(verifyWebhook(body, await signWebhook({ id: ID, body }, SECRET), SECRET))).toBe(
      'invalid_body',
    );
  });
});

describe('a mistake in the calling code', () => {
  test.each([[EVENT], [undefined], [1], [[BODY]], [new ArrayBuffer(1)]])(
    'is reported for the body %j, with advice',
    async (body) => {
      const verification = verifyWebhook(body as never, signedByPackage(SECRET), SECRET);
      await expect(verification).rejects.toThrow(InvalidArgument);
      await expect(verification).rejects.toThrow('express.raw');
    },
  );

  test.each([
    ['another prefix', SECRET.replace('whsec_', 'ts_')],
    ['no prefix', SECRET.slice('whsec_'.length)],
    ['no Base64', 'whsec_%%%%'],
    ['URL-safe Base64', `whsec_${'-'.repeat(44)}`],
    ['no padding', SECRET.slice(0, -1)],
    ['16 bytes', `whsec_${randomBytes(16).toString('base64')}`],
    ['65 bytes', `whsec_${randomBytes(65).toString('base64')}`],
    ['nothing', ''],
  ])('is reported for a secret with %s, which is not quoted', async (_, secret) => {
    const thrown = await verifyWebhook(BODY, signedByPackage(SECRET), [SECRET, secret]).catch(
      (error: unknown) => error,
    );
    expect(thrown).toBeInstanceOf(InvalidArgument);
    if (secret !== '') expect((thrown as Error).message).not.toContain(secret.replace('whsec_', ''));
    await expect(signWebhook({ id: ID, body: BODY }, secret)).rejects.toThrow(InvalidArgument);
  });

  test('is reported for a missing secret', async () => {
    await expect(verifyWebhook(BODY, signedByPackage(SECRET), [])).rejects.toThrow('at least one secret');
  });
});
