import { ABILITIES } from './access.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';
import { includesScope } from './scope.ts';

// Invariant: The abilities of a scope are derived from the definitions of the operations
// Tested by: `contract/abilities.test.ts`

export type Ability = (typeof ABILITIES)[number];

/** The operations that each ability covers. */
const CONCERNS: Readonly<Record<Exclude<Ability, 'approve'>, (operation: Operation) => boolean>> = {
  move_money: ({ movesMoney }) => movesMoney,
  change_funding: ({ movesMoney, reach }) => movesMoney && reach === 'operator',
  manage_keys: ({ freshSignIn }) => freshSignIn,
  change_other: ({ method, movesMoney, freshSignIn, dryRun }) =>
    method !== 'GET' && !movesMoney && !freshSignIn && !dryRun,
  read: ({ method }) => method === 'GET',
};

/**
 * The operations that a scope allows, except the controls of a sandbox. A read scope allows no change: deciding on an approval
 * also needs `approvals:write`, or the scope of the waiting operation.
 */
const SCOPED = Object.values<Operation>(OPERATIONS).filter(
  ({ reach, scope, method }) => scope !== null && reach !== 'sandbox' && (method === 'GET' || !scope.endsWith(':read')),
);

/** What a key or a person with these scopes can do, in the order of {@link ABILITIES}. */
export function abilitiesOf(scopes: readonly string[]): Ability[] {
  const allowed = SCOPED.filter(({ scope }) => scope !== null && includesScope(scopes, scope));
  return ABILITIES.filter((ability) =>
    // No operation names this scope: it lets its holder decide on approvals of any operation.
    ability === 'approve' ? includesScope(scopes, 'approvals:write') : allowed.some(CONCERNS[ability]),
  );
}
