import { expect, test } from 'vitest';
import { metadataText, readMetadataChange } from './metadata.ts';

const BEFORE = { team: 'sales', note: 'a = b' };

test('metadata has one line per pair, and unchanged text is no change', () => {
  expect(metadataText(BEFORE)).toBe('team = sales\nnote = a = b');
  expect(readMetadataChange(BEFORE, metadataText(BEFORE))).toEqual({});
  expect(readMetadataChange(BEFORE, 'team=sales\n\n note = a = b ')).toEqual({});
});

test('what was changed is set, what was taken out is removed', () => {
  expect(readMetadataChange(BEFORE, 'team = support\nregion = west')).toEqual({
    team: 'support',
    region: 'west',
    note: null,
  });
});

test('a pair that cannot be written as a line is kept', () => {
  const odd = { ...BEFORE, text: 'one\ntwo', 'x=y': '1' };
  expect(metadataText(odd)).toBe(metadataText(BEFORE));
  expect(readMetadataChange(odd, 'note = a = b')).toEqual({ team: null });
});

test.each(['team', '= sales', 'team ='])('%s is not a pair', (line) => {
  expect(readMetadataChange(BEFORE, line)).toBeUndefined();
});
