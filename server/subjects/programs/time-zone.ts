import { toOperationFailure } from '../../calls/read-rows.ts';
import type { Database } from '../../store/connection/database.ts';
import { StoreFailure } from '../../store/connection/failure.ts';
import { readTimeZone } from '../../store/program.ts';

/** PostgreSQL's state for a value that a setting does not take. */
const INVALID_VALUE = '22023';

/**
 * The names that a time zone can have. PostgreSQL takes offsets and rules of POSIX as well, such as `FOO+3`, all of which have
 * digits, as only these few names do.
 */
const NAME =
  /^(?:[A-Za-z_/+-]+|(?:posix\/)?(?:(?:Etc\/)?GMT[+-]?0|Etc\/GMT(?:\+[1-9]|\+1[0-2]|-[1-9]|-1[0-4])|(?:EST5E|CST6C|MST7M|PST8P)DT))$/;

/** Whether the server has a time zone of exactly this name: no abbreviation, offset or POSIX rule, and in this case. */
export async function isTimeZone(database: Database, name: string): Promise<boolean> {
  if (!NAME.test(name)) return false;
  try {
    const [row] = await database.read(readTimeZone(name));
    return row?.name === name;
  } catch (error) {
    if (error instanceof StoreFailure && error.sqlState === INVALID_VALUE) return false;
    throw toOperationFailure(error);
  }
}
