import type pg from 'pg';
import { hasTables, IS_PLACE_IN } from '../place.ts';

/** Why a host cannot be used. */
type ReadOnlyHost = { readonly reason: string; readonly isReadOnly: true };

/**
 * Whether it is a standby, and whether the server or the database was made read-only. Operators and providers do this to keep
 * programs from a primary that was replaced. A setting of the user does not count, because the service overrides it.
 */
const READ_STATE = `select pg_catalog.pg_is_in_recovery() as "isStandby", ${IS_PLACE_IN} as "isPlace",
    setting = 'on' and source <> all ('{user,database user,client,session}') as "isReadOnly"
  from pg_catalog.pg_settings where name = 'default_transaction_read_only'`;

/** Engines without standbys in PostgreSQL's sense show it only here. */
const READ_TRANSACTION = `select pg_catalog.current_setting('transaction_read_only') = 'on' as "isReadOnly"`;

type State = { readonly isStandby: boolean; readonly isReadOnly: boolean; readonly isPlace: boolean };

/**
 * Why the tables of a schema cannot be written to on a server, or undefined if they can. Asks the server itself before and after
 * `apply`, which makes its transactions writable if that is possible. On a connection with `pipeline`, everything is sent at
 * once. The server's announcement at a connection (`in_hot_standby`) is not correct on every engine.
 */
export async function findReadOnly(
  client: pg.ClientBase,
  schema: string,
  apply?: () => Promise<unknown>,
): Promise<ReadOnlyHost | undefined> {
  const isPipeline = 'pipeline' in client && client.pipeline === true;
  const state = client.query<State>(READ_STATE, [schema]);
  if (!isPipeline) await state;
  const applied = apply?.();
  if (!isPipeline) await applied;
  const transaction = apply && client.query<Pick<State, 'isReadOnly'>>(READ_TRANSACTION);
  const [found, , foundLater] = await Promise.all([state, applied, transaction]);
  const [{ isStandby, isReadOnly, isPlace } = { isStandby: false, isReadOnly: false, isPlace: false }] = found.rows;
  if (isStandby) return { reason: 'it is a standby', isReadOnly: true };
  if (isReadOnly || foundLater?.rows[0]?.isReadOnly === true) return { reason: 'it is read-only', isReadOnly: true };
  if (isPlace && !(await hasTables(client, schema)))
    return { reason: 'the tables are on another node', isReadOnly: true };
  return undefined;
}

/** The ledger of a server, and how often a standby was promoted in its history. */
export type History = { readonly system: string; readonly timeline: number };

const READ_HISTORY = `select system_identifier::text as system,
    pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8) as timeline
  from pg_catalog.pg_control_system()`;

/** Reads the history of a primary, or undefined on an engine that does not show it. */
export async function readHistory(client: pg.ClientBase): Promise<History | undefined> {
  try {
    const { rows } = await client.query<{ system: string; timeline: string }>(READ_HISTORY);
    const [row] = rows;
    return row && { system: row.system, timeline: Number.parseInt(row.timeline, 16) };
  } catch {
    return undefined;
  }
}

/**
 * Whether a server is a former state of another. A promoted standby has replaced it, and its later commits are lost when it
 * follows the new primary.
 */
export function isOlder(one: History | undefined, other: History | undefined): boolean {
  return one !== undefined && one.system === other?.system && one.timeline < other.timeline;
}
