import type { Statement } from './database.ts';
import { LACKS_STANDBY, REPLICATED } from './standby.ts';

/**
 * Gives a statement as little memory as possible, and puts temporary files on the database's own disk, so that {@link TRY_TO_WRITE}
 * must write a file there.
 */
export const FORCE_A_FILE: Statement = {
  name: 'force_a_file',
  text: `select set_config('work_mem', '64kB', true), set_config('temp_tablespaces', '', true)`,
  values: [],
};

/**
 * Reads whether the connection may write, whether commits wait for a standby, and whether a standby is required but none is
 * configured. Writes a temporary file of about 160 kB, because its rows do not fit in memory. Fails with 53100 if the disk is
 * full. Unlike a row that is rolled back, the file leaves nothing to vacuum, and never fits into an existing file.
 */
export const TRY_TO_WRITE: Statement = {
  name: 'try_to_write',
  text: `select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only, ${REPLICATED},
    ${LACKS_STANDBY} as lacks_standby,
    (select count(*) from generate_series(1, 8000)) as rows`,
  values: [],
};
