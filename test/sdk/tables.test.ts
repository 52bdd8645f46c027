import { expect, test } from 'vitest';
import { DECIMALS, decimalsOf } from '../../console/format/amounts.ts';
import { ERRORS as DEFINED_ERRORS } from '../../contract/errors/catalogue.ts';
import type { Operation } from '../../contract/operation.ts';
import { OPERATIONS as DEFINITIONS, movesMoney, OPERATION_IDS } from '../../contract/operations.ts';
import { guardedFields, isClosed } from '../../contract/schema-parts.ts';
import { CURRENCY_EXPONENTS } from '../../domain/ledger/money.ts';
import { ERRORS, OPERATIONS } from '../../sdk/client.ts';

// The tables are stored as text and parsed when the client is loaded.

test('every operation is parsed as in the contract', () => {
  expect(Object.keys(OPERATIONS)).toEqual([...OPERATION_IDS]);
  for (const id of OPERATION_IDS) {
    const { method, path, reach, scope, idempotency, repeatable, csv, body }: Operation = DEFINITIONS[id];
    expect(OPERATIONS[id], id).toEqual({
      method,
      path,
      program: reach === 'program',
      scope,
      reach,
      idempotency,
      movesMoney: movesMoney(id),
      repeatable: method === 'GET' || repeatable,
      csv,
      definedFields: body === undefined || !isClosed(body) ? {} : guardedFields(body),
    });
  }
});

test('the console shows amounts with the same decimals as the ledger', () => {
  for (const [currency, exponent] of Object.entries(CURRENCY_EXPONENTS))
    expect(decimalsOf(currency), currency).toBe(exponent);
  expect(new Set(Object.values(CURRENCY_EXPONENTS))).toEqual(new Set(DECIMALS));
});

test('every error code is parsed as in the catalog', () => {
  expect(Object.keys(ERRORS)).toEqual(Object.keys(DEFINED_ERRORS));
  for (const [code, { status, type, retryable: retry, moneyMoved }] of Object.entries(DEFINED_ERRORS)) {
    expect(ERRORS[code as keyof typeof ERRORS], code).toEqual({ status, type, retry, moneyMoved });
  }
});
