import { expect, test } from 'vitest';
import { piecesOf } from './linked-text.ts';

const HEX = '01936f2a3b4c5d6e7f8091a2b3c4d5e6';

test('ids in a text are found, and nothing else is', () => {
  expect(piecesOf(`Transfer tr_${HEX} was refused (req_${HEX}).`)).toEqual([
    { text: 'Transfer ', isId: false },
    { text: `tr_${HEX}`, isId: true },
    { text: ' was refused (', isId: false },
    { text: `req_${HEX}`, isId: true },
    { text: ').', isId: false },
  ]);
  for (const text of ['no id', `tr_${HEX}0`, `xtr_${HEX}`, `tr_${HEX.slice(1)}`, '<script>']) {
    expect(piecesOf(text)).toEqual([{ text, isId: false }]);
  }
  expect(piecesOf('')).toEqual([]);
});
