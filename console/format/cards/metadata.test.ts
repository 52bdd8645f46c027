import { expect, test } from 'vitest';
import { metadataText, readMetadataChange } from './metadata.ts';

const BEFORE = { team: 'sales', note: 'a = b' };

test('metadata is a line for each pair, and unchanged is no change', () => {
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

test('what a line cannot say stays as it is', () => {
  const odd = { ...BEFORE, text: 'one\ntwo', 'x=y': '1' };
  expect(metadataText(odd)).toBe(metadataText(BEFORE));
  expect(readMetadataChange(odd, 'note = a = b')).toEqual({ team: null });
});

test.each(['team', '= sales', 'team ='])('%s is no pair', (line) => {
  expect(readMetadataChange(BEFORE, line)).toBeUndefined();
});
