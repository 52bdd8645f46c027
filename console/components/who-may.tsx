import type { OperationId } from '../../sdk/client.ts';
import { useSession } from '../data/session.ts';
import { whoMay } from '../format/operators/roles.ts';

/** Shown in place of a button to callers who may not use it: "To deposit money, ask a treasurer." */
export function WhoMay({ operation, to }: { readonly operation: OperationId; readonly to: string }) {
  const { can } = useSession();
  if (can(operation)) return null;
  return (
    <p class="quiet">
      To {to}, ask {whoMay(operation)}.
    </p>
  );
}
