import { type KeyRecord, type KeyScope, OPERATIONS, type OperationId } from '../../../sdk/client.ts';

/** A key that was not used for this long counts as unused. */
const UNUSED_DAYS = 30;

export type StateOfKey = 'active' | 'rolled' | 'expired' | 'revoked';

/** Returns the state of a key at a time in milliseconds. A rolled key works until it expires. */
export function stateOfKey(key: Pick<KeyRecord, 'revoked_at' | 'expires_at' | 'replaced_by'>, now: number): StateOfKey {
  if (key.revoked_at !== null) return 'revoked';
  if (key.expires_at !== null && Date.parse(key.expires_at) <= now) return 'expired';
  return key.replaced_by === null ? 'active' : 'rolled';
}

/** Whether a key was last used over 30 days ago, or is older than a day and was never used. */
export function isUnused(
  { last_used_at, created_at }: Pick<KeyRecord, 'last_used_at' | 'created_at'>,
  now: number,
): boolean {
  const day = 86_400_000;
  if (last_used_at === null) return now - Date.parse(created_at) > day;
  return now - Date.parse(last_used_at) > UNUSED_DAYS * day;
}

/** The role with the fewest scopes that has a given scope. For any other scope, callers ask an administrator. */
const HOLDERS: Readonly<Partial<Record<KeyScope, string>>> = {
  'transfers:write': 'an operator',
  'cards:write': 'an operator',
  'webhooks:write': 'an operator',
  'cases:write': 'an operator',
  'operator:cases': 'support',
  'switch:write': 'an operator',
  'funding:write': 'a treasurer',
};

/** Returns who can call an operation, for a message to callers who can't: `an operator`. */
export function whoMay(operation: OperationId): string {
  const { scope } = OPERATIONS[operation];
  return (scope === null ? undefined : HOLDERS[scope]) ?? 'an administrator';
}
