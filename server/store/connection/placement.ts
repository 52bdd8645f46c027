import pg from 'pg';
import { codeOf } from '../../foundation/startup-problem.ts';
import { READ_ONLY } from './failure.ts';

// A placement is a ledger whose schema is distributed over a Citus cluster. All its tables are on one node at a time, and
// `transfer-service distribute` moves them to another.

// Invariant: A transaction of a placement takes its locks where its rows are
// Kept by: `REQUIRE_PLACEMENT` after the first write of every transaction; a placement is not moved while a transaction has written
// Tested by: `verification/campaigns/cluster.ts`

/** SQL: whether the tables on the search path belong to a placement. False without Citus. */
export const IS_PLACEMENT = "(pg_catalog.to_regprocedure('require_place()') is not null)";

/** SQL: the same for the tables of the schema that the parameter names. */
export const IS_PLACEMENT_IN =
  "(pg_catalog.to_regprocedure(pg_catalog.format('%I.require_place()', $1::text)) is not null)";

/**
 * Fails like a write to a standby if the tables are on another node. Citus would forward the statements of this transaction to
 * that node, and its advisory locks would exclude no other session there.
 */
export const REQUIRE_PLACEMENT = { name: 'require_place', text: 'select require_place()', values: [] };

/**
 * Citus cannot plan a statement without its values. Triggers and functions of the schema run further statements, which it allows
 * only on demand. The empty list of programs shows that Citus has not forwarded a statement to this session: see `own_programs`.
 */
export const PLACEMENT_SETTINGS =
  "set plan_cache_mode = auto; set citus.allow_nested_distributed_execution = on; set service.programs = '{}'";

/** Whether a node of a Citus cluster has the tables of the placement in a schema. */
export async function hasTables(client: pg.ClientBase, schema: string): Promise<boolean> {
  try {
    await client.query(`select ${pg.escapeIdentifier(schema)}.require_place()`);
    return true;
  } catch (error) {
    if (codeOf(error) === READ_ONLY) return false;
    throw error;
  }
}
