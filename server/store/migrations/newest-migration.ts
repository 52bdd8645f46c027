import { administer, type ConnectionSettings } from '../connection/connections.ts';

/** The name of the newest migration that the database has. */
export async function newestMigration(settings: ConnectionSettings): Promise<string | undefined> {
  return administer(settings, async (client) => {
    const { rows } = await client.query<{ name: string | null }>('select max(name) as name from schema_migration');
    return rows[0]?.name ?? undefined;
  });
}
