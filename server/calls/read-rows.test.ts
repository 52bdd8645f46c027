import { expect, test } from 'vitest';
import { NoConnection, StoreFailure } from '../store/connection/failure.ts';
import { toOperationFailure } from './read-rows.ts';

test('reports an unresponsive database as unavailable, and a shortage of connections as busy', () => {
  const failureOf = (isCrowded: boolean) => toOperationFailure(new StoreFailure(new NoConnection(isCrowded)));
  expect(failureOf(false)).toMatchObject({ busy: false, endsIn: 1000 });
  expect(failureOf(true)).toMatchObject({ busy: true, endsIn: undefined });
});
