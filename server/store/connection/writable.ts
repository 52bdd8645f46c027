import type { Statement } from './database.ts';
import { REPLICATED } from './standby.ts';

/**
 * The least memory a statement may be given, and no place for temporary files but the disk of the database itself: then
 * {@link TRY_TO_WRITE} has to write a file there.
 */
export const FORCE_A_FILE: Statement = {
  name: 'force_a_file',
  text: `select set_config('work_mem', '64kB', true), set_config('temp_tablespaces', '', true)`,
  values: [],
};

/**
 * Whether the connection may write, whether commits wait for a standby, and whether its disk takes a file of some 160 kB: more rows than the memory holds are
 * kept for a moment. Fails with 53100 on a full disk. Unlike a row written and rolled back it leaves nothing to vacuum, and
 * never finds room within an existing file.
 */
export const TRY_TO_WRITE: Statement = {
  name: 'try_to_write',
  text: `select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only, ${REPLICATED},
    (select count(*) from generate_series(1, 8000)) as rows`,
  values: [],
};
