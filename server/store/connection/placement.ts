import pg from 'pg';
import { codeOf } from '../../foundation/startup-problem.ts';
import { READ_ONLY } from './failure.ts';

// A placement is a ledger whose schema is distributed over a Citus cluster. All of its tables are on the same node, and
// `transfer-service distribute` moves them to another.

// Invariant: A transaction of a placement takes its locks on the node that has its rows
// Kept by: `REQUIRE_PLACEMENT` after the first write of every transaction; no placement is moved while such a transaction is open
// Tested by: `verification/campaigns/cluster.ts`

/** SQL: whether the tables on the search path belong to a placement. False without Citus. */
export const IS_PLACEMENT = "(pg_catalog.to_regprocedure('require_place()') is not null)";

/** SQL: the same for the tables of the schema in the parameter. */
export const IS_PLACEMENT_IN =
  "(pg_catalog.to_regprocedure(pg_catalog.format('%I.require_place()', $1::text)) is not null)";

/**
 * If the tables are on a different node, fails like a write to a standby. Citus would forward the statements of this
 * transaction to that node, and its advisory locks would exclude no other session there.
 */
export const REQUIRE_PLACEMENT = { name: 'require_place', text: 'select require_place()', values: [] };

/**
 * Citus can plan a statement only with its values. Triggers and functions of the schema run further statements, which Citus allows
 * only if this is set. The empty list of programs shows that Citus has not forwarded a statement to this session: see
 * `own_programs`.
 */
export const PLACEMENT_SETTINGS =
  "set plan_cache_mode = auto; set citus.allow_nested_distributed_execution = on; set service.programs = '{}'";

/** Returns whether a node of a Citus cluster has the tables of the placement in a schema. */
export async function hasTables(client: pg.ClientBase, schema: string): Promise<boolean> {
  try {
    await client.query(`select ${pg.escapeIdentifier(schema)}.require_place()`);
    return true;
  } catch (error) {
    if (codeOf(error) === READ_ONLY) return false;
    throw error;
  }
}
