import { setTimeout as delay } from 'node:timers/promises';
import { DEMO_PROGRAM_ID } from '../../server/sandbox/seed-sandbox.ts';
import { type Fault, runFaults } from './run-faults.ts';
import { change, holdWith, lay, type Stage, terminateBackends } from './stage.ts';

/** A trigger on every posting that does something when the row comes. */
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

const SAVE: readonly Fault[] = [
  {
    name: 'a check constraint is violated',
    outcomes: ['no'],
    ofPostings: true,
    arrange: async (stage) => ({
      mend: await change(
        stage,
        'alter table posting add constraint refuses check (amount <> 1) not valid',
        'alter table posting drop constraint refuses',
      ),
    }),
  },
  {
    name: 'the disk is full',
    outcomes: ['no'],
    ofPostings: true,
    arrange: async (stage) => ({
      mend: await onPosting(stage, `raise exception 'no space left on device' using errcode = '53100'`),
    }),
  },
  {
    name: 'it conflicts with others, every time',
    outcomes: ['no'],
    ofPostings: true,
    code: 'service_unavailable',
    together: true,
    arrange: async (stage) => ({
      mend: await onPosting(stage, `raise exception 'deadlock detected' using errcode = '40P01'`),
    }),
  },
  {
    name: 'a write runs into its time limit',
    outcomes: ['no'],
    ofPostings: true,
    together: true,
    orBusy: true,
    arrange: async (stage) => ({ mend: await onPosting(stage, 'perform pg_sleep(3)') }),
  },
  {
    name: 'a stranger holds the table of answers',
    outcomes: ['no'],
    ofPostings: true,
    code: 'service_unavailable',
    together: true,
    arrange: async (stage) => ({ mend: await holdWith(stage.server, 'lock table posting in share mode') }),
  },
  {
    name: 'the account has no room in the store, though the rules allow it',
    outcomes: ['no'],
    arrange: async (stage) => ({
      mend: await change(
        stage,
        `alter table account add constraint no_room check (program_id <> '${DEMO_PROGRAM_ID}' or sequence = 0) not valid`,
        'alter table account drop constraint no_room',
      ),
    }),
  },
  {
    name: 'the connection is cut before the writes',
    outcomes: ['no'],
    arrange: async (stage) => ({ trap: lay(stage, 'before_save', 'cut') }),
  },
  {
    name: 'the writes never arrive, and nobody says so',
    outcomes: ['no'],
    arrange: async (stage) => {
      // The wire stands still for longer than the service waits, and only then is cut.
      return { trap: lay(stage, 'before_save', 'cut', () => delay(2500)) };
    },
  },
  {
    name: 'it is cut between the writes and COMMIT',
    outcomes: ['no'],
    arrange: async (stage) => ({ trap: lay(stage, 'before_commit', 'cut') }),
  },
  {
    name: 'the backend is terminated between the writes and COMMIT',
    outcomes: ['no'],
    arrange: async (stage) => {
      const terminate = () => terminateBackends(stage, "state = 'idle in transaction'");
      return { trap: lay(stage, 'before_commit', 'go_on', terminate) };
    },
  },
  {
    name: 'the service stands still between the load and the writes, and its transaction is ended',
    outcomes: ['no'],
    arrange: async (stage) => {
      const terminate = () => terminateBackends(stage, "state = 'idle in transaction'");
      return { trap: lay(stage, 'before_save', 'go_on', terminate) };
    },
  },
  {
    name: 'COMMIT itself is refused, by a deferred constraint',
    outcomes: ['no'],
    ofPostings: true,
    arrange: async (stage) => ({
      mend: await onPosting(stage, `raise exception 'refused at commit' using errcode = '23514'`, 'constraint trigger'),
    }),
  },
];

runFaults('save', SAVE);
