import { execFile } from 'node:child_process';
import { chown, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../server/postgres/embedded-postgres.ts';
import { connect, type EmbeddedTestServer, startEmbeddedServer } from './ledger.ts';
import { temporaryDirectory, waitFor } from './process.ts';

/** A primary with the schema and the seed, and a standby. Every commit on the primary waits for the standby. */
export type Pair = {
  readonly primary: EmbeddedTestServer;
  readonly standby: EmbeddedPostgres;
  /** Stops the standby. After that, commits wait for it. */
  readonly takeAway: () => Promise<void>;
  /** Starts the standby again, and waits until it receives the primary's WAL. */
  readonly bringBack: () => Promise<void>;
  /** Returns the number of commits on the primary that are waiting for the standby. */
  readonly commitsWaiting: () => Promise<number>;
  /** Ends these waits, as an administrator does. The commits remain, but only on the primary. */
  readonly endWaits: () => Promise<void>;
  /**
   * Sets the primary's `synchronous_standby_names` and reloads its settings. Returns when all sessions have the new
   * value.
   */
  readonly setNames: (names: string) => Promise<void>;
  /** Queries the primary directly, not through the service. */
  readonly ask: <Found extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[],
  ) => Promise<readonly Found[]>;
  /** Sends SIGKILL to all processes of the primary. Resolves when it has recovered and accepts connections. */
  readonly crash: () => Promise<void>;
  /** Promotes the standby. As a primary, it does not wait for a standby. */
  readonly promote: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

/** The name of the standby in `synchronous_standby_names`. */
export const STANDBY = 'standby';

/**
 * Starts both servers with the embedded binaries, because a standby needs the same binaries as its primary. The standby
 * begins as a copy of the stopped primary.
 */
export async function startPair(): Promise<Pair> {
  const primary = await startEmbeddedServer();
  const directory = await temporaryDirectory();
  const { embedded } = primary;
  const stop = async (): Promise<void> => {
    await primary.stop();
    await directory.remove();
  };
  try {
    await embedded.pause();
    // The service rewrites pg_hba.conf at each start, without a rule for replication.
    await writeAs(embedded, 'replication_hba.conf', 'local all,replication all trust\n');
    await append(embedded, `hba_file = '${join(embedded.dataDirectory, 'replication_hba.conf')}'\n`);
    await promisify(execFile)('cp', ['-a', embedded.dataDirectory, join(directory.path, 'postgresql')]);
    await writeStandby(embedded, join(directory.path, 'postgresql'));
    await embedded.resume();
    const standby = await startEmbeddedPostgres({ dataDirectory: directory.path });
    const pair = pairOf(primary, standby, async () => {
      // Stops the primary first, because its shutdown waits until the standby has received everything.
      await standby.stop();
      await stop();
    });
    await setNames(embedded, STANDBY);
    await untilFollowing(embedded);
    return pair;
  } catch (error) {
    await stop();
    throw error;
  }
}

function pairOf(primary: EmbeddedTestServer, standby: EmbeddedPostgres, stop: () => Promise<void>): Pair {
  const { embedded } = primary;
  return {
    primary,
    standby,
    takeAway: () => standby.pause(),
    bringBack: async () => {
      await standby.resume();
      await untilFollowing(embedded);
    },
    commitsWaiting: async () => {
      const asked = "select count(*)::integer as count from pg_stat_activity where wait_event = 'SyncRep'";
      return Number((await asSuperuser(embedded, asked))[0]?.count);
    },
    endWaits: async () => void (await endWaits(embedded)),
    setNames: (names) => setNames(embedded, names),
    ask: async <Found extends pg.QueryResultRow>(text: string, values: readonly unknown[]) => {
      const client = await connect({ ...embedded.connection, user: 'postgres' });
      try {
        return (await client.query<Found>(text, [...values])).rows;
      } finally {
        await client.end();
      }
    },
    crash: () => crash(embedded),
    promote: async () => {
      await asSuperuser(standby, 'select pg_promote()');
      await asSuperuser(standby, "alter system set synchronous_standby_names = ''");
      await asSuperuser(standby, 'select pg_reload_conf()');
    },
    stop,
  };
}

/** Ends the waits of commits for a standby, as an administrator does. Returns their number. */
async function endWaits(server: Pick<EmbeddedPostgres, 'connection'>): Promise<number> {
  const cancel = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'";
  return (await asSuperuser(server, cancel)).length;
}

async function crash(embedded: EmbeddedPostgres): Promise<void> {
  const killed = embedded.processId();
  const backends = await asSuperuser(embedded, 'select pid from pg_stat_activity');
  for (const victim of [killed, ...backends.map(({ pid }) => Number(pid))]) {
    try {
      if (victim !== undefined) process.kill(victim, 'SIGKILL');
    } catch {
      // The wait has already ended.
    }
  }
  await waitFor('the primary to recover', async () => {
    const isNew = embedded.state() === 'running' && embedded.processId() !== killed;
    return isNew && (await asSuperuser(embedded, 'select 1').then(Boolean, () => false));
  });
}

/** Sets `synchronous_standby_names` and reloads the settings. Returns when all sessions have the new value. */
async function setNames(embedded: Pick<EmbeddedPostgres, 'connection'>, names: string): Promise<void> {
  await asSuperuser(embedded, `alter system set synchronous_standby_names = '${names}'`);
  await asSuperuser(embedded, 'select pg_reload_conf()');
  // A new session gets the settings of the main process, which signals all other sessions once it has read the
  // settings.
  await waitFor('the names to be in force', async () => {
    const [row] = await asSuperuser(embedded, "select current_setting('synchronous_standby_names') as names");
    return row?.names === names;
  });
}

/** Restarts a primary as a standby, as its operator would. */
export async function becomeStandby(embedded: EmbeddedPostgres): Promise<void> {
  await embedded.pause();
  await writeAs(embedded, 'standby.signal', '');
  await embedded.resume();
}

async function untilFollowing(embedded: EmbeddedPostgres): Promise<void> {
  await waitFor('the standby follows', async () => {
    const rows = await asSuperuser(embedded, "select from pg_stat_replication where sync_state = 'sync'");
    return rows.length > 0;
  });
}

async function writeStandby(primary: EmbeddedPostgres, path: string): Promise<void> {
  const { host, port } = primary.connection;
  await writeAs(primary, 'standby.signal', '', path);
  const connection = `host=${host} port=${port} user=postgres application_name=${STANDBY}`;
  await append(primary, `primary_conninfo = '${connection}'\nwal_retrieve_retry_interval = 100\n`, path);
}

async function append(owner: EmbeddedPostgres, lines: string, path = owner.dataDirectory): Promise<void> {
  await writeFile(join(path, 'postgresql.auto.conf'), lines, { flag: 'a' });
}

/** Writes a file that PostgreSQL's user owns. */
async function writeAs(owner: EmbeddedPostgres, name: string, text: string, path = owner.dataDirectory): Promise<void> {
  const { uid, gid } = await stat(join(owner.dataDirectory, (await readdir(owner.dataDirectory))[0] ?? ''));
  await writeFile(join(path, name), text);
  await chown(join(path, name), uid, gid);
}

async function asSuperuser(
  server: Pick<EmbeddedPostgres, 'connection'>,
  statement: string,
): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ ...server.connection, user: 'postgres', database: 'postgres' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}
