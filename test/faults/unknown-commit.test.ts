import { setTimeout as delay } from 'node:timers/promises';
import { onConnection, type TestServer } from '../harness/ledger.ts';
import { waitFor } from '../harness/process.ts';
import { endWaits, setNames } from '../harness/standby.ts';
import { downAt, type Fault, runFaults } from './run-faults.ts';
import { holdWith, lay, type Stage } from './stage.ts';

/** Faults at COMMIT whose outcome cannot be read before the deadline. */
const UNKNOWN_COMMIT: readonly Fault[] = [
  { name: 'the server has committed and is down past the deadline', arrange: downAt('after_commit') },
  { name: 'the server has not committed and is down past the deadline', arrange: downAt('before_commit') },
  {
    name: 'another connection locks the table that has the outcome',
    arrange: async (stage) => {
      let release: (() => Promise<void>) | undefined;
      const trap = lay(stage, 'after_commit', 'cut', async () => {
        release = await holdWith(stage.server, 'lock table write_batch in access exclusive mode');
      });
      return { trap, mend: async () => release?.() };
    },
  },
  {
    name: 'the server warns that the replica may lack the commit',
    arrange: withoutReplica(({ server }) => {
      // If the service no longer waits for the commit, there is nothing to cancel.
      waitFor('a commit that waits', async () => (await endWaits(server)) > 0).catch(() => undefined);
    }),
  },
  { name: 'the server waits for its replica past the deadline', arrange: withoutReplica() },
];

/** Commits wait for a replica that does not exist. `then` runs when the service's COMMIT arrives. */
function withoutReplica(then?: (stage: Stage) => unknown): Fault['arrange'] {
  return async (stage) => {
    await setNames(stage.server, 'nobody');
    await untilCommits(stage.server, 'wait');
    const mend = async () => {
      await setNames(stage.server, '');
      await untilCommits(stage.server, 'end');
    };
    return { trap: lay(stage, 'before_commit', 'continue', () => then?.(stage)), mend };
  };
}

/** PostgreSQL applies the setting a moment later, so this tries commits until one shows it. */
function untilCommits(server: TestServer, wanted: 'wait' | 'end'): Promise<void> {
  return onConnection({ ...server.connection, user: 'postgres', database: 'postgres' }, (superuser) =>
    waitFor(`commits to ${wanted}`, async () => {
      const commit = superuser.query("comment on database postgres is 'a commit'").then(() => 'end');
      let hasWaited = false;
      while ((await Promise.race([commit, delay(20)])) === undefined) hasWaited ||= (await endWaits(server)) > 0;
      return hasWaited === (wanted === 'wait');
    }),
  );
}

runFaults(
  'unknown commit',
  UNKNOWN_COMMIT.map((fault) => ({ ...fault, outcomes: ['unknown'] })),
);
