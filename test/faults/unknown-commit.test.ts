import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
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
      const trap = lay(stage, 'before_commit', 'go_on', () => void delay(300).then(() => cancelCommits(stage)));
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

/** Makes commits wait for a replica of this name; none for an empty one. */
async function replicate({ server }: Stage, name: string): Promise<void> {
  const administrator = new pg.Client({ ...server.connection, user: 'postgres', database: 'postgres' });
  await administrator.connect();
  await administrator.query(`alter system set synchronous_standby_names = '${name}'`);
  await administrator.query('select pg_reload_conf()');
  await administrator.end();
  await delay(100);
}

/** Cancels commits that wait for the replica, as an administrator may: they are then committed on this server only. */
async function cancelCommits(stage: Stage): Promise<void> {
  await stage.ask((client) =>
    client.query("select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"),
  );
}

runFaults('unknown commit', UNKNOWN_COMMIT);
