import { expect, test } from 'vitest';
import { type Group, onlyHit, pathOfHit } from './hits.ts';

const HEX = '01936f2a3b4c5d6e7f8091a2b3c4d5e6';
const hit = (id: string, summary = '') =>
  ({ id, program_id: `prog_${HEX}`, matched: 'id', summary, created_at: null }) as const;

test.each<[Group['kind'], string, string, string | undefined]>([
  ['transfer', `tr_${HEX}`, '', `/console/transfer/tr_${HEX}`],
  ['card', 'my card/1', '', '/console/card/my%20card%2F1'],
  ['request', `req_${HEX}`, '', `/console/request/req_${HEX}`],
  ['reversal', `rev_${HEX}`, `Reversal of 1.00 USD of tr_${HEX}`, `/console/transfer/tr_${HEX}`],
  ['event', `evt_${HEX}`, `Event transfer.completed about tr_${HEX}`, `/console/transfer/tr_${HEX}`],
  ['event', `evt_${HEX}`, "Event card.created about the card 'shop-1'", '/console/card/shop-1'],
  ['event', `evt_${HEX}`, 'Event switch.changed about service', undefined],
  ['deposit', `dep_${HEX}`, '', `/console/programs/prog_${HEX}`],
  ['event', `evt_${HEX}`, `Event approval.requested about apr_${HEX}`, `/console/approval/apr_${HEX}`],
  ['approval', `apr_${HEX}`, '', `/console/approval/apr_${HEX}`],
  ['person', `per_${HEX}`, '', '/console/keys'],
  ['error_code', 'card_lost', '', '/errors/card_lost'],
  ['idempotency_key', 'order-1', '', undefined],
])('links a hit of the kind %s to its screen', (kind, id, summary, path) => {
  expect(pathOfHit(kind, hit(id, summary))).toBe(path);
});

test('opens a single hit, but not one of two', () => {
  const group = { kind: 'transfer', results: [hit(`tr_${HEX}`)], has_more: false } as const;
  expect(onlyHit([group])?.kind).toBe('transfer');
  expect(onlyHit([])).toBeUndefined();
  expect(onlyHit([group, group])).toBeUndefined();
  expect(onlyHit([{ ...group, results: [...group.results, ...group.results] }])).toBeUndefined();
});
