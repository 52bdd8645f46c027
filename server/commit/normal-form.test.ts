import { describe, expect, test } from 'vitest';
import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { canonicalJson, normalForm } from '../../contract/reading/json.ts';
import { parseStrictJson } from '../calls/strict-json.ts';

function normal(operation: OperationId, body: object): string {
  const sent = parseStrictJson(Buffer.from(JSON.stringify(body)));
  return canonicalJson(normalForm(OPERATIONS[operation].body, sent));
}

const LOAD = { amount: 100, card_id: 'card_1' };

describe('the normal form of a body', () => {
  test.each<[string, OperationId, object, object]>([
    ['an amount as a string', 'create_transfer', LOAD, { ...LOAD, amount: '100' }],
    ['explicit defaults', 'create_transfer', LOAD, { ...LOAD, type: 'load', capture: 'automatic' }],
    ['empty optional fields', 'create_transfer', LOAD, { ...LOAD, description: null, reference: '', metadata: {} }],
    [
      'the same time in a different notation',
      'create_transfer',
      { ...LOAD, scheduled_for: '2030-01-31T12:00:00.12Z' },
      { ...LOAD, scheduled_for: '2030-01-31T13:00:00.120+01:00' },
    ],
    ['the amount of a partial capture as a string', 'capture_transfer', { amount: 5 }, { amount: '5' }],
    ['limits that limit nothing', 'create_card', {}, { limits: { in: {} }, status: 'active', metadata: {} }],
    ['a list in a different order', 'attach_cases', { case_ids: ['a', 'b'] }, { case_ids: ['b', 'a', 'b'] }],
    [
      'a number that is the default',
      'create_webhook',
      { url: 'https://a.example' },
      { url: 'https://a.example', concurrency: 10 },
    ],
    [
      'the default time zone',
      'create_program',
      { name: 'A', currency: 'USD' },
      { name: 'A', currency: 'USD', time_zone: 'UTC' },
    ],
  ])('is the same for %s', (_what, operation, one, other) => {
    expect(normal(operation, other)).toBe(normal(operation, one));
  });

  test.each<[string, object]>([
    ['a different amount', { ...LOAD, amount: '101' }],
    ['a different type', { ...LOAD, type: 'unload' }],
    ['a hold', { ...LOAD, capture: 'manual' }],
    ['metadata', { ...LOAD, metadata: { type: 'load' } }],
    ['a metadata value that is empty', { ...LOAD, metadata: { note: '' } }],
    ['an unknown field', { ...LOAD, shop: null }],
  ])('differs for %s', (_what, other) => {
    expect(normal('create_transfer', other)).not.toBe(normal('create_transfer', LOAD));
  });

  test('equals a plain body, so that keys of version 0.1.0 stay valid', () => {
    const body = { ...LOAD, type: 'unload', metadata: { b: '', a: '1' }, expires_at: '2030-01-31T12:00:00Z' };
    const text = canonicalJson(parseStrictJson(Buffer.from(JSON.stringify(body))));
    expect(normal('create_transfer', body)).toBe(text);
  });
});
