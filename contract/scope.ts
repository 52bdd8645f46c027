import { type Access, ROLE_NAMES, type RoleName } from '../domain/people/access.ts';

export { ROLE_NAMES };

/** Scopes that a key of one card program can have. */
export const PROGRAM_SCOPES = [
  'transfers:read',
  'transfers:write',
  'cards:read',
  'cards:write',
  'cards:erase',
  'errors:read',
  'events:read',
  'webhooks:read',
  'webhooks:write',
  'cases:read',
  'cases:write',
] as const;

/**
 * Scopes that only keys bound to no card program can have. `operator` includes the others, and allows the operations without a
 * separate scope: changes of operators' webhooks, and the controls of a sandbox.
 */
export const OPERATOR_SCOPES = [
  'operator:read',
  'funding:write',
  'switch:write',
  'programs:write',
  'keys:write',
  'approvals:write',
  'operator:cases',
  'operator',
] as const;

export const KEY_SCOPES = [...PROGRAM_SCOPES, ...OPERATOR_SCOPES] as const;

export type KeyScope = (typeof KEY_SCOPES)[number];

/** The texts that are scopes, without duplicates, in the order of {@link KEY_SCOPES}. */
export function inOrder(scopes: readonly string[]): KeyScope[] {
  return KEY_SCOPES.filter((scope) => scopes.includes(scope));
}

/** Whether only keys bound to no card program can have the scope. */
export function isOfOperators(scope: KeyScope): boolean {
  return OPERATOR_SCOPES.some((one) => one === scope);
}

/** Whether a key with these scopes has the needed scope, directly or as part of `operator`. */
export function includesScope(scopes: readonly string[], needed: KeyScope): boolean {
  return scopes.includes(needed) || (isOfOperators(needed) && scopes.includes('operator'));
}

/** The scopes that include the needed scope: the scope itself, and `operator` if only operators have it. */
export function scopesIncluding(needed: KeyScope): KeyScope[] {
  return KEY_SCOPES.filter((scope) => includesScope([scope], needed));
}

const READS = ['transfers:read', 'cards:read', 'errors:read', 'events:read', 'webhooks:read', 'cases:read'] as const;

/**
 * The scopes of each role: viewers change nothing, support answers cases and reports incidents, treasurers change the funding,
 * operators run the service, approvers decide on other people's requests, administrators can do everything.
 */
export const ROLES = {
  viewer: READS,
  support: [...READS, 'operator:read', 'operator:cases'],
  treasurer: [...READS, 'operator:read', 'funding:write'],
  operator: [
    ...READS,
    'operator:read',
    'transfers:write',
    'cards:write',
    'webhooks:write',
    'cases:write',
    'switch:write',
    'operator:cases',
  ],
  approver: [...READS, 'operator:read', 'approvals:write'],
  administrator: KEY_SCOPES,
} as const satisfies Readonly<Record<RoleName, readonly KeyScope[]>>;

/** The name of a role. */
export type Role = RoleName;

/** The scopes of all roles together. A role for one card program has no scope of operators. */
export function scopesOf(access: readonly Access[]): KeyScope[] {
  return inOrder(
    access.flatMap(({ role, programId }) => ROLES[role].filter((scope) => programId === null || !isOfOperators(scope))),
  );
}

/** The role with exactly the permissions of these scopes. Null if there is none. */
export function roleOf(scopes: readonly string[]): Role | null {
  const has = (scope: KeyScope, among: readonly string[]): boolean => includesScope(among, scope);
  const isSame = (role: Role): boolean => KEY_SCOPES.every((scope) => has(scope, scopes) === has(scope, ROLES[role]));
  return ROLE_NAMES.find(isSame) ?? null;
}
