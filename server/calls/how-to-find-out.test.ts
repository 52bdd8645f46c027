import { expect, test } from 'vitest';
import { movesMoney, OPERATION_IDS, OPERATIONS, type OperationId } from '../../contract/operations.ts';
import { howToFindOut, isRepeatable } from './how-to-find-out.ts';

const adviceOf = (operation: OperationId): string => howToFindOut(operation, undefined, undefined);

test('says how to continue a move-in whose request has an unknown outcome', () => {
  expect(adviceOf('add_move_in_lines')).toBe('Send exactly the same request again: a line takes effect once.');
  expect(adviceOf('undo_move_in')).toBe(
    "Find out with GET /api/v0.1/operator/move-in/{move_in_id}: 'lines_undone' says how many lines are undone. " +
      'Sending the request again is safe: it undoes the next lines.',
  );
  expect([isRepeatable('add_move_in_lines'), isRepeatable('undo_move_in')]).toEqual([true, true]);
});

test('advises to look up a transfer only if repeating the request could move money again', () => {
  const looksUp = OPERATION_IDS.filter((id) => movesMoney(id) && adviceOf(id).includes(OPERATIONS.list_transfers.path));
  expect(looksUp.filter((id) => OPERATIONS[id].repeatable)).toEqual([]);
  expect(looksUp).toContain('create_transfer');
});
