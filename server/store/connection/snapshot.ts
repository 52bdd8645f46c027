import type { Statement } from './database.ts';

/**
 * First in the load of a transaction that only reads: all its statements see the books as they were at one moment,
 * without a lock that anybody would have to wait for.
 */
export const ONE_SNAPSHOT: Statement = {
  name: 'one_snapshot',
  text: 'set transaction isolation level repeatable read, read only',
  values: [],
};
