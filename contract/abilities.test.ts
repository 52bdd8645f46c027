import { expect, test } from 'vitest';
import { abilitiesOf } from './abilities.ts';
import { ABILITIES } from './access.ts';
import { OPERATIONS } from './operations.ts';
import { includesScope, KEY_SCOPES, ROLES } from './scope.ts';

test('the scopes that can move money are exactly those of operations that move money', () => {
  const scopes = KEY_SCOPES.filter((scope) => abilitiesOf([scope]).includes('move_money'));
  expect(scopes).toEqual(['transfers:write', 'cards:write', 'funding:write', 'operator']);
  const calls = Object.values(OPERATIONS).filter(
    // A decision on an approval also needs another scope.
    ({ movesMoney, reach, id }) => movesMoney && reach !== 'sandbox' && id !== 'approve_change',
  );
  for (const { scope } of calls) {
    for (const one of KEY_SCOPES) {
      if (scope !== null && includesScope([one], scope)) expect(scopes).toContain(one);
    }
  }
});

test('every scope allows something, and a key without scopes can do nothing', () => {
  for (const scope of KEY_SCOPES) expect(abilitiesOf([scope]), scope).not.toEqual([]);
  expect(abilitiesOf([])).toEqual([]);
});

test.each([
  ['viewer', ['read']],
  ['support', ['change_other', 'read']],
  ['treasurer', ['move_money', 'change_funding', 'change_other', 'read']],
  ['operator', ['move_money', 'change_other', 'read']],
  ['approver', ['approve', 'read']],
  ['administrator', ABILITIES],
] as const)('the role %s can %j', (role, abilities) => {
  expect(abilitiesOf(ROLES[role])).toEqual(abilities);
});
