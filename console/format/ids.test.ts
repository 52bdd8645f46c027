import { expect, test } from 'vitest';
import { kindOf, pathOf, piecesOf, shortId } from './ids.ts';

test('links an id to the screen of its record', () => {
  expect(kindOf('tr_0193')).toBe('transfer');
  expect(pathOf('tr_0193')).toBe('/console/transfer/tr_0193');
  expect(pathOf('req_0193')).toBe('/console/request/req_0193');
  expect(pathOf('card_active')).toBe('/console/card/card_active');
  expect(pathOf('my card/1', 'card')).toBe('/console/card/my%20card%2F1');
  expect(pathOf('mvi_0193')).toBe('/console/move-ins/mvi_0193');
  expect(pathOf('cmp_0193')).toBe('/console/move-ins/comparison/cmp_0193');
  expect(pathOf('evt_0193')).toBe('/console/search?q=evt_0193');
  expect(pathOf('aud_0193')).toBeUndefined();
  expect(pathOf('sandbox')).toBeUndefined();
});

test('shortens only long ids', () => {
  expect(shortId('card_active')).toBe('card_active');
  expect(shortId('tr_01936f2a3b4c5d6e7f8091a2b3c4d5e6')).toBe('tr_…c4d5e6');
  expect(shortId('employee-of-the-month-7431')).toBe('employee-o…h-7431');
});

const HEX = '01936f2a3b4c5d6e7f8091a2b3c4d5e6';

test('finds only ids and moments in a sentence', () => {
  expect(piecesOf(`Transfer tr_${HEX} was refused at 2026-11-22T15:03:16.852Z (req_${HEX}).`)).toEqual([
    { text: 'Transfer ', kind: 'text' },
    { text: `tr_${HEX}`, kind: 'id' },
    { text: ' was refused on ', kind: 'text' },
    { text: '2026-11-22T15:03:16.852Z', kind: 'moment' },
    { text: ' (', kind: 'text' },
    { text: `req_${HEX}`, kind: 'id' },
    { text: ').', kind: 'text' },
  ]);
  expect(piecesOf(`The card 'it's-mine' has 1.00 USD; send the card 'b' or card_${HEX}, not 'card_id'.`)).toEqual([
    { text: 'The card ', kind: 'text' },
    { text: "it's-mine", kind: 'card' },
    { text: ' has 1.00 USD; send the card ', kind: 'text' },
    { text: 'b', kind: 'card' },
    { text: ' or ', kind: 'text' },
    { text: `card_${HEX}`, kind: 'card' },
    { text: ", not 'card_id'.", kind: 'text' },
  ]);
  for (const text of [
    "the program 'x'",
    "cards 'x'",
    "card 'a b'",
    'no id',
    `tr_${HEX}0`,
    `xtr_${HEX}`,
    `tr_${HEX.slice(1)}`,
    '<script>',
    '2026-11-22',
    '15:03:16Z',
  ]) {
    expect(piecesOf(text)).toEqual([{ text, kind: 'text' }]);
  }
  expect(piecesOf('')).toEqual([]);
});
