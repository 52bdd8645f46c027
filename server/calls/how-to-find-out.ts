import { OPERATIONS, type OperationId } from '../../contract/operations.ts';

/** Returns whether an operation can safely be repeated without an idempotency key, because money moves at most once. */
export function isRepeatable(operation: OperationId): boolean {
  const { movesMoney, method, repeatable } = OPERATIONS[operation];
  return method === 'POST' ? repeatable : !movesMoney;
}

const REPEAT = 'Send exactly the same request again: repeating it has no further effect.';

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
  if (operation === 'add_move_in_lines') return 'Send exactly the same request again: a line takes effect once.';
  if (operation === 'undo_move_in')
    return `Find out with GET ${OPERATIONS.get_move_in.path}: 'lines_undone' says how many lines are undone. Sending the request again is safe: it undoes the next lines.`;
  if (isRepeatable(operation)) return REPEAT;
  if (key !== undefined)
    return 'Send exactly the same request again with the same Idempotency-Key: the response is the outcome, and money moves at most once.';
  if (transferId !== undefined) return `Find out with GET ${transfers}/${transferId} before you send it again.`;
  if (operation === 'create_transfer') return `Find out with GET ${transfers} before you send it again.`;
  return `Find out with GET ${transfers} and the id of the transfer before you send it again.`;
}

function howToFindChange(operation: OperationId, key: string | undefined): string {
  if (key !== undefined)
    return 'Send exactly the same request again with the same Idempotency-Key: the response is the outcome.';
  if (isRepeatable(operation)) return REPEAT;
  return 'Find out whether it took effect before you send it again.';
}
