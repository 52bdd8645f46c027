import { expect, test } from 'vitest';
import { isSame } from '../../domain/idempotency.ts';
import { parseStrictJson } from '../calls/strict-json.ts';
import { fingerprintOf } from './under-key.ts';

/** The fingerprints that version 0.1.0 stored. It used the bodies as sent. */
const OF_PLAIN = '15f78be4ab858a00dd6fa39b31e2e27081c8e60c820aa2d3ce30c223146af19e';
const OF_WORDY = 'fe20d734612f9efaf73d3d9794d52adfe03ec62f1da1f2be0a64340397388d36';

const PLAIN = '{"amount":10,"card_id":"card_1"}';
const WORDY = '{"amount":"10","card_id":"card_1","type":"load"}';

function fingerprint(body: string) {
  return fingerprintOf({ operation: 'create_transfer', params: {}, sent: parseStrictJson(Buffer.from(body)) });
}

test('accepts a key that version 0.1.0 stored, with any form of the same body', () => {
  const isSameAs = (stored: string, body: string) => isSame({ fingerprint: stored, meaning: null }, fingerprint(body));
  expect(isSameAs(OF_PLAIN, PLAIN)).toBe(true);
  expect(isSameAs(OF_WORDY, WORDY)).toBe(true);
  expect(isSameAs(OF_PLAIN, WORDY)).toBe(true);
  expect(isSameAs(OF_PLAIN, '{"amount":11,"card_id":"card_1"}')).toBe(false);
});

test('stores fingerprints that version 0.1.0 finds while both versions run', () => {
  expect(fingerprint(PLAIN).asSent).toBe(OF_PLAIN);
  expect(fingerprint(WORDY).asSent).toBe(OF_WORDY);
});

test('recognizes a request that was first sent in a different form', () => {
  const { asSent, ofMeaning } = fingerprint(WORDY);
  const stored = { fingerprint: asSent, meaning: ofMeaning };
  expect(isSame(stored, fingerprint(PLAIN))).toBe(true);
  expect(isSame(stored, fingerprint('{"amount":"11","card_id":"card_1","type":"load"}'))).toBe(false);
});
