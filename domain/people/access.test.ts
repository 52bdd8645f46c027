import { describe, expect, test } from 'vitest';
import { toWireId } from '../identifier.ts';
import { accessText, decideAccess, nearMissText, type RoleRule, readRoleRules, valuesOfClaim } from './access.ts';

const LUMEN = '0196f5c2-d9a3-7d11-b6e4-f2a90c8d5e72';
const NOVA = '0196f5c2-d9a3-7d11-b6e4-f2a90c8d5e73';
const at = (programId: string) => toWireId('prog', programId);
const TEXT = `card-support=support, card-ops=operator,lumen-staff=viewer@${at(LUMEN)},nova-staff=viewer@${at(NOVA)}, cn=a=treasurer`;

function rulesOf(text: string): readonly RoleRule[] {
  const rules = readRoleRules(text);
  if (typeof rules === 'string') throw new Error(rules);
  return rules;
}

const RULES = rulesOf(TEXT);
const decide = (values: readonly string[], chosen: string | null = null) => decideAccess(values, RULES, chosen);

describe('OIDC_ROLES', () => {
  test('gives a role for all card programs, or for one', () => {
    expect(RULES.map((rule) => `${rule.value}: ${accessText(rule)}`)).toEqual([
      'card-support: support',
      'card-ops: operator',
      `lumen-staff: viewer@${at(LUMEN)}`,
      `nova-staff: viewer@${at(NOVA)}`,
      'cn=a: treasurer',
    ]);
  });

  test.each([
    ['', 'It has no entry.'],
    [' , ', 'It has no entry.'],
    ['card-ops', "The entry 'card-ops' is not of the form value=role."],
    ['=operator', "The entry '=operator' is not of the form value=role."],
    ['a=boss', "The role 'boss' of 'a' is none of: viewer, support, treasurer, operator, approver, administrator."],
    ['a=Viewer', "The role 'Viewer' of 'a' is none of: viewer, support, treasurer, operator, approver, administrator."],
    ['a=viewer@lumen', "The card program 'lumen' of 'a' is not prog_ and 32 hex digits."],
    [`a=viewer@${at(LUMEN)}@x`, `The card program '${at(LUMEN)}@x' of 'a' is not prog_ and 32 hex digits.`],
  ])('refuses %j', (text, problem) => expect(readRoleRules(text)).toBe(problem));
});

describe('a claim', () => {
  test.each([
    ['groups', { groups: ['a', 'b'] }, ['a', 'b'], null],
    ['groups', { groups: 'a' }, ['a'], null],
    ['groups', { groups: [] }, [], null],
    ['groups', {}, [], 'missing'],
    ['groups', { groups: null }, [], 'missing'],
    ['groups', { groups: 7 }, [], 'not_text'],
    ['groups', { groups: ['a', 7] }, ['a'], 'not_text'],
    // Entra ID sends this instead of more than 200 groups.
    ['groups', { _claim_names: { groups: 'src1' } }, [], 'left_out'],
    ['realm_access.roles', { realm_access: { roles: ['a'] } }, ['a'], null],
    ['a.b', { 'a.b': ['whole'], a: { b: ['part'] } }, ['whole'], null],
    ['https://example.com/roles', { 'https://example.com/roles': ['a'] }, ['a'], null],
    ['email', { email: 'a@bank.test', email_verified: true }, ['a@bank.test'], null],
    ['email', { email: 'a@bank.test', email_verified: 'true' }, [], 'unverified'],
    ['email', { email: 'a@bank.test' }, [], 'unverified'],
    ['constructor', {}, [], 'missing'],
    ['__proto__.x', {}, [], 'missing'],
  ])('gives its values, and the problem if there is one: %s of %j', (name, claims, values, problem) => {
    expect(valuesOfClaim(claims, name)).toEqual({ values, problem });
  });
});

describe('the access of a person', () => {
  test('combines the roles for all card programs, and ignores other values', () => {
    const access = [
      { role: 'support', programId: null },
      { role: 'operator', programId: null },
    ];
    expect(decide(['card-ops', 'everyone', 'card-support'])).toMatchObject({ kind: 'all_programs', access });
  });

  test('has only the roles for all card programs if there are also roles for one', () => {
    const decision = { kind: 'all_programs', access: [{ role: 'support', programId: null }] };
    expect(decide(['lumen-staff', 'card-support'])).toMatchObject(decision);
    expect(decide(['lumen-staff', 'card-support'], LUMEN)).toMatchObject(decision);
  });

  test('is for one card program if all roles are in that program', () => {
    const decision = { kind: 'one_program', programId: LUMEN, access: [{ role: 'viewer', programId: LUMEN }] };
    expect(decide(['lumen-staff'])).toMatchObject(decision);
    expect(decide(['lumen-staff'], NOVA)).toMatchObject(decision);
  });

  test('needs a choice if the roles are in several card programs', () => {
    const values = ['lumen-staff', 'nova-staff'];
    expect(decide(values)).toMatchObject({ kind: 'choice', programIds: [LUMEN, NOVA] });
    expect(decide(values, NOVA)).toMatchObject({ kind: 'one_program', programId: NOVA });
    expect(decide(values, '00000000-0000-7000-8000-000000000000')).toMatchObject({ kind: 'choice' });
  });

  test.each([
    ['Card-Ops', 'card-ops', 'its case'],
    ['/card-ops', 'card-ops', 'a leading slash'],
    [' card-ops', 'card-ops', 'spaces'],
  ])('gives no role for the near miss %j, but names it', (found, expected, differs) => {
    expect(decide([found, 'x'])).toEqual({ kind: 'none', nearMisses: [{ found, expected }] });
    expect(nearMissText({ found, expected })).toBe(
      `The value '${found}' differs from '${expected}' in OIDC_ROLES only in ${differs}.`,
    );
  });

  test('names no near miss for a value that also matches exactly', () => {
    expect(decide(['card-ops', 'CARD-OPS'])).toMatchObject({ kind: 'all_programs', nearMisses: [] });
  });
});
