import { expect, test } from 'vitest';
import { type AskedFor, checkApprovals, type FoundApproval, type FoundMovement } from './approvals.ts';

const OVER = 1000;
const ASKED: AskedFor = { key: 'k', maker: 'ada', amount: 2000, approvalId: 'apr_1', acknowledged: 'carried_out' };
const APPROVAL: FoundApproval = { approvalId: 'apr_1', key: 'k', status: 'carried_out', maker: 'ada', decider: 'omar' };
const MOVED: FoundMovement = { key: 'k', amount: 2000 };

type Books = {
  readonly asked?: Partial<AskedFor>;
  readonly approvals?: readonly Partial<FoundApproval>[];
  readonly moved?: readonly FoundMovement[];
};

const check = ({ asked = {}, approvals = [{}], moved = [MOVED] }: Books): readonly string[] =>
  checkApprovals(
    [{ ...ASKED, ...asked }],
    approvals.map((one) => ({ ...APPROVAL, ...one })),
    moved,
    OVER,
  );

test('finds nothing in a request that a second person approved', () => {
  expect(check({})).toEqual([]);
});

test.each<[problem: string, books: Books]>([
  ['a request has two approvals', { approvals: [{}, {}] }],
  ['k moved twice', { moved: [MOVED, MOVED] }],
  ['k moved 2000 without an approval', { approvals: [], asked: { approvalId: undefined, acknowledged: undefined } }],
  ['k moved, but its approval has the status failed', { approvals: [{ status: 'failed' }] }],
  ['k has the status carried_out, but moved nothing', { moved: [] }],
  ['k is approved, but was not carried out', { approvals: [{ status: 'approved' }], moved: [] }],
  ['k moved, but is rejected', { approvals: [{ status: 'rejected' }] }],
  ['k was approved by ada, who requested it', { approvals: [{ decider: 'ada' }] }],
  ['k was carried out, but no one approved it', { approvals: [{ decider: null }] }],
  ['k lost its approval apr_2', { asked: { approvalId: 'apr_2' } }],
  ['k has an approval that it does not need', { asked: { amount: 1000 }, moved: [{ key: 'k', amount: 1000 }] }],
  ['k was rejected, but is carried_out', { asked: { acknowledged: 'rejected' } }],
])('finds a planted violation: %s', (problem, books) => {
  expect(check(books)).toContain(problem);
});
