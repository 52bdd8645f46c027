import { fromWireId, toWireId } from '../identifier.ts';

// Invariant: A person has exactly the roles that OIDC_ROLES assigns to the values of the claim. Values are compared exactly
// Kept by: `decideAccess`
// Tested by: `domain/people/access.test.ts`, `test/security/sign-in/sign-in.test.ts`

/** Every role, from the one with the fewest permissions to the one with all. */
export const ROLE_NAMES = ['viewer', 'support', 'treasurer', 'operator', 'approver', 'administrator'] as const;

export type RoleName = (typeof ROLE_NAMES)[number];

/** A role, for one card program (inner UUID) or, with null, for all of them. */
export type Access = { readonly role: RoleName; readonly programId: string | null };

/** One entry of OIDC_ROLES: the value of the claim, and the role that it gives. */
export type RoleRule = Access & { readonly value: string };

/** Returns a role as people write it, such as `support` or `viewer@prog_0196f5c2d9a37d11b6e4f2a90c8d5e72`. */
export function accessText({ role, programId }: Access): string {
  return programId === null ? role : `${role}@${toWireId('prog', programId)}`;
}

/** Reads a role that {@link accessText} has written. Undefined for a role that this version does not know. */
export function readAccess(text: string): Access | undefined {
  const [name, program] = text.split('@');
  const role = ROLE_NAMES.find((known) => known === name);
  if (role === undefined) return undefined;
  return { role, programId: program === undefined ? null : (fromWireId('prog', program) ?? null) };
}

/**
 * Reads the setting OIDC_ROLES, such as `card-support=support, lumen-staff=viewer@prog_…`. A value may contain `=`,
 * because its role begins after the last one. It cannot contain a comma. Returns the problem as a sentence if the
 * setting is invalid.
 */
export function readRoleRules(text: string): readonly RoleRule[] | string {
  const rules: RoleRule[] = [];
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    const rule = readRule(entry);
    if (typeof rule === 'string') return rule;
    rules.push(rule);
  }
  return rules.length === 0 ? 'It has no entry.' : rules;
}

function readRule(entry: string): RoleRule | string {
  const [, value, access = ''] = /^(.*[^\s])\s*=\s*([^=]*)$/.exec(entry) ?? [];
  if (value === undefined) return `The entry '${entry}' is not of the form value=role.`;
  const [name = '', program, ...more] = access.split('@');
  const role = ROLE_NAMES.find((known) => known === name);
  if (role === undefined) return `The role '${name}' of '${value}' is none of: ${ROLE_NAMES.join(', ')}.`;
  if (program === undefined) return { value, role, programId: null };
  const programId = more.length === 0 ? fromWireId('prog', program) : undefined;
  if (programId !== undefined) return { value, role, programId };
  return `The card program '${[program, ...more].join('@')}' of '${value}' is not prog_ and 32 hex digits.`;
}

/** The values of a claim, and the reason why some may be missing. */
export type ClaimValues = {
  readonly values: readonly string[];
  /**
   * `missing`: there is no such claim. `not_text`: it has a different type. `left_out`: the provider has too many
   * values to send. `unverified`: people may have chosen the email address themselves.
   */
  readonly problem: 'missing' | 'not_text' | 'left_out' | 'unverified' | null;
};

/** The claims of a person, as the provider sent them. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * Returns the values of a claim: a string, or a list of strings. A name with dots, such as `realm_access.roles`, also
 * finds a member of an object, unless a claim has exactly this name. An email address must be verified by the provider.
 */
export function valuesOfClaim(claims: Claims, name: string): ClaimValues {
  const claim = claimOf(claims, name);
  const isUnverified = name === 'email' && memberOf(claims, 'email_verified') !== true;
  if (isUnverified && claim !== undefined) return { values: [], problem: 'unverified' };
  if (typeof claim === 'string') return { values: [claim], problem: null };
  if (Array.isArray(claim)) {
    const values = claim.filter((value) => typeof value === 'string');
    return { values, problem: values.length === claim.length ? null : 'not_text' };
  }
  if (claim !== undefined && claim !== null) return { values: [], problem: 'not_text' };
  const elsewhere = memberOf(claims, '_claim_names');
  return { values: [], problem: memberOf(elsewhere, name) === undefined ? 'missing' : 'left_out' };
}

function claimOf(claims: Claims, name: string): unknown {
  const own = memberOf(claims, name);
  return own === undefined ? name.split('.').reduce<unknown>(memberOf, claims) : own;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

/** A value that differs from an entry of OIDC_ROLES only in its case, in a leading slash, or in spaces around it. */
export type NearMiss = { readonly found: string; readonly expected: string };

/** The access that the values of a claim give to a person. */
export type AccessDecision =
  | { readonly kind: 'all_programs'; readonly access: readonly Access[]; readonly nearMisses: readonly NearMiss[] }
  | {
      readonly kind: 'one_program';
      readonly programId: string;
      readonly access: readonly Access[];
      readonly nearMisses: readonly NearMiss[];
    }
  /** The person has roles in several card programs, and must choose one. */
  | { readonly kind: 'choice'; readonly programIds: readonly string[]; readonly nearMisses: readonly NearMiss[] }
  | { readonly kind: 'none'; readonly nearMisses: readonly NearMiss[] };

/**
 * Decides on the roles of a person. Roles for all card programs take precedence over roles for one. `chosen` is the card program
 * (inner UUID) that the person chose, or null.
 */
export function decideAccess(
  values: readonly string[],
  rules: readonly RoleRule[],
  chosen: string | null,
): AccessDecision {
  const found = new Set(values);
  const matching = rules.filter(({ value }) => found.has(value));
  const nearMisses = nearMissesOf(values, rules);
  const everywhere = matching.filter(({ programId }) => programId === null);
  if (everywhere.length > 0) return { kind: 'all_programs', access: accessOf(everywhere), nearMisses };
  const programIds = [...new Set(matching.flatMap(({ programId }) => (programId === null ? [] : [programId])))];
  const [only] = programIds;
  if (only === undefined) return { kind: 'none', nearMisses };
  const programId = programIds.length === 1 ? only : programIds.find((one) => one === chosen);
  if (programId === undefined) return { kind: 'choice', programIds, nearMisses };
  const access = accessOf(matching.filter((rule) => rule.programId === programId));
  return { kind: 'one_program', programId, access, nearMisses };
}

function accessOf(rules: readonly RoleRule[]): readonly Access[] {
  const byText = new Map(rules.map(({ role, programId }) => [accessText({ role, programId }), { role, programId }]));
  return [...byText.values()];
}

function nearMissesOf(values: readonly string[], rules: readonly RoleRule[]): readonly NearMiss[] {
  const expected = new Set(rules.map(({ value }) => value));
  return values
    .filter((found) => !expected.has(found))
    .flatMap((found) =>
      [...expected]
        .filter((value) => !values.includes(value) && likeness(value) === likeness(found))
        .map((value) => ({ found, expected: value })),
    );
}

function likeness(value: string): string {
  return value.trim().replace(/^\//, '').toLowerCase();
}

/** Describes a near miss as a sentence. */
export function nearMissText({ found, expected }: NearMiss): string {
  const withoutSlash = (value: string): string => value.replace(/^\//, '');
  const isCase = withoutSlash(found).toLowerCase() === withoutSlash(expected).toLowerCase();
  const differs = withoutSlash(found) === withoutSlash(expected) ? 'a leading slash' : isCase ? 'its case' : 'spaces';
  return `The value '${found}' differs from '${expected}' in OIDC_ROLES only in ${differs}.`;
}
