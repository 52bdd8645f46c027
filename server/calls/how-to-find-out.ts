import { OPERATIONS, type OperationId } from '../../contract/operations.ts';

/** Returns whether repeating an operation without an idempotency key has no further effect. False if it moves money. */
export function isRepeatable(operation: OperationId): boolean {
  const { movesMoney, method, repeatable } = OPERATIONS[operation];
  return !movesMoney && (method !== 'POST' || repeatable);
}

/**
 * Returns advice about an unknown outcome. If the request has a key or is safe to repeat, the advice is to send it again.
 * Otherwise, the advice is to look up the outcome.
 */
export function howToFindOut(operation: OperationId, transferId: string | undefined, key: string | undefined): string {
  if (!OPERATIONS[operation].movesMoney) return howToFindChange(operation, key);
  const transfers = OPERATIONS.list_transfers.path;
  if (operation === 'update_card') return 'Send exactly the same request again: a card is closed only once.';
  if (operation === 'create_transfer_batch')
    return 'Send the batch again with the same keys: no row moves money twice.';
  if (key !== undefined)
    return 'Send exactly the same request again with the same Idempotency-Key: the response is the outcome, and money moves at most once.';
  if (transferId !== undefined) return `Find out with GET ${transfers}/${transferId} before you send it again.`;
  if (operation === 'create_transfer') return `Find out with GET ${transfers} before you send it again.`;
  return `Find out with GET ${transfers} and the id of the transfer before you send it again.`;
}

function howToFindChange(operation: OperationId, key: string | undefined): string {
  if (key !== undefined)
    return 'Send exactly the same request again with the same Idempotency-Key: the response is the outcome.';
  if (isRepeatable(operation)) return 'Send exactly the same request again: repeating it has no further effect.';
  return 'Find out whether it took effect before you send it again.';
}
