import { StartupProblem } from '../../foundation/startup-problem.ts';
import type { Database } from '../../store/connection/database.ts';
import { COUNT_OPEN_ATTEMPTS } from '../../store/processors/connector-state.ts';

/**
 * Refuses to start without a connector whose processor may have moved money that nobody has recorded yet.
 *
 * @throws StartupProblem that names the connectors.
 */
export async function requireConnectors(database: Database, connectorIds: readonly string[]): Promise<void> {
  const rows = await database.read(COUNT_OPEN_ATTEMPTS);
  const missing = rows
    .map((row) => ({ connectorId: row.connector_id as string, attempts: row.attempts as number }))
    .filter(({ connectorId }) => !connectorIds.includes(connectorId));
  if (missing.length === 0) return;
  const named = missing
    .map(({ connectorId, attempts }) => `'${connectorId}' (transfers that are open: ${attempts})`)
    .join(', ');
  const [s, it, its] = missing.length === 1 ? ['', 'it', 'its'] : ['s', 'them', 'their'];
  throw new StartupProblem(
    'connector-missing',
    `CONNECTORS does not name the connector${s} ${named}, whose processor${s} may still move money. ` +
      `Name ${it} again until ${its} transfers have ended.`,
  );
}
