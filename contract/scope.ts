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
] as const;

/**
 * Scopes that only keys bound to no card program can have. `operator` contains the others, and what has no scope of its
 * own: changes of operators' webhooks, and the controls of a sandbox.
 */
export const OPERATOR_SCOPES = [
  'operator:read',
  'funding:write',
  'switch:write',
  'programs:write',
  'keys:write',
  'operator',
] as const;

/** Every scope. */
export const KEY_SCOPES = [...PROGRAM_SCOPES, ...OPERATOR_SCOPES] as const;

/** What a key may do. */
export type KeyScope = (typeof KEY_SCOPES)[number];

/** Those of the texts that are scopes, each once, in the order of {@link KEY_SCOPES}. */
export function inOrder(scopes: readonly string[]): KeyScope[] {
  return KEY_SCOPES.filter((scope) => scopes.includes(scope));
}

/** Whether only keys bound to no card program can have the scope. */
export function isOfOperators(scope: KeyScope): boolean {
  return OPERATOR_SCOPES.some((one) => one === scope);
}

/** Whether a key with these scopes has the scope: as such, or as a part of `operator`. */
export function includesScope(scopes: readonly string[], needed: KeyScope): boolean {
  return scopes.includes(needed) || (isOfOperators(needed) && scopes.includes('operator'));
}
