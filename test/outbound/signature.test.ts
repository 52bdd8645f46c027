import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { newWebhookSecret, signWebhook, verifyWebhook } from '../../sdk/client.ts';
import { readSigningKey, signMessage, verifyNotice } from '../../server/foundation/signature.ts';
import { opensslSignature } from '../sdk/openssl-signature.ts';

const EVENT_ID = 'evt_0198a0f2c5d87000a1b2c3d4e5f60001';
const BODY = JSON.stringify({
  event_id: EVENT_ID,
  type: 'transfer.completed',
  position: 1,
  data: { note: 'ü€😀 "x"' },
});
const SENT_AT = new Date('2030-01-31T12:00:00.999Z');
const SECRETS = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()] as const;

const sign = (secrets: readonly string[], body = BODY, sentAt = new Date()) =>
  signMessage({ id: EVENT_ID, sentAt, body }, secrets.map(readSigningKey));

describe('a sent message', () => {
  test.each(['', 'x', BODY, 'ü€😀', 'a\r\nb\0c', 'x'.repeat(20_000)])(
    'is verified by the package standardwebhooks: %j',
    (body) => {
      const headers = { ...sign([SECRETS[0]], body) };
      expect(() => new Webhook(SECRETS[0]).verify(body, headers, { jsonParse: false })).not.toThrow();
      expect(() => new Webhook(SECRETS[0]).verify(`${body} `, headers)).toThrow('No matching signature');
      expect(() => new Webhook(SECRETS[1]).verify(body, headers)).toThrow('No matching signature');
    },
  );

  test.each([24, 32, 63, 64])('has the signature that openssl creates with a secret of %i bytes', (length) => {
    const secret = `whsec_${randomBytes(length).toString('base64')}`;
    expect(sign([secret], BODY, SENT_AT)).toEqual({
      'webhook-id': EVENT_ID,
      'webhook-timestamp': '1896091200',
      'webhook-signature': opensslSignature(secret, EVENT_ID, '1896091200', BODY),
    });
  });

  test('is verified by the SDK, and has the signature that the SDK creates', async () => {
    expect(await verifyWebhook(BODY, sign([SECRETS[0]]), SECRETS[0])).toMatchObject({ event_id: EVENT_ID });
    const bySdk = await signWebhook({ id: EVENT_ID, body: BODY, signedAt: SENT_AT }, SECRETS[0]);
    expect(sign([SECRETS[0]], BODY, SENT_AT)).toEqual(bySdk);
  });

  test('has the signatures of all valid secrets, and each signature is sufficient', async () => {
    const headers = sign(SECRETS);
    const timestamp = headers['webhook-timestamp'];
    const expected = SECRETS.map((secret) => opensslSignature(secret, EVENT_ID, timestamp, BODY));
    expect(headers['webhook-signature'].split(' ')).toEqual(expected);
    for (const secret of SECRETS) {
      expect(() => new Webhook(secret).verify(BODY, { ...headers })).not.toThrow();
      expect(await verifyWebhook(BODY, headers, secret)).toMatchObject({ event_id: EVENT_ID });
    }
    await expect(verifyWebhook(BODY, headers, newWebhookSecret())).rejects.toThrow('No signature matches');
  });
});

test('signs like the package standardwebhooks', () => {
  const theirs = new Webhook(SECRETS[0]).sign(EVENT_ID, SENT_AT, BODY);
  expect(sign([SECRETS[0]], BODY, SENT_AT)['webhook-signature']).toBe(theirs);
});

test('verifies a notice that the package standardwebhooks signed, even if it also has a signature of a different version', () => {
  const signature = new Webhook(SECRETS[1]).sign('msg_1', SENT_AT, BODY);
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': '1896091200',
    'webhook-signature': `v1a,${randomBytes(64).toString('base64')} ${signature}`,
  };
  expect(verifyNotice(headers, BODY, SECRETS, SENT_AT.getTime())).toEqual({ id: 'msg_1' });
});

test('refuses a secret without its prefix', () => {
  expect(() => readSigningKey(SECRETS[0].slice('whsec_'.length))).toThrow('a secret begins with whsec_');
});
