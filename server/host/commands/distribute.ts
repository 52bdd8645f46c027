import { StartupProblem } from '../../foundation/startup-problem.ts';
import { shownDatabaseUrl } from '../../foundation/url-credentials.ts';
import { STARTS } from '../../store/connection/connections.ts';
import { openDatabases } from '../../store/connection/databases.ts';
import { withHosts } from '../../store/connection/hosts/host-list.ts';
import {
  distribute,
  type LocatedLedger,
  movePlacement,
  type Node,
  PlacementProblem,
  undistribute,
} from '../../store/distribute.ts';
import { verifyAudit } from '../../subjects/audit/verify-audit.ts';
import { drawUpTrialBalance } from '../../subjects/programs/get-trial-balance.ts';
import type { CommandDatabase } from '../open-database.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/**
 * Distributes a ledger from the coordinator of a Citus cluster, or moves it to a node (`host:port`) while the service runs. With
 * `undo`, moves it back to the coordinator. Then verifies the books and the audit log. Throws {@link StartupProblem} if this is
 * impossible, and then changes nothing. Also throws it if the verification finds a problem afterwards.
 */
export async function changePlace({ databases, close }: CommandDatabase, change: string | undefined): Promise<void> {
  const { settings } = databases;
  if (!('connectionString' in settings))
    throw refusal('The embedded PostgreSQL has no Citus. Set DATABASE_URL to the coordinator of a Citus cluster.');
  // An open connection of this process would count as a running service.
  await close();
  const { schema, node, workers } = await carryOut(settings, change).catch((error: unknown) => {
    throw error instanceof PlacementProblem ? refusal(`${error.message} Nothing was changed.`, error) : error;
  });
  const { connectionString } = settings;
  say(`The tables of the schema ${schema} are on ${node.host}:${node.port}.`);
  await verify({
    connectionString: workers.length === 0 ? connectionString : withHosts(connectionString, [node]),
    schema,
  });
  if (change !== undefined && change !== 'undo') return;
  const url = workers.length === 0 ? connectionString : withHosts(connectionString, workers);
  say(`Start the service with DATABASE_URL='${shownDatabaseUrl(url)}' and DATABASE_SCHEMA=${schema}.`);
}

function carryOut(
  settings: CommandDatabase['databases']['settings'],
  change: string | undefined,
): Promise<LocatedLedger> {
  if (change === undefined) return distribute(settings);
  if (change === 'undo') return undistribute(settings);
  return movePlacement(settings, readNode(change));
}

function readNode(text: string): Node {
  const [, host, port] = /^(.+):([0-9]{1,5})$/.exec(text) ?? [];
  if (host === undefined)
    throw new StartupProblem(
      'invalid-command',
      `A node is a host and its port, such as worker2:5432; this is '${text}'.`,
    );
  return { host, port: Number(port) };
}

async function verify(settings: { readonly connectionString: string; readonly schema: string }): Promise<void> {
  const databases = openDatabases(settings, undefined, STARTS);
  try {
    const { balanced } = await drawUpTrialBalance(databases.background, 0);
    if (!balanced) throw new StartupProblem('books-not-balanced', 'The books do not balance.');
    const { entries, problems } = await verifyAudit(databases.background);
    if (problems.length > 0) throw new StartupProblem('audit-log-changed', problems.join(' '));
    say(`The books balance, and the audit log is intact (${entries} entries).`);
  } finally {
    await databases.close();
  }
}

function refusal(message: string, cause?: unknown): StartupProblem {
  return new StartupProblem('distribution-refused', message, { cause });
}
