/** What a key that is bound to one card program may be allowed to do. */
export const PROGRAM_SCOPES = [
  'transfers:read',
  'transfers:write',
  'cards:read',
  'cards:write',
  'errors:read',
  'events:read',
  'webhooks:write',
] as const;

/** Everything that a key may be allowed to do; `operator` only without a card program. */
export const KEY_SCOPES = [...PROGRAM_SCOPES, 'operator'] as const;

/** What a key may be allowed to do. */
export type KeyScope = (typeof KEY_SCOPES)[number];

/** Scopes in the order of the list above, each once. */
export function inOrder(scopes: readonly KeyScope[]): readonly KeyScope[] {
  return KEY_SCOPES.filter((scope) => scopes.includes(scope));
}
