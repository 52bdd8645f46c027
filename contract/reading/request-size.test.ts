import { describe, expect, it } from 'vitest';
import { OPERATION_IDS, OPERATIONS } from '../operations.ts';
import { JsonNumber } from './json.ts';
import { readFields } from './read-fields.ts';
import { MIN_MAX_BODY_BYTES } from './request-size.ts';

/** Writes JSON as clients do that escape everything beyond ASCII, for example in Python. */
const escaped = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);

describe('the largest body of create_transfer', () => {
  const text = (length: number, at = 0) => String.fromCodePoint(0x1f600 + at) + '😀'.repeat(length - 1);
  const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [text(40, at), text(500)]));
  const card = { card_id: text(255), destination_card_id: text(255), description: text(255), reference: text(255) };
  const body = {
    amount: '999999999999',
    ...card,
    metadata,
    type: 'card_to_card',
    capture: 'automatic',
    currency: 'USD',
  };

  it('is accepted in UTF-8 and with every character escaped', () => {
    const { body: schema, maxBodyBytes } = OPERATIONS.create_transfer;
    expect(readFields(schema, body, 'body')).toHaveProperty('fields');
    for (const written of [JSON.stringify(body), escaped(body)])
      expect(Buffer.byteLength(written)).toBeLessThanOrEqual(maxBodyBytes ?? 0);
    expect(Buffer.byteLength(escaped(body))).toBeGreaterThan(130_000);
    expect(readFields(schema, { ...body, amount: new JsonNumber('1') }, 'body')).toHaveProperty('fields');
  });

  it('fits in a batch, as do a thousand rows of 1,024 characters', () => {
    const most = OPERATIONS.create_transfer_batch.maxBodyBytes ?? 0;
    expect(Buffer.byteLength(escaped({ transfers: [body] }))).toBeLessThan(most);
    expect(1000 * 4 * 1024).toBeLessThanOrEqual(most);
  });
});

it('the body of every operation has a limit that is small enough for the memory of one request', () => {
  for (const id of OPERATION_IDS) {
    const { body, maxBodyBytes } = OPERATIONS[id];
    if (body === undefined) expect(maxBodyBytes, id).toBeUndefined();
    else {
      expect(maxBodyBytes, id).toBeGreaterThanOrEqual(MIN_MAX_BODY_BYTES);
      const hasRows = [
        'create_transfer_batch',
        'add_move_in_lines',
        'add_compared_cards',
        'add_settlement_lines',
      ].includes(id);
      expect(maxBodyBytes, id).toBeLessThanOrEqual(hasRows ? 4_096_000 : 1_048_576);
    }
  }
});
