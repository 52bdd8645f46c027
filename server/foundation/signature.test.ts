import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { isSigningSecret, readSigningKey, signMessage, verifyNotice } from './signature.ts';

const newSecret = (bytes = 32): string => `whsec_${randomBytes(bytes).toString('base64')}`;
const NEW = newSecret();
const OLD = newSecret();
const NOW = Date.parse('2030-01-31T12:00:00.000Z');
const BODY = '{"notice_id":"n-1","note":"ü€😀"}';

const signed = (secrets: readonly string[], at = NOW, body = BODY) =>
  signMessage({ id: 'msg_1', sentAt: new Date(at), body }, secrets.map(readSigningKey));

describe('a notice is verified', () => {
  test.each([
    ['by the only secret', [NEW], [NEW]],
    ['by the new one of two secrets', [NEW], [NEW, OLD]],
    ['by the old one of two secrets', [OLD], [NEW, OLD]],
    ['if only one of its signatures matches', [newSecret(), OLD], [NEW, OLD]],
  ])('%s', (_, signing, known) => {
    expect(verifyNotice({ ...signed(signing) }, Buffer.from(BODY), known, NOW)).toEqual({ id: 'msg_1' });
  });

  test.each([-300_000, 300_000])('if its timestamp is %i ms off', (apart) => {
    expect(verifyNotice({ ...signed([NEW]) }, BODY, [NEW], NOW + apart)).toEqual({ id: 'msg_1' });
  });
});

describe('a notice is refused', () => {
  const one = signed([NEW]);
  const signature = one['webhook-signature'];

  test.each([
    ['without an id', { ...one, 'webhook-id': undefined }, 'headers_missing'],
    ['without a time', { ...one, 'webhook-timestamp': undefined }, 'headers_missing'],
    ['without a signature', { ...one, 'webhook-signature': undefined }, 'headers_missing'],
    ['with two times', { ...one, 'webhook-timestamp': [one['webhook-timestamp']] }, 'headers_malformed'],
    ['with an empty id', { ...one, 'webhook-id': '' }, 'headers_malformed'],
    ['with a timestamp in words', { ...one, 'webhook-timestamp': 'now' }, 'headers_malformed'],
    ['with a negative timestamp', { ...one, 'webhook-timestamp': '-1' }, 'headers_malformed'],
    ['with another id', { ...one, 'webhook-id': 'msg_2' }, 'no_signature_matches'],
    ['with another time', { ...one, 'webhook-timestamp': String(NOW / 1000 + 1) }, 'no_signature_matches'],
    ['with an empty signature', { ...one, 'webhook-signature': '' }, 'no_signature_matches'],
    ['with half a signature', { ...one, 'webhook-signature': signature.slice(0, 20) }, 'no_signature_matches'],
    ['with a longer signature', { ...one, 'webhook-signature': `${signature}=` }, 'no_signature_matches'],
    ['with another version', { ...one, 'webhook-signature': signature.replace('v1', 'v2') }, 'no_signature_matches'],
  ])('%s', (_, headers, problem) => {
    expect(verifyNotice(headers, BODY, [NEW, OLD], NOW)).toEqual({ problem });
  });

  test.each([
    [300_001, 'timestamp_too_old'],
    [-300_001, 'timestamp_too_new'],
  ])('if its timestamp is %i ms off', (apart, problem) => {
    expect(verifyNotice({ ...one }, BODY, [NEW], NOW + apart)).toEqual({ problem });
  });

  test('if the body or the secret differs, or if there is no secret', () => {
    const problem = { problem: 'no_signature_matches' };
    expect(verifyNotice({ ...one }, `${BODY} `, [NEW], NOW)).toEqual(problem);
    expect(verifyNotice({ ...one }, BODY, [OLD], NOW)).toEqual(problem);
    expect(verifyNotice({ ...one }, BODY, [], NOW)).toEqual(problem);
  });
});

test.each([
  [newSecret(24), true],
  [newSecret(64), true],
  [newSecret(23), false],
  [newSecret(65), false],
  [newSecret().slice('whsec_'.length), false],
  [newSecret().replace('whsec_', 'WHSEC_'), false],
  [`${newSecret()}\n`, false],
  [newSecret().replace(/=$/, ''), false],
  ['whsec_', false],
])('recognizes whether %j is a secret: %j', (text, is) => {
  expect(isSigningSecret(text)).toBe(is);
});
