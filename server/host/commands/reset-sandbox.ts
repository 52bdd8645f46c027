import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { CommandConfiguration } from '../../foundation/configuration/configuration.ts';
import { StartupProblem } from '../../foundation/startup-problem.ts';
import { shownDatabaseUrl } from '../../foundation/url-credentials.ts';
import { startEmbeddedPostgres } from '../../postgres/embedded-postgres.ts';
import { findRunningServices } from '../../postgres/running-services.ts';
import type { ConnectionSettings } from '../../store/connection/connections.ts';
import { findDatabaseProblem } from '../../store/connection/database-problem.ts';
import { inspectSandbox, removeSandbox } from '../../store/ledger/remove-sandbox.ts';
import { requireSafeConnection, waitForDatabase } from '../open-database.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const onProgress = (line: string): void => void process.stderr.write(`${line}\n`);

/** The exit code of all commands whose question was answered with no. */
const NOT_CONFIRMED = 2;

/**
 * Removes the sandbox ledger that the settings name, so that the next start creates and fills a new one. Asks first, unless
 * `isSure` is true. If a service uses the ledger, or if it is not a sandbox, throws {@link StartupProblem} and removes nothing.
 */
export async function resetSandbox(configuration: CommandConfiguration, isSure: boolean): Promise<void> {
  const { mode, dataDirectory } = configuration;
  if (mode === 'live') {
    throw new StartupProblem('ledger-mode', 'MODE is live. Only a sandbox can be reset. Nothing was removed.');
  }
  const [service] = findRunningServices(dataDirectory);
  if (service !== undefined) {
    throw new StartupProblem(
      'data-directory-in-use',
      `The service is running (process ${service.processId} on ${service.host}, port ${service.port}). ` +
        'Stop it first, then run the command again. Nothing was removed.',
    );
  }
  const { settings, place, close } = await openLedger(configuration);
  const step = <Result>(what: string, work: () => Promise<Result>): Promise<Result> =>
    waitForDatabase({ what, settings, onProgress }, work);
  try {
    const contents = await step('inspecting the sandbox', () => inspectSandbox(settings));
    if (contents === undefined) return say(`There is no ledger in ${place}: nothing to remove.`);
    const { cards, transfers } = contents;
    const question = `Remove the sandbox ledger in ${place}, with ${cards} cards and ${transfers} transfers?`;
    if (!isSure && !(await confirm(question))) {
      onProgress('Nothing was removed.');
      process.exitCode = NOT_CONFIRMED;
      return;
    }
    await step('removing the sandbox', () => removeSandbox(settings));
    // Spooled errors and the book of the simulated processor belong to the removed ledger.
    for (const name of ['error-spool', 'simulator']) {
      await rm(join(dataDirectory, name), { recursive: true, force: true });
    }
    say(`Removed the sandbox ledger in ${place}, with ${cards} cards and ${transfers} transfers.`);
    say('The next start creates a new one: npx transfer-service start');
  } finally {
    await close();
  }
}

type OpenLedger = {
  readonly settings: ConnectionSettings;
  readonly place: string;
  readonly close: () => Promise<void>;
};

/** Opens the ledger. Unlike other commands, this one must not use the PostgreSQL of a running service. */
async function openLedger(configuration: CommandConfiguration): Promise<OpenLedger> {
  const { databaseUrl, databaseSchema: schema, dataDirectory, dataDirectoryOrigin, backupDirectory } = configuration;
  if (databaseUrl === null) {
    const embedded = await startEmbeddedPostgres({
      dataDirectory,
      backupDirectory,
      existing: { origin: dataDirectoryOrigin },
      task: 'sandbox reset',
      onProgress,
    });
    return {
      settings: { ...embedded.connection, schema },
      place: dataDirectory,
      close: () => embedded.stop(),
    };
  }
  requireSafeConnection(configuration);
  const settings = { connectionString: databaseUrl, schema };
  const what = 'waiting for the database of DATABASE_URL to respond';
  const problem = await waitForDatabase({ what, settings, onProgress }, () => findDatabaseProblem(settings, 'write'));
  if (problem !== undefined) throw problem;
  return { settings, place: `${shownDatabaseUrl(databaseUrl)}, schema ${schema}`, close: async () => undefined };
}

/** Asks a question. Ctrl-C and Ctrl-D mean no. */
async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const ended = once(terminal, 'close').then(() => null);
  try {
    // On a terminal, Ctrl-C and Ctrl-D reject the promise of the question. On a pipe, the promise never settles when the input
    // ends, so this also waits for the input to end.
    const answer = await Promise.race([terminal.question(`${question} [y/N] `).catch(() => null), ended]);
    if (answer === null) process.stderr.write('\n');
    return /^y(es)?$/i.test(answer?.trim() ?? '');
  } finally {
    terminal.close();
  }
}
