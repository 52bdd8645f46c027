import { SIMULATOR_ID } from '../../../domain/sandbox.ts';
import { readDatabaseClock } from '../../background/jobs/database-clock.ts';
import type { Configuration } from '../../foundation/configuration/configuration.ts';
import { StartupProblem } from '../../foundation/startup-problem.ts';
import { hasOperatorKey } from '../../observe/readiness.ts';
import { COUNT_CARDS_REGISTERED_TWICE, toRegisteredTwice } from '../../store/card.ts';
import { STARTS } from '../../store/connection/connections.ts';
import type { Database } from '../../store/connection/database.ts';
import { openDatabases } from '../../store/connection/databases.ts';
import { readSchema, type SchemaFacts } from '../../store/migrations/migrate.ts';
import { COUNT_OPEN_ATTEMPTS } from '../../store/processors/connector-state.ts';
import { countScheduledElsewhere } from '../../store/transfers/transfer.ts';
import { seedSandbox } from '../../subjects/sandbox/seed-sandbox.ts';
import { openWebhookKeys, resealSecrets, type WebhookKeys } from '../../subjects/webhooks/vault.ts';
import { type OpenDatabase, prepareSchema, waitForDatabase } from '../open-database.ts';

/** The longest duration of a Node timer, 24 days. Startup has no deadline. */
const NO_DEADLINE_MILLISECONDS = 2 ** 31 - 1;

export type PreparedLedger = SchemaFacts & {
  /** Whether no service has been started on this ledger before. */
  readonly isFirstStart: boolean;
  readonly webhookKeys: WebhookKeys;
  /** How many milliseconds this machine's clock is ahead of the database's. */
  readonly aheadMilliseconds: number;
};

/**
 * Prepares the ledger before the service accepts requests, on connections without time limits. So on a slow machine, startup
 * takes longer but does not fail.
 *
 * @throws StartupProblem if the service must not run on the ledger.
 */
export async function prepareLedger(
  { mode, webhookKeys: keys, dataDirectory, connectors }: Configuration,
  { databases: { settings }, connections }: Pick<OpenDatabase, 'databases' | 'connections'>,
  onProgress: (line: string) => void,
  everyMilliseconds?: number,
): Promise<PreparedLedger> {
  const databases = openDatabases(settings, connections.max, STARTS);
  const { background } = databases;
  const step = <Result>(what: string, work: () => Promise<Result>): Promise<Result> =>
    waitForDatabase({ what, settings, onProgress, everyMilliseconds }, work);
  try {
    const isFirstStart = await step('preparing the schema', () => prepareSchema(databases, mode, onProgress));
    const aheadMilliseconds = await step("reading the database's clock", () => readDatabaseClock(background));
    if (mode === 'sandbox') {
      const deadline = performance.now() + NO_DEADLINE_MILLISECONDS;
      await step('filling the sandbox', () => seedSandbox(background, deadline));
    } else await step('looking for an operator key', () => requireOperatorKey(background));
    const connectorIds = (connectors?.connectors ?? []).map(({ connectorId }) => connectorId);
    const named = mode === 'sandbox' ? [...connectorIds, SIMULATOR_ID] : connectorIds;
    await step('looking for open transfers at processors', () => requireConnectors(background, named));
    await step('looking for scheduled transfers of other connectors', () => nameWaiting(background, named, onProgress));
    await step('looking for cards that were registered twice', () => nameRegisteredTwice(background, onProgress));
    const webhookKeys = openWebhookKeys(keys, dataDirectory);
    await step('reading the webhook secrets', () => resealSecrets(background, webhookKeys));
    const schema = await step('reading the newest migration', () => readSchema(settings));
    return { webhookKeys, aheadMilliseconds, isFirstStart, ...schema };
  } finally {
    await databases.close();
  }
}

/** Reports scheduled transfers whose connector is not in the settings. They wait for a process that has the connector. */
export async function nameWaiting(
  database: Database,
  connectorIds: readonly string[],
  onProgress: (line: string) => void,
): Promise<void> {
  for (const row of await database.read(countScheduledElsewhere(connectorIds))) {
    const { connector_id: connectorId, transfers, first_due: firstDue } = row;
    onProgress(
      `CONNECTORS does not name the connector '${connectorId}'. Scheduled transfers that wait for it: ${transfers}, ` +
        `the first due at ${(firstDue as Date).toISOString()}. They are executed once a process has the connector.`,
    );
  }
}

/** Reports connectors whose cards an older version registered twice. */
export async function nameRegisteredTwice(database: Database, onProgress: (line: string) => void): Promise<void> {
  for (const row of await database.read(COUNT_CARDS_REGISTERED_TWICE)) {
    const { connectorId, cards, example } = toRegisteredTwice(row);
    onProgress(
      `Cards of the connector '${connectorId}' that share the processor_token of an older card: ${cards}, such as '${example}'. ` +
        'Search for the token to see both, and close one.',
    );
  }
}

async function requireOperatorKey(database: Database): Promise<void> {
  if (await hasOperatorKey(database)) return;
  throw new StartupProblem(
    'operator-key-missing',
    'Live mode requires an operator key, and none exists. ' +
      'Create one with "npx transfer-service operator-key create --name <name>" and the same settings.',
  );
}

/** Refuses to start (StartupProblem) if the settings lack a connector whose processor may have moved money that is not recorded. */
async function requireConnectors(database: Database, connectorIds: readonly string[]): Promise<void> {
  const rows = await database.read(COUNT_OPEN_ATTEMPTS);
  const missing = rows
    .map((row) => ({ connectorId: row.connector_id as string, attempts: row.attempts as number }))
    .filter(({ connectorId }) => !connectorIds.includes(connectorId));
  if (missing.length === 0) return;
  const named = missing.map(({ connectorId, attempts }) => `'${connectorId}' (open transfers: ${attempts})`).join(', ');
  const [s, it, its] = missing.length === 1 ? ['', 'it', 'its'] : ['s', 'them', 'their'];
  throw new StartupProblem(
    'connector-missing',
    `CONNECTORS does not name the connector${s} ${named}, whose processor${s} may still move money. ` +
      `Name ${it} again until ${its} transfers have ended.`,
  );
}
