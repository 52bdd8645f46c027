import { administer, type ConnectionSettings } from './connections.ts';

/** What `doctor` says about a database. */
export type DatabaseFacts = { readonly version: string; readonly user: string; readonly megabytes: number };

/** Reads the version of a database server, the user of the connection, and the size of the database. */
export function readDatabaseFacts(settings: ConnectionSettings): Promise<DatabaseFacts> {
  return administer(settings, async (client) => {
    const { rows } = await client.query<DatabaseFacts>(
      `select current_setting('server_version') as version, current_user::text as user,
        (pg_database_size(current_database()) / 1000000)::int4 as megabytes`,
    );
    return rows[0] ?? { version: 'unknown', user: 'unknown', megabytes: 0 };
  });
}
