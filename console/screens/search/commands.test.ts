import { expect, test } from 'vitest';
import { findCommands, type Reach } from './commands.ts';

const screens = [
  { path: '/console', title: 'Overview', group: 'Watch' },
  { path: '/console/switch', title: 'Switch', group: 'Control' },
  { path: '/console/keys', title: 'Keys and sessions', name: 'Keys', group: 'Control' },
  { path: '/console/cards', title: 'Cards', group: 'Money' },
  { path: '/console/programs', title: 'Programs and funding', name: 'Programs', group: 'Money' },
  { path: '/console/card/:card_id', title: 'Card' },
];
const ALL: Reach = { screens, can: () => true, programId: 'prog_1' };
const titles = (text: string, reach = ALL) => findCommands(text, reach).map(({ title }) => title);

test.each([
  ['stop loads', ['Stop loads']],
  ['sto lo', ['Stop loads']],
  ['stop all loads', ['Stop loads']],
  ['stop all', ['Stop all transfers']],
  ['pause unloads', ['Stop unloads']],
  ['create key', ['New key']],
  ['keys', ['Keys and sessions']],
  ['create program', ['New card program']],
  ['new card', ['New card']],
  ['create card', ['New card']],
  ['Priya', []],
  ['75', []],
  ['card_lost', []],
])('finds the commands for "%s"', (text, expected) => {
  expect(titles(text).slice(0, 1)).toEqual(expected);
});

test('lists the best match first, and only screens without parameters', () => {
  expect(titles('switch')[0]).toBe('Switch');
  expect(titles('open screen')).toEqual(['Overview', 'Switch', 'Keys and sessions', 'Cards', 'Programs and funding']);
});

test('offers only what the caller may do', () => {
  expect(titles('stop loads', { ...ALL, can: () => false })).toEqual([]);
  expect(titles('stop loads', { ...ALL, screens: [] })).toEqual([]);
  expect(findCommands('deposit', ALL)).toEqual(
    [{ kind: 'Action', title: 'Deposit', path: '/console/programs/prog_1?open=deposit' }].map((one) =>
      expect.objectContaining(one),
    ),
  );
  expect(titles('deposit', { ...ALL, programId: undefined })).toEqual([]);
});

test('lists the actions if nothing is typed', () => {
  expect(titles('')).toContain('Stop all transfers');
  expect(titles('')).not.toContain('Overview');
});
