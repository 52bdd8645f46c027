import { setTimeout as delay } from 'node:timers/promises';
import { DEMO_PROGRAM_ID } from '../../domain/sandbox.ts';
import { LIMITS } from '../../server/store/connection/session-settings.ts';
import { during, type Fault, runFaults, trap } from './run-faults.ts';
import { change, holdWith, type Stage, terminateBackends } from './stage.ts';

/** Creates a trigger that runs for every new posting. Returns its removal. */
function onPosting(stage: Stage, does: string, kind = 'trigger', when = ''): Promise<() => Promise<void>> {
  const deferred = kind === 'constraint trigger' ? 'deferrable initially deferred' : '';
  return change(
    stage,
    `create function interfere() returns trigger language plpgsql as $body$ begin ${does}; return new; end $body$;
      create ${kind} interfere ${kind === 'trigger' ? 'before' : 'after'} insert on posting ${deferred}
        for each row ${when} execute function interfere()`,
    'drop trigger interfere on posting; drop function interfere',
  );
}

/** Terminates backends that are in a transaction. */
const terminate = (stage: Stage) => terminateBackends(stage, "state = 'idle in transaction'");

const SAVE: readonly Fault[] = [
  {
    name: 'a check constraint is violated',
    outcomes: ['no'],
    ofPostings: true,
    arrange: during((stage) =>
      change(
        stage,
        'alter table posting add constraint refuses check (amount <> 1) not valid',
        'alter table posting drop constraint refuses',
      ),
    ),
  },
  {
    name: 'the disk is full',
    outcomes: ['no'],
    ofPostings: true,
    arrange: during((stage) => onPosting(stage, `raise exception 'no space left on device' using errcode = '53100'`)),
  },
  {
    name: 'every write ends in a deadlock',
    outcomes: ['no'],
    ofPostings: true,
    code: 'service_unavailable',
    together: true,
    arrange: during((stage) => onPosting(stage, `raise exception 'deadlock detected' using errcode = '40P01'`)),
  },
  {
    name: 'a write reaches its time limit',
    outcomes: ['no'],
    least: LIMITS.statement,
    ofPostings: true,
    together: true,
    orBusy: true,
    arrange: during((stage) => onPosting(stage, 'perform pg_sleep(3)')),
  },
  {
    name: 'another connection holds the table of postings',
    outcomes: ['no'],
    ofPostings: true,
    code: 'service_unavailable',
    together: true,
    arrange: during(({ server }) => holdWith(server, 'lock table posting in share mode')),
  },
  {
    name: 'the database refuses the account although the rules allow it',
    outcomes: ['no'],
    arrange: during((stage) =>
      change(
        stage,
        `alter table account add constraint no_room check (program_id <> '${DEMO_PROGRAM_ID}' or sequence = 0) not valid`,
        'alter table account drop constraint no_room',
      ),
    ),
  },
  { name: 'the connection is cut before the writes', outcomes: ['no'], arrange: trap('before_save', 'cut') },
  {
    // The connection stalls for longer than the service waits. Then it is cut.
    name: 'the writes never arrive and cause no error',
    outcomes: ['no'],
    arrange: trap('before_save', 'cut', () => delay(2500)),
  },
  {
    name: 'the connection is cut between the writes and COMMIT',
    outcomes: ['no'],
    arrange: trap('before_commit', 'cut'),
  },
  {
    name: 'the backend is terminated between the writes and COMMIT',
    outcomes: ['no'],
    arrange: trap('before_commit', 'go_on', terminate),
  },
  {
    name: 'the backend is terminated between the load and the writes',
    outcomes: ['no'],
    arrange: trap('before_save', 'go_on', terminate),
  },
  {
    name: 'COMMIT is refused by a deferred constraint',
    outcomes: ['no'],
    ofPostings: true,
    arrange: during((stage) =>
      onPosting(stage, `raise exception 'refused at commit' using errcode = '23514'`, 'constraint trigger'),
    ),
  },
];

runFaults('save', SAVE);
