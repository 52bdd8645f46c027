import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toWireId } from '../../../domain/identifier.ts';
import { TRANSFER_STATUSES, TRANSFER_TYPES, type Transfer } from '../../../domain/transfers/transfer.ts';
import { toTransferRecord } from '../../../server/calls/records/transfer.ts';
import { compactPayload, fullPayload } from '../../../server/store/events/transfer-payload.ts';
import { aTransfer } from '../../fixtures/records.ts';

// A compact payload is read as the same bytes that were sent when the event happened.

const uuid = fc.uuid();
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

/** Mostly as usual, each field by itself also as it seldom is. */
const transfer: fc.Arbitrary<Transfer> = fc
  .record({
    now: time,
    amount,
    own: fc.record({
      programId: uuid,
      transferId: uuid,
      type: fc.constantFrom(...TRANSFER_TYPES),
      cardId: uuid,
      cardName: text,
      destinationCardId: fc.constant(null),
      destinationCardName: orNull(text),
      currency: fc.constantFrom('USD', 'JPY'),
      requestId: uuid,
      idempotencyKey: orNull(text),
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
      ...{ amount: whole, capturedAmount: whole, createdAt: now, updatedAt: now, completedAt: now },
      ...(other as Partial<Transfer>),
    }),
  );

const originOf = ({ programId, transferId }: Transfer) => ({ programId, subjectId: toWireId('tr', transferId) });

describe('the payload of an event about a transfer', () => {
  test('is in its compact form read as the bytes that were sent', () => {
    fc.assert(
      fc.property(transfer, (one) => {
        const record = toTransferRecord(one);
        expect(fullPayload(compactPayload(record), originOf(one))).toBe(JSON.stringify(record));
      }),
      { numRuns: 2_000 },
    );
  });

  test('keeps fields that a later version adds to the end, also where they are null', () => {
    fc.assert(
      fc.property(transfer, orNull(text), (one, added) => {
        const record = { ...toTransferRecord(one), added };
        expect(fullPayload(compactPayload(record), originOf(one))).toBe(JSON.stringify(record));
      }),
    );
  });

  test('is left as it is in its full form', () => {
    fc.assert(
      fc.property(transfer, (one) => {
        const json = JSON.stringify(toTransferRecord(one));
        expect(fullPayload(json, originOf(one))).toBe(json);
      }),
    );
  });

  test('has less than a third of the bytes', () => {
    const { cardId } = aTransfer();
    const own = { cardName: toWireId('card', cardId), idempotencyKey: 'a'.repeat(32), createdBy: cardId };
    const record = toTransferRecord(aTransfer(own));
    expect(compactPayload(record).length * 3).toBeLessThan(JSON.stringify(record).length);
  });

  test('of a form that only later versions know is an error, and no other bytes', () => {
    const origin = { programId: null, subjectId: 'tr_1' };
    expect(() => fullPayload('[2,"load"]', origin)).toThrow('this version does not know the form of the event of tr_1');
  });
});
