import { toOperationFailure } from '../../calls/read-rows.ts';
import type { Database } from '../../store/connection/database.ts';
import { StoreFailure } from '../../store/connection/failure.ts';
import { readTimeZone } from '../../store/program.ts';

/** PostgreSQL's SQLSTATE for an invalid value of a setting. */
const INVALID_VALUE = '22023';

/**
 * The names that a time zone can have. PostgreSQL also accepts POSIX offsets and rules, such as `FOO+3`. All of them have
 * digits, and the only names with digits are those listed here.
 */
const NAME =
  /^(?:[A-Za-z_/+-]+|(?:posix\/)?(?:(?:Etc\/)?GMT[+-]?0|Etc\/GMT(?:\+[1-9]|\+1[0-2]|-[1-9]|-1[0-4])|(?:EST5E|CST6C|MST7M|PST8P)DT))$/;

/** Names of files of the time zone database that are no place: a zone that was never set, and whatever the server's machine has. */
const PLACEHOLDER = /^(?:posix\/)?(?:Factory|localtime|posixrules)$/;

/** Whether the server has a time zone of exactly this name, in the same case: not an abbreviation, offset or POSIX rule. */
export async function isTimeZone(database: Database, name: string): Promise<boolean> {
  if (!NAME.test(name) || PLACEHOLDER.test(name)) return false;
  try {
    const [row] = await database.read(readTimeZone(name));
    return row?.name === name;
  } catch (error) {
    if (error instanceof StoreFailure && error.sqlState === INVALID_VALUE) return false;
    throw toOperationFailure(error);
  }
}
