import { afterEach, expect, test } from 'vitest';
import { startRelayingEvents } from '../../../server/background/jobs/relay-events.ts';
import { STARTS, type TimeLimits } from '../../../server/store/connection/connections.ts';
import { openDatabases } from '../../../server/store/connection/databases.ts';
import { LIMITS } from '../../../server/store/connection/session-settings.ts';
import { HOLD_RELAY } from '../../../server/store/events/relay.ts';
import { waitFor } from '../../harness/process.ts';
import { useConnection, useLedger, useProxy, useServer } from '../../harness/use-ledger.ts';
import { commitEvents, eventOf, newProgram, readAll } from './relayed.ts';

// Tests when a service's relay loop begins a round, and how the loop behaves without the database.

const server = await useServer();
const proxy = await useProxy(server);
const ledger = useLedger(server.connection);
const owner = await useConnection(server.connection);
const watcher = await useConnection(server.connection);
const { background } = ledger.databases;
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/**
 * Starts the loop of another process. `announced` lists the programs that the loop has announced. The loop has no time
 * limits, so a slow database is not a failure.
 */
function startRelay(connection = server.connection, timeLimits: TimeLimits = STARTS) {
  const databases = openDatabases(connection, undefined, timeLimits);
  const announced = new Set<string>();
  const failures: unknown[] = [];
  const repeated: unknown[] = [];
  const announce = (programIds: readonly string[]): void => {
    for (const programId of programIds) announced.add(programId);
  };
  const relay = startRelayingEvents(databases, announce, (error, isRepeated) => {
    (isRepeated === true ? repeated : failures).push(error);
  });
  ends.push(() => databases.close(), relay.stop);
  return { databases, announced, failures, repeated, stop: relay.stop };
}

const countOf = async (programId: string) => (await readAll(background, { programId })).length;

test('events of this process and of others are relayed and announced', async () => {
  const relay = startRelay();
  const [own, others] = [newProgram(), newProgram()];
  await commitEvents(relay.databases.background, [eventOf(own, 'a')]);
  await waitFor('the event of this process', async () => relay.announced.has(own));
  await commitEvents(background, [eventOf(others, 'a')]);
  await waitFor('the event of another process', async () => relay.announced.has(others));
  expect([await countOf(own), await countOf(others)]).toEqual([1, 1]);
  expect(relay.failures).toEqual([]);
});

test('more transactions than one round takes are relayed in order', async () => {
  const programId = newProgram();
  for (let at = 0; at < 450; at += 1) await commitEvents(background, [eventOf(programId, String(at))]);
  startRelay();
  await waitFor('all events', async () => (await countOf(programId)) === 450);
  const subjects = (await readAll(background, { programId })).map(({ subjectId }) => subjectId);
  expect(subjects).toEqual(subjects.map((_, at) => String(at)));
});

test('a round that took too long is followed by rounds with fewer transactions', async () => {
  const programId = newProgram();
  await owner.query(`
    create function slow_position() returns trigger language plpgsql as $$
      begin perform pg_sleep(0.02); return new; end $$;
    create trigger slow_position before insert on event_position for each row execute function slow_position();`);
  for (let at = 0; at < 100; at += 1) await commitEvents(background, [eventOf(programId, String(at))]);
  const session = [...STARTS.session, ['statement_timeout', String(LIMITS.statement)]] as const;
  const relay = startRelay(server.connection, { ...STARTS, session });
  await waitFor('all events', async () => (await countOf(programId)) === 100);
  await relay.stop();
  await owner.query('drop trigger slow_position on event_position; drop function slow_position');
  expect(relay.failures[0]).toMatchObject({ sqlState: '57014' });
});

test('the loop survives a database outage and reports it once', async () => {
  const relay = startRelay({ ...server.connection, host: proxy.host });
  const [before, after] = [newProgram(), newProgram()];
  await commitEvents(background, [eventOf(before, 'a')]);
  await waitFor('the event before', async () => (await countOf(before)) === 1);
  await proxy.listen(false);
  proxy.cutAll();
  await waitFor('a failure', async () => relay.failures.length > 0);
  await waitFor('two more', async () => relay.repeated.length > 1);
  await commitEvents(background, [eventOf(after, 'a')]);
  await proxy.listen(true);
  await waitFor('the event after', async () => relay.announced.has(after));
  expect(relay.failures).toHaveLength(1);
});

test("the next round takes the events if the loop's backend ends in the middle of a round", async () => {
  const programId = newProgram();
  const relay = startRelay();
  // A round writes the head of its program in the middle. This row makes the round wait there.
  await owner.query(`begin; insert into event_head (program_id, position) values ('${programId}', 0)`);
  await commitEvents(background, [eventOf(programId, 'a')]);
  await waitFor('the relay to wait', () => isWaiting('with waiting as'));
  await watcher.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where query ~ 'with waiting as' and pid <> pg_backend_pid()`,
  );
  expect(await countOf(programId)).toBe(0);
  await owner.query('rollback');
  await waitFor('the event', async () => relay.announced.has(programId));
  expect(await countOf(programId)).toBe(1);
});

test('a stop ends the loop after the round in progress, and no other begins', async () => {
  const programId = newProgram();
  await owner.query(`begin; ${HOLD_RELAY.text}`);
  const relay = startRelay();
  await commitEvents(background, [eventOf(programId, 'a')]);
  await waitFor('the relay to wait', () => isWaiting('pg_advisory_xact_lock'));
  const stopped = relay.stop();
  await owner.query('commit');
  await stopped;
  const relayed = await countOf(programId);
  await commitEvents(relay.databases.background, [eventOf(programId, 'b')]);
  expect(await countOf(programId)).toBe(relayed);
});

/** Returns whether the relay is waiting for a lock in a statement about a table. */
async function isWaiting(about: string): Promise<boolean> {
  const { rows } = await watcher.query(
    `select from pg_stat_activity where wait_event_type = 'Lock' and query ~ $1 and pid <> pg_backend_pid()`,
    [about],
  );
  return rows.length > 0;
}
