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

/** Every scope; `operator` is only for keys that are bound to no card program. */
export const KEY_SCOPES = [...PROGRAM_SCOPES, 'operator'] as const;

/** What a key may do. */
export type KeyScope = (typeof KEY_SCOPES)[number];

/** Those of the texts that are scopes, each once, in the order of {@link KEY_SCOPES}. */
export function inOrder(scopes: readonly string[]): KeyScope[] {
  return KEY_SCOPES.filter((scope) => scopes.includes(scope));
}
