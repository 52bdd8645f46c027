import { expect, test } from 'vitest';
import { precedenceOf } from '../operations.ts';
import { codesLike } from './codes-like.ts';

test.each([
  ['card_closd', 'card_closed'],
  ['insufficent_funds', 'insufficient_funds'],
  ['insufficient-funds', 'insufficient_funds'],
  ['InsufficientFunds', 'insufficient_funds'],
  ['CARD_EXPIRED', 'card_expired'],
  ['insufficient', 'insufficient_funds'],
  ['unknown_create_transfers', 'unknown_create_transfer'],
])('%s: probably %s', (written, code) => {
  expect(codesLike(written, precedenceOf('create_transfer'))[0]).toBe(code);
});

test.each(['nonsense', '', 'xyzzy'])('nothing is like %j', (written) => {
  expect(codesLike(written, precedenceOf('create_transfer'))).toEqual([]);
});
