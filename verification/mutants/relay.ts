import type { Mutants, Witness } from './mutant.ts';

const order = (only: string): Witness => ({ file: 'test/store/events/order.test.ts', only });
const retention = (only: string): Witness => ({ file: 'test/store/events/retention.test.ts', only });
const RELAYED: Witness = { file: 'test/store/events/relay.test.ts' };
const AT_ONCE: Witness = { file: 'test/store/events/concurrency.test.ts' };

/** Mistakes of the relay: events are missed, repeated or out of order. */
export const RELAYS: Mutants = {
  'relay-after-the-last-id': {
    mistake: 'the relay continues after the highest id that it has numbered, so it misses late commits',
    edits: {
      RELAY_EVENTS: [
        'and not abandoned',
        "and batch_id > coalesce((select batch_id from event_position order by batch_id desc limit 1), '00000000-0000-0000-0000-000000000000') $&",
      ],
    },
    witnesses: [order('commits late comes after younger transactions'), AT_ONCE],
  },
  'relay-after-the-last-time': {
    mistake: 'the relay continues after the latest time that it has numbered, so it misses late commits',
    edits: {
      RELAY_EVENTS: [
        'and not abandoned',
        "and created_at > coalesce((select max(created_at) from write_batch as numbered where relayed), '-infinity') $&",
      ],
    },
    witnesses: [order('commits late comes after younger transactions'), AT_ONCE],
  },
  'relay-in-the-order-of-ids': {
    mistake: 'transactions are numbered in the order of their ids, which come from the clocks of the processes',
    edits: {
      RELAY_EVENTS: [
        ['created_at, batch_id limit', 'batch_id limit'],
        ['created_at, batch_id, is_shared', 'batch_id, is_shared'],
      ],
    },
    witnesses: [order('whatever their ids are')],
  },
  'relay-without-lock': {
    mistake: 'two relays number the same transactions',
    edits: { HOLD_RELAY: ["pg_advisory_xact_lock(7202, 'event_head'::regclass::oid::int)", "'event_head'::regclass"] },
    witnesses: [order('waited for another one'), AT_ONCE],
  },
  'relay-reads-before-it-holds-the-lock': {
    mistake: 'the relay takes its lock in the statement that reads, so it sees the state from before the wait',
    edits: {
      'Database.underLock': [
        "await this.inOnePacket([lock, statement], 'begin; set local enable_hashjoin = on');",
        `await this.inOnePacket(
      [
        { ...lock, text: 'select 1' },
        {
          ...statement,
          text: statement.text
            .replace(
              'with waiting',
              "with held as materialized (select pg_advisory_xact_lock(7202, 'event_head'::regclass::oid::int)), waiting",
            )
            .replace('where not relayed', 'where (select count(*) from held) = 1 and not relayed'),
        },
      ],
      'begin; set local enable_hashjoin = on',
    );`,
      ],
    },
    witnesses: [order('waited for another one'), AT_ONCE],
  },
  'relay-does-not-mark': {
    mistake: 'numbered transactions are not marked, so they are numbered again',
    edits: { RELAY_EVENTS: ['set relayed = true', 'set relayed = false'] },
    witnesses: [RELAYED],
  },
  'relay-never-searches-all': {
    mistake: 'the relay never looks for transactions that committed long after they began',
    edits: { relayEvents: ['withinSeconds, everyProgram', 'withinSeconds: withinSeconds ?? 300, everyProgram'] },
    witnesses: [order('too old for the bounded search')],
  },
  'events-not-told-to-the-fence': {
    mistake: 'a batch with events counts as a batch without events',
    edits: { insertEvents: ['events: describeEvents(events, now)', '...(now < 0 && { $& })'] },
    witnesses: [RELAYED],
  },
  'events-of-a-program-counted-once': {
    mistake: 'several events of one program take one position',
    edits: { describeEvents: ['(counts.get(id) ?? 0) + 1', '1'] },
    witnesses: [RELAYED],
  },
  'shared-events-for-no-program': {
    mistake: 'an event for every program has no position in any program',
    edits: { RELAY_EVENTS: ['sent.program_id = :everyProgram', 'sent.program_id = program.program_id'] },
    witnesses: [RELAYED],
  },
  'page-begins-with-the-next-transaction': {
    mistake: 'if a page ends inside a transaction, the rest of the transaction is left out',
    edits: { PLACES_AFTER: [':programId\n      and', ':programId and position > :after\n      and'] },
    witnesses: [RELAYED],
  },
  'deleted-events-skipped': {
    mistake: 'readers of deleted events continue silently with the first existing event',
    edits: { '0015_events.sql': ['max(last_number)', 'min(0)'] },
    witnesses: [retention('tells readers where the remaining events begin')],
  },
  'unrelayed-events-dropped': {
    mistake: 'events without a position are dropped with their day',
    edits: {
      '0015_events.sql': ['not relayed and not abandoned and', 'abandoned and relayed and'],
    },
    witnesses: [retention('while older events have no position')],
  },
  'unrelayed-fences-dropped': {
    mistake: 'unrelayed fences are dropped with their day',
    edits: {
      '0037_drop_by_index.sql': [
        "execute format('select exists (select from %I where not relayed and not abandoned)', name) into is_needed;",
        'is_needed := false;',
      ],
    },
    witnesses: [retention('all of them are numbered or abandoned')],
  },
};
