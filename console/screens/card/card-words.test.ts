import { expect, test } from 'vitest';
import { CARD_MOVES, CARD_STATUSES, type CardRecord } from '../../../sdk/client.ts';
import {
  effectOf,
  limitLinesOf,
  MOVES,
  meaningOf,
  metadataText,
  readMetadataChange,
  statusText,
  titleOf,
  whyNotMove,
} from './card-words.ts';

test('has a meaning for every status', () => {
  for (const status of CARD_STATUSES) {
    expect(meaningOf(status)).toMatch(/^(It|Its|Money|No money) .*\.$/);
    expect(statusText(status)).toBeTruthy();
  }
});

test('gives a reason for exactly the changes that the service refuses', () => {
  for (const status of CARD_STATUSES) {
    const card = { status, held: 0, incoming: 0, connector_id: null };
    const allowed = MOVES.filter((move) => whyNotMove(card, move) === undefined);
    expect(allowed.toSorted(), status).toEqual(CARD_MOVES[status].toSorted());
  }
  const held = { status: 'active', held: 0, incoming: 1 } as const;
  expect(whyNotMove({ ...held, connector_id: null }, 'closed')).toContain('Capture or cancel');
  expect(whyNotMove({ ...held, connector_id: 'con' }, 'closed')).toContain('at the processor');
});

test.each([
  ['inactive', 'Suspend Ada ··4242'],
  ['stolen', 'Report Ada ··4242 as stolen'],
  ['fraud', 'Block Ada ··4242 for fraud'],
] as const)('names the card in the dialog for %s: %s', (move, title) => {
  expect(titleOf(move, 'Ada ··4242')).toBe(title);
});

test('says which changes cannot be undone', () => {
  const card = { card_id: 'c', status: 'active', balance: 1234, currency: 'USD' } as CardRecord;
  expect(effectOf(card, 'closed')).toBe(
    'It is active and has 12.34 USD. After the change: money can no longer move to or from it. This cannot be undone.',
  );
  expect(effectOf(card, 'inactive')).not.toContain('undone');
});

test('shows how much of each limit is left', () => {
  const limit = { set_by: 'card', frees_at: null } as const;
  const lines = limitLinesOf(
    {
      limits: [
        { ...limit, name: 'daily_amount', value: 10_000, used: 2500, left: 7500, frees_at: '2030-01-01T00:00:00.000Z' },
        { ...limit, name: 'daily_count', value: 0, used: 0, left: 0 },
        { ...limit, name: 'maximum_amount', value: 500, used: null, left: null },
      ],
    },
    'USD',
  );
  expect(lines.map(({ name, use, share }) => [name, use, share])).toEqual([
    ['daily amount', '25.00 USD used, 75.00 USD left', 0.25],
    ['daily count', '0 used, 0 left', 1],
    ['maximum amount', null, null],
  ]);
});

const BEFORE = { team: 'sales', note: 'a = b' };

test('shows metadata as one line per pair, and sends nothing if the text is unchanged', () => {
  expect(metadataText(BEFORE)).toBe('team = sales\nnote = a = b');
  expect(readMetadataChange(BEFORE, metadataText(BEFORE))).toEqual({});
  expect(readMetadataChange(BEFORE, 'team=sales\n\n note = a = b ')).toEqual({});
});

test('sets changed pairs of metadata and removes missing ones', () => {
  expect(readMetadataChange(BEFORE, 'team = support\nregion = west')).toEqual({
    team: 'support',
    region: 'west',
    note: null,
  });
});

test('keeps metadata that cannot be written as a line', () => {
  const odd = { ...BEFORE, text: 'one\ntwo', 'x=y': '1' };
  expect(metadataText(odd)).toBe(metadataText(BEFORE));
  expect(readMetadataChange(odd, 'note = a = b')).toEqual({ team: null });
});

test.each(['team', '= sales', 'team ='])('refuses the line %s', (line) => {
  expect(readMetadataChange(BEFORE, line)).toBeUndefined();
});
