import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toWireId } from '../../../domain/identifier.ts';
import { TRANSFER_STATUSES, TRANSFER_TYPES, type Transfer } from '../../../domain/transfers/transfer.ts';
import { toTransferRecord } from '../../../server/calls/records/transfer.ts';
import { idAt } from '../../../server/foundation/ids.ts';
import { compactPayload, fullPayload } from '../../../server/store/events/transfer-payload.ts';
import { aTransfer } from '../../fixtures/records.ts';

// Tests that a compact payload is read as the same bytes that were sent with the event.

const uuid = fc.uuid();
const key = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }),
  uuid,
  uuid.map((id) => id.replaceAll('-', '')),
);
const text = fc.string({ unit: 'binary' });
const amount = fc.bigInt({ min: 0n, max: 999_999_999_999n });
const time = fc.integer({ min: 0, max: 253_402_300_799_999 });
const or = <Value>(usual: Value, other: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
const orNull = <Value>(value: fc.Arbitrary<Value>) => or<Value | null>(null, value);

const error = fc.record({
  Message: text,
  Status: fc.integer({ min: 400, max: 599 }),
  Code: fc.constant('insufficient_funds'),
  Type: fc.constant('Request Error'),
});

/** Generates mostly common values. Each field sometimes has a rare value. */
const transfer: fc.Arbitrary<Transfer> = fc
  .record({
    now: time,
    amount,
    own: fc.record({
      programId: uuid,
      transferId: orNull(uuid),
      type: fc.constantFrom(...TRANSFER_TYPES),
      cardId: uuid,
      cardName: text,
      destinationCardId: fc.constant(null),
      destinationCardName: orNull(text),
      currency: fc.constantFrom('USD', 'JPY'),
      requestId: uuid,
      idempotencyKey: orNull(key),
      createdBy: orNull(uuid),
    }),
    other: fc.record(
      {
        capturedAmount: amount,
        reversedAmount: amount,
        status: fc.constantFrom(...TRANSFER_STATUSES),
        outcome: fc.constantFrom('final', 'open', 'unknown'),
        capture: fc.constantFrom('automatic', 'manual'),
        expiresAt: time,
        scheduledFor: time,
        description: text,
        reference: text,
        metadata: fc.dictionary(text, text),
        error,
        createdAt: time,
        updatedAt: time,
        completedAt: orNull(time),
      },
      { requiredKeys: [] },
    ),
  })
  .map(({ now, amount: whole, own, other }) =>
    aTransfer({
      ...own,
      // This is usually the id that the service creates, with the time of creation, and sometimes a different id.
      transferId: own.transferId ?? idAt(now),
      ...{ amount: whole, capturedAmount: whole, createdAt: now, updatedAt: now, completedAt: now },
      ...(other as Partial<Transfer>),
    }),
  );

/** Returns the payload in form 1, which the service no longer writes: with the time, and with ids as in the API. */
function inFormOne(one: Transfer): string {
  const { programId, transferId, type, amount, currency, cardName, requestId, idempotencyKey, createdBy } = one;
  const named = { programId, transferId, type, amount, currency, cardName, requestId, idempotencyKey, createdBy };
  const { createdAt } = one;
  const times = { createdAt, updatedAt: createdAt, completedAt: createdAt };
  const usual = toTransferRecord(aTransfer({ ...named, ...times, capturedAmount: amount }));
  const unusual = Object.entries(toTransferRecord(one)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(usual[name as keyof typeof usual]),
  );
  const { card_id, request_id, idempotency_key, created_by } = usual;
  const own = [1, type, usual.amount, currency, card_id, request_id, idempotency_key, created_by, createdAt];
  return JSON.stringify(unusual.length === 0 ? own : [...own, Object.fromEntries(unusual)]);
}

const originOf = ({ programId, transferId }: Transfer) => ({ programId, subjectId: toWireId('tr', transferId) });

describe('the payload of an event about a transfer', () => {
  test('is read from its compact form as the bytes that were sent', () => {
    fc.assert(
      fc.property(transfer, (one) => {
        const record = toTransferRecord(one);
        expect(fullPayload(compactPayload(record), originOf(one))).toBe(JSON.stringify(record));
      }),
      { numRuns: 2_000 },
    );
  });

  test('is read from form 1 as the bytes that were sent', () => {
    fc.assert(
      fc.property(transfer, (one) => {
        expect(fullPayload(inFormOne(one), originOf(one))).toBe(JSON.stringify(toTransferRecord(one)));
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ['1', '[1,"load",1000,"USD","card_1","req_01900000000070008000000000000003","order 7",null,1769850000000]'],
    ['2', '[2,"load",1000,"USD","card_1","AZAAAAAAcACAAAAAAAAAAw","=order 7",null]'],
  ])('is still read from form %s as when that form was introduced', (_form, stored) => {
    const one = aTransfer({ transferId: '019c1347-d280-7000-8000-000000000001', idempotencyKey: 'order 7' });
    expect(fullPayload(stored, originOf(one))).toBe(JSON.stringify(toTransferRecord(one)));
  });

  test('keeps fields that a later version adds at the end, even if they are null', () => {
    fc.assert(
      fc.property(transfer, orNull(text), (one, added) => {
        const record = { ...toTransferRecord(one), added };
        expect(fullPayload(compactPayload(record), originOf(one))).toBe(JSON.stringify(record));
      }),
    );
  });

  test('stays unchanged in its full form', () => {
    fc.assert(
      fc.property(transfer, (one) => {
        const json = JSON.stringify(toTransferRecord(one));
        expect(fullPayload(json, originOf(one))).toBe(json);
      }),
    );
  });

  test('takes less than a fifth of the bytes in its compact form', () => {
    const { cardId, createdAt } = aTransfer();
    const cardName = toWireId('card', cardId);
    const own = { transferId: idAt(createdAt), cardName, idempotencyKey: 'a'.repeat(32), createdBy: cardId };
    const record = toTransferRecord(aTransfer(own));
    expect(compactPayload(record).length * 5).toBeLessThan(JSON.stringify(record).length);
  });

  test('cannot be read if only later versions can read its form', () => {
    const origin = { programId: null, subjectId: 'tr_1' };
    expect(() => fullPayload('[3,"load"]', origin)).toThrow(
      'this version cannot read the stored form of the event of tr_1',
    );
  });
});
