import { setTimeout as delay } from 'node:timers/promises';
import { DEMO_PROGRAM_ID } from '../../domain/sandbox.ts';
import { LIMITS } from '../../server/store/connection/session-settings.ts';
import { waitFor } from '../harness/process.ts';
import { during, type Fault, runFaults, trap } from './run-faults.ts';
import { change, countBackends, holdWith, type Stage, terminateBackends } from './stage.ts';

/** Adds a trigger that runs for every new posting, immediately or at COMMIT. */
function onPosting(does: string, kind = 'trigger'): Fault['arrange'] {
  const [time, deferred] = kind === 'trigger' ? ['before', ''] : ['after', 'deferrable initially deferred'];
  return during(
    change(
      `create function interfere() returns trigger language plpgsql as $body$ begin ${does}; return new; end $body$;
        create ${kind} interfere ${time} insert on posting ${deferred} for each row execute function interfere()`,
      'drop trigger interfere on posting; drop function interfere',
    ),
  );
}

/** Adds a check constraint that new rows violate. */
const constraint = (table: string, condition: string): Fault['arrange'] =>
  during(
    change(
      `alter table ${table} add constraint refuses check (${condition}) not valid`,
      `alter table ${table} drop constraint refuses`,
    ),
  );

/**
 * Terminates backends that wait in a transaction. First waits until there is one, because on a busy machine the
 * request's backend may still be executing its statements.
 */
async function terminate(stage: Stage): Promise<void> {
  const waits = "state = 'idle in transaction'";
  await waitFor('a backend that waits in a transaction', async () => (await countBackends(stage, waits)) > 0);
  await terminateBackends(stage, waits);
}

/** Faults that affect only requests that write a posting. */
const OF_POSTINGS: readonly Fault[] = [
  { name: 'a check constraint is violated', arrange: constraint('posting', 'amount <> 1') },
  { name: 'the disk is full', arrange: onPosting(`raise exception 'no space left on device' using errcode = '53100'`) },
  {
    name: 'every write ends in a deadlock',
    code: 'service_unavailable',
    together: true,
    arrange: onPosting(`raise exception 'deadlock detected' using errcode = '40P01'`),
  },
  {
    name: 'a write reaches its time limit',
    least: LIMITS.statement,
    together: true,
    orBusy: true,
    arrange: onPosting('perform pg_sleep(3)'),
  },
  {
    name: 'another connection locks the table of postings',
    code: 'service_unavailable',
    together: true,
    arrange: during(({ server }) => holdWith(server, 'lock table posting in share mode')),
  },
  {
    name: 'COMMIT is refused by a deferred constraint',
    arrange: onPosting(`raise exception 'refused at commit' using errcode = '23514'`, 'constraint trigger'),
  },
];

const SAVE: readonly Fault[] = [
  {
    name: 'the database refuses the account although the rules allow it',
    arrange: constraint('account', `program_id <> '${DEMO_PROGRAM_ID}' or sequence = 0`),
  },
  { name: 'the connection is cut before the writes', arrange: trap('before_save', 'cut') },
  {
    // The connection stalls for longer than the service waits, and is then cut.
    name: 'the writes never arrive and cause no error',
    arrange: trap('before_save', 'cut', () => delay(2500)),
  },
  { name: 'the connection is cut between the writes and COMMIT', arrange: trap('before_commit', 'cut') },
  {
    name: 'the backend is terminated between the writes and COMMIT',
    arrange: trap('before_commit', 'continue', terminate),
  },
  {
    name: 'the backend is terminated between the load and the writes',
    arrange: trap('before_save', 'continue', terminate),
  },
];

runFaults('save', [...OF_POSTINGS.map((fault): Fault => ({ ...fault, ofPostings: true })), ...SAVE]);
