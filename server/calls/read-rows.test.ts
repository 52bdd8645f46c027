import { expect, test } from 'vitest';
import { NoConnection, StoreFailure } from '../store/connection/failure.ts';
import { toOperationFailure } from './read-rows.ts';

test('a database that answers on no connection is away; one with too few connections is busy', () => {
  const failureOf = (isCrowded: boolean) => toOperationFailure(new StoreFailure(new NoConnection(isCrowded)));
  expect(failureOf(false)).toMatchObject({ busy: false, endsIn: 1000 });
  expect(failureOf(true)).toMatchObject({ busy: true, endsIn: undefined });
});
