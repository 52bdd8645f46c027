import { randomUUIDv7 } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { OPERATION_IDS, OPERATIONS } from '../../../contract/operations.ts';
import { withoutUrlEncoding } from '../../../domain/cards/card-number.ts';
import { CURRENCY_EXPONENTS, formatMoney, MAXIMUM_BALANCE } from '../../../domain/ledger/money.ts';
import type { Refusal, Seen } from '../../../domain/refusal.ts';
import { examineReceivingAccount } from '../../../domain/transfers/limit-checks.ts';
import { examineSwitch } from '../../../domain/transfers/transfer-checks.ts';
import type { Finding, TransferView } from '../../../domain/transfers/transfer-view.ts';
import { toOperatorErrorRecord } from '../../calls/records/error.ts';
import { type ReportedError, redactedEntryOf } from './redacted-entry.ts';

/**
 * Card numbers (valid by Luhn): one with as many digits as the largest balance, one with as many as a time in milliseconds since
 * 1970, and one with a number of digits in between.
 */
const CARD_NUMBERS = ['4111111111111111', '4222222222222', '378282246310005'];

const balances = fc.oneof(
  fc.bigInt(-MAXIMUM_BALANCE, MAXIMUM_BALANCE),
  fc.constantFrom(...CARD_NUMBERS).map((digits) => BigInt(digits)),
);
const currencies = fc.constantFrom(...Object.keys(CURRENCY_EXPONENTS));
/** Times up to the year 9999. */
const times = fc.oneof(fc.integer({ min: 0, max: 253_402_300_799_999 }), fc.constant(4_222_222_222_222));

function entryOf(change: Partial<ReportedError>) {
  const report: ReportedError = {
    requestId: randomUUIDv7(),
    operation: 'create_transfer',
    code: 'insufficient_funds',
    status: 409,
    type: 'Request Error',
    message: 'refused',
    method: 'POST',
    path: '/api/v0.1/core/transfer',
    programId: undefined,
    caller: 'program_key',
    moneyMoved: 'no',
    transferId: undefined,
    saw: undefined,
    field: undefined,
    idempotencyKey: undefined,
    fields: undefined,
    cause: undefined,
    ...change,
  };
  return redactedEntryOf(report).error;
}

function refusalOf(finding: Finding): Refusal {
  if (finding.outcome !== 'failed') throw new Error('the check has passed');
  return finding.refusal;
}

describe('does not redact what the service wrote, even if it looks like a card number', () => {
  test('in checks: amounts and the use of a limit', () => {
    fc.assert(
      fc.property(balances, balances, (balance, limit) => {
        const saw: Seen = { balance, card_in_daily_amount: { used: balance, limit } };
        expect(entryOf({ saw }).checks).toEqual({
          balance: String(balance),
          card_in_daily_amount: `${balance} of ${limit} used`,
        });
      }),
    );
  });

  test('in a message: amounts', () => {
    fc.assert(
      fc.property(balances, balances, currencies, (balance, amount, currency) => {
        const message = `The card 'c' has ${formatMoney(balance, currency)} available; the transfer is for ${formatMoney(amount, currency)}.`;
        expect(entryOf({ message }).message).toBe(message);
      }),
    );
  });

  test('the checks and the message of a full account', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, MAXIMUM_BALANCE), currencies, (balance, currency) => {
        const card = { name: 'c', limits: { in: {}, out: {}, maximumBalance: balance } } as never;
        const account = { kind: 'card', balance, incoming: 0n, currency } as never;
        const { message, details } = refusalOf(examineReceivingAccount(account, card, 1n, { rules: {} as never }));
        const entry = entryOf({ message, saw: details.saw });
        expect(entry.message).toBe(message);
        const checks = {
          account: 'card',
          balance: `${balance}`,
          incoming: '0',
          amount: '1',
          maximum_balance: `${balance}`,
        };
        expect(entry.checks).toEqual(checks);
      }),
    );
  });

  test('the end of a disabled scope, a time in ISO 8601', () => {
    fc.assert(
      fc.property(times, (until) => {
        const setting = {
          programId: null,
          transferType: null,
          connectorId: null,
          disabled: true,
          reason: 'r',
          actor: 'a',
          since: 0,
          until,
        };
        const view: Pick<TransferView, 'programId' | 'switches' | 'now'> = {
          programId: 'p',
          switches: [setting],
          now: -1,
        };
        const { saw } = refusalOf(examineSwitch({ type: null, connectorId: null }, view)).details;
        const checks = { disabled: true, scope: 'service', reason: 'r', until: new Date(until).toISOString() };
        expect(entryOf({ saw }).checks).toEqual(checks);
      }),
    );
  });
});

test.each(CARD_NUMBERS)('redacts the card number %s in text from a caller, but not as a balance', (number) => {
  const saw = { reference: number, card_id: `card ${number}`, taken_by: null, balance: BigInt(number) };
  const entry = entryOf({
    saw,
    message: `The reference '${number}' is taken.`,
    fields: { reference: `${number} JPY` },
  });
  expect(entry.checks).toEqual({
    reference: '[redacted]',
    card_id: 'card [redacted]',
    taken_by: null,
    balance: number,
  });
  expect(JSON.stringify({ ...entry, checks: null })).not.toContain(number);
});

test.each([
  ['a number', 1_763_841_234_567, '2025-11-22T19:53:54.567Z'],
  ['digits', '1763841234567', '2025-11-22T19:53:54.567Z'],
  ['a time', '2025-11-22T19:53:54.567Z', '2025-11-22T19:53:54.567Z'],
  ['redacted text', '[redacted]', '[redacted]'],
  ['no end', null, null],
])('shows the end of a disabled scope that was stored as %s', (_, until, shown) => {
  const stored = { ...entryOf({}), checks: { disabled: true, until } };
  expect(toOperatorErrorRecord(stored).checks).toEqual({ disabled: true, until: shown });
});

test.each([
  'https://a.example/4532%200151%201283%200366',
  'https://a.example/?card=%22453201511283%2530366%22',
  'https://a.example/?card=4532+0151+1283+0366',
])('does not store a percent-encoded card number: %s', (url) => {
  const entry = entryOf({
    operation: 'create_webhook',
    fields: { url },
    message: `No '${url}'.`,
    path: new URL(url).pathname,
  });
  expect(withoutUrlEncoding(JSON.stringify(entry))).not.toMatch(/4532[ +]?0151/);
});

test('redacts the metadata filter of every list', () => {
  const lists = OPERATION_IDS.filter((id) => 'metadata_name' in (OPERATIONS[id].query?.properties ?? {}));
  expect(lists).toEqual(expect.arrayContaining(['list_transfers', 'list_cards', 'list_programs']));
  for (const operation of lists) {
    const { request } = entryOf({
      operation,
      fields: { metadata_name: 'name', metadata_value: 'Ada', limit: 0 },
    });
    expect(request, operation).toMatchObject({ metadata_name: '[redacted]', metadata_value: '[redacted]' });
  }
});

test("does not store the processor's token for a card", () => {
  const fields = { card_id: 'a', connector_id: 'missing', processor_token: 'tok_of_the_card' };
  const entry = entryOf({ operation: 'create_card', fields });
  expect(entry.request).toEqual({ ...fields, processor_token: '[redacted]' });
});
