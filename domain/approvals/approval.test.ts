import { describe, expect, test } from 'vitest';
import { APPROVAL_STATUSES, type Checker, type Maker, refuseDecision } from './approval.ts';

const NOW = 1_000;
const PENDING = { status: 'pending', operation: 'create_withdrawal', expiresAt: NOW + 1, decidedBy: null } as const;
const MAKER: Maker = { credentialId: 'tariq', behind: ['tariq'], lost: null };
const CHECKER: Checker = { credentialId: 'olivia', behind: ['olivia'], personId: 'olivia', mayDecide: true };
const DECISIONS = ['approve', 'reject', 'withdraw'] as const;

const codeOf = (
  ...[decision, approval, checker, maker]: [
    (typeof DECISIONS)[number],
    Parameters<typeof refuseDecision>[1]?,
    Checker?,
    Maker?,
  ]
) => refuseDecision(decision, approval ?? PENDING, checker ?? CHECKER, maker ?? MAKER, NOW)?.code;

test('a second person with the scope can approve and reject, but not withdraw', () => {
  expect(DECISIONS.map((decision) => codeOf(decision))).toEqual([undefined, undefined, 'forbidden']);
});

describe('the requester can only withdraw', () => {
  const own = ['own_approval', 'own_approval', undefined];
  const cases: Readonly<Record<string, [Checker, Maker]>> = {
    'with the same session': [{ ...CHECKER, credentialId: 'tariq', behind: ['tariq'] }, MAKER],
    'with a session, after a request with their key': [
      CHECKER,
      { ...MAKER, credentialId: 'key', behind: ['key', 'olivia'] },
    ],
    'with a key of another person that they created': [
      { ...CHECKER, credentialId: 'key', behind: ['key', 'olivia', 'tariq'] },
      MAKER,
    ],
    'with two keys that one key has created': [
      { ...CHECKER, credentialId: 'one', behind: ['one', 'root'] },
      { ...MAKER, credentialId: 'other', behind: ['other', 'root'] },
    ],
  };
  test.each(Object.entries(cases))('%s', (_, [checker, maker]) => {
    expect(DECISIONS.map((decision) => codeOf(decision, PENDING, checker, maker))).toEqual(own);
  });
});

test('a key that belongs to no one can reject, but not approve', () => {
  const key = { ...CHECKER, personId: null };
  expect([codeOf('approve', PENDING, key), codeOf('reject', PENDING, key)]).toEqual(['forbidden', undefined]);
});

test('someone without the scope of the operation or of approvals cannot decide anything', () => {
  const other = { ...CHECKER, mayDecide: false };
  expect(DECISIONS.map((decision) => codeOf(decision, PENDING, other))).toEqual([
    'forbidden',
    'forbidden',
    'forbidden',
  ]);
});

test('a request that its sender may no longer send can only be rejected', () => {
  const lost = { ...MAKER, lost: 'has been blocked' };
  expect(codeOf('approve', PENDING, CHECKER, lost)).toBe('invalid_approval_status');
  expect(codeOf('reject', PENDING, CHECKER, lost)).toBeUndefined();
});

describe('no decision is possible', () => {
  test.each(APPROVAL_STATUSES.filter((status) => status !== 'pending'))('when the status is %s', (status) => {
    for (const decision of DECISIONS) expect(codeOf(decision, { ...PENDING, status })).toBe('invalid_approval_status');
  });

  test('when the approval has expired, even before that is stored', () => {
    for (const decision of DECISIONS)
      expect(codeOf(decision, { ...PENDING, expiresAt: NOW })).toBe('invalid_approval_status');
  });
});
