import type { Row, Statement } from './connection/database.ts';
import { columns, DATE, nullable, type RowOf, statement, TEXT, UUID } from './sql.ts';

const CALLER_NAMES = columns({
  keyName: TEXT,
  keyExpiresAt: nullable(DATE),
  programName: nullable(TEXT),
});

/** What a key and its card program are called. */
export type CallerNames = RowOf<typeof CALLER_NAMES.columns>;

const READ_CALLER_NAMES = statement(
  'read_caller_names',
  { keyId: UUID },
  `select api_key.name as key_name, api_key.expires_at as key_expires_at, program.name as program_name
    from api_key left join program using (program_id) where api_key.key_id = :keyId`,
);

/** Reads what a key and its card program are called; no row for a key that there is not. */
export function readCallerNames(keyId: string): Statement {
  return READ_CALLER_NAMES({ keyId });
}

/** The names in a row of {@link readCallerNames}. */
export function toCallerNames(row: Row): CallerNames {
  return CALLER_NAMES.read(row);
}
