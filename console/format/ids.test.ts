import { expect, test } from 'vitest';
import { kindOf, pathOf, shortId } from './ids.ts';

test('an id leads to the screen of what it names', () => {
  expect(kindOf('tr_0193')).toBe('transfer');
  expect(pathOf('tr_0193')).toBe('/console/transfer/tr_0193');
  expect(pathOf('req_0193')).toBe('/console/request/req_0193');
  expect(pathOf('card_active')).toBe('/console/card/card_active');
  expect(pathOf('my card/1', 'card')).toBe('/console/card/my%20card%2F1');
  expect(pathOf('evt_0193')).toBe('/console/search?q=evt_0193');
  expect(pathOf('aud_0193')).toBeUndefined();
  expect(pathOf('sandbox')).toBeUndefined();
});

test('only long ids are shortened', () => {
  expect(shortId('card_active')).toBe('card_active');
  expect(shortId('tr_01936f2a3b4c5d6e7f8091a2b3c4d5e6')).toBe('tr_01936f2…c4d5e6');
});
