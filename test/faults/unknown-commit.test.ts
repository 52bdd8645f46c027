import { setTimeout as delay } from 'node:timers/promises';
import { connect } from '../harness/ledger.ts';
import { waitFor } from '../harness/process.ts';
import { type Fault, runFaults } from './run-faults.ts';
import { holdWith, type Laid, lay, type Stage } from './stage.ts';

/** Faults at COMMIT whose outcome cannot be read before the deadline. */
const UNKNOWN_COMMIT: readonly Fault[] = [
  {
    name: 'the server has committed and is down past the deadline',
    outcomes: ['unknown'],
    arrange: async (stage) => ({ trap: layStop(stage, 'after_commit'), mend: () => stage.server.embedded.resume() }),
  },
  {
    name: 'the server has not committed and is down past the deadline',
    outcomes: ['unknown'],
    arrange: async (stage) => ({ trap: layStop(stage, 'before_commit'), mend: () => stage.server.embedded.resume() }),
  },
  {
    name: 'another connection locks the table that has the outcome',
    outcomes: ['unknown'],
    arrange: async (stage) => {
      let letGo: (() => Promise<void>) | undefined;
      const trap = lay(stage, 'after_commit', 'cut', async () => {
        letGo = await holdWith(stage.server, 'lock table write_batch in access exclusive mode');
      });
      return { trap, mend: async () => letGo?.() };
    },
  },
  {
    name: 'the server warns that the replica may lack the commit',
    outcomes: ['unknown'],
    arrange: async (stage) => {
      await replicate(stage, 'nobody');
      const trap = lay(stage, 'before_commit', 'go_on', () => {
        // If the service no longer waits for the commit, there is nothing to cancel.
        cancelCommits(stage).catch(() => undefined);
      });
      return { trap, mend: () => replicate(stage, '') };
    },
  },
  {
    name: 'the server waits for its replica past the deadline',
    outcomes: ['unknown'],
    arrange: async (stage) => {
      await replicate(stage, 'nobody');
      return { trap: lay(stage, 'before_commit', 'go_on'), mend: () => replicate(stage, '') };
    },
  },
];

/** Shuts the server down with all its connections. */
function layStop(stage: Stage, at: 'after_commit' | 'before_commit'): Laid {
  return lay(stage, at, 'cut', () => stage.server.embedded.pause());
}

/** Makes commits wait for a replica of this name. With an empty name they do not wait. */
async function replicate(stage: Stage, name: string): Promise<void> {
  const administrator = await connect({ ...stage.server.connection, user: 'postgres', database: 'postgres' });
  await administrator.query(`alter system set synchronous_standby_names = '${name}'`);
  await administrator.query('select pg_reload_conf()');
  // PostgreSQL applies the setting a moment later, so this tries commits until one shows it.
  await waitFor('the setting to be in force', async () => (await doesCommitWait(stage)) === (name !== ''));
  await administrator.end();
}

/** Whether a commit of an administrator waits for the replica. If it does, its wait is canceled. */
async function doesCommitWait(stage: Stage): Promise<boolean> {
  const superuser = { ...stage.server.connection, user: 'postgres', database: 'postgres' };
  const [committing, watching] = [await connect(superuser), await connect(superuser)];
  try {
    const { rows } = await committing.query<{ pid: number }>('select pg_backend_pid() as pid');
    const isOver = committing.query("comment on database postgres is 'a commit'").then(() => true);
    while (!(await Promise.race([isOver, delay(20, false)]))) {
      const canceled = await watching.query(
        "select pg_cancel_backend(pid) from pg_stat_activity where pid = $1 and wait_event = 'SyncRep'",
        [rows[0]?.pid],
      );
      if (canceled.rowCount === 1) return await isOver;
    }
    return false;
  } finally {
    await committing.end();
    await watching.end();
  }
}

/** Cancels commits that wait for the replica, as an administrator can. They are then committed on this server only. */
async function cancelCommits(stage: Stage): Promise<void> {
  const cancel = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'";
  await waitFor(
    'a commit that waits',
    async () => ((await stage.ask((client) => client.query(cancel))).rowCount ?? 0) > 0,
  );
}

runFaults('unknown commit', UNKNOWN_COMMIT);
