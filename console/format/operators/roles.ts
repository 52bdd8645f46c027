import { type KeyScope, OPERATIONS, type OperationId } from '../../../sdk/client.ts';

/** The role with the fewest scopes that has one of these; who has none of them asks an administrator for a key. */
const HOLDERS: Readonly<Partial<Record<KeyScope, string>>> = {
  'transfers:write': 'an operator',
  'cards:write': 'an operator',
  'webhooks:write': 'an operator',
  'cases:write': 'an operator',
  'operator:cases': 'support',
  'switch:write': 'an operator',
  'funding:write': 'a treasurer',
};

/** Who may call an operation, for those who may not: `an operator`. */
export function whoMay(operation: OperationId): string {
  const { scope } = OPERATIONS[operation];
  return (scope === null ? undefined : HOLDERS[scope]) ?? 'an administrator';
}
