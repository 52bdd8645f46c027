import type { Mutant, Witness } from './mutant.ts';

const order = (only: string): Witness => ({ file: 'test/store/events/order.test.ts', only });
const retention = (only: string): Witness => ({ file: 'test/store/events/retention.test.ts', only });
const RELAYED: Witness = { file: 'test/store/events/relay.test.ts' };
const AT_ONCE: Witness = { file: 'test/store/events/concurrency.test.ts' };

const RELAY = 'server/store/events/relay.ts';

/** The condition that selects the transactions to number. */
const WAITING = 'where not relayed and not abandoned\n        and created_at >=';

/** Mistakes of the relay: events are missed, repeated or out of order. */
export const RELAYS: readonly Mutant[] = [
  {
    name: 'relay-after-the-last-id',
    mistake: 'the relay continues after the highest id that it has numbered, so it misses late commits',
    file: RELAY,
    find: WAITING,
    replace:
      "where not relayed and batch_id > coalesce((select batch_id from event_position order by batch_id desc limit 1), '00000000-0000-0000-0000-000000000000') and not abandoned\n        and created_at >=",
    witnesses: [order('commits late after younger ones'), AT_ONCE],
  },
  {
    name: 'relay-after-the-last-time',
    mistake: 'the relay continues after the latest time that it has numbered, so it misses late commits',
    file: RELAY,
    find: WAITING,
    replace:
      "where not relayed and created_at > coalesce((select max(created_at) from write_batch as numbered where relayed), '-infinity') and not abandoned\n        and created_at >=",
    witnesses: [order('commits late after younger ones'), AT_ONCE],
  },
  {
    name: 'relay-in-the-order-of-ids',
    mistake: 'transactions are numbered in the order of their ids, which come from the clocks of the processes',
    find: 'order by created_at, batch_id limit :count\n    ), sent',
    replace: 'order by batch_id limit :count\n    ), sent',
    also: [
      {
        find: 'over (partition by program_id order by created_at, batch_id, is_shared',
        replace: 'over (partition by program_id order by batch_id, is_shared',
      },
    ],
    witnesses: [order('regardless of the ids')],
  },
  {
    name: 'relay-without-lock',
    mistake: 'two relays number the same transactions',
    find: 'text: "select pg_advisory_xact_lock(7202, \'event_head\'::regclass::oid::int)",',
    replace: 'text: "select \'event_head\'::regclass",',
    witnesses: [order('waited for another one'), AT_ONCE],
  },
  {
    name: 'relay-reads-before-it-holds-the-lock',
    mistake: 'the relay takes its lock in the statement that reads, so it sees the state from before the wait',
    find: "await this.inOnePacket([lock, statement], 'begin; set local enable_hashjoin = on');",
    replace: `await this.inOnePacket(
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
    witnesses: [order('waited for another one'), AT_ONCE],
  },
  {
    name: 'relay-does-not-mark',
    mistake: 'numbered transactions are not marked, so they are numbered again',
    find: 'update write_batch set relayed = true where',
    replace: 'update write_batch set relayed = false where',
    witnesses: [RELAYED],
  },
  {
    name: 'relay-never-searches-all',
    mistake: 'the relay never looks for transactions that committed long after they began',
    find: 'return RELAY_EVENTS({ withinSeconds, everyProgram',
    replace: 'return RELAY_EVENTS({ withinSeconds: withinSeconds ?? 300, everyProgram',
    witnesses: [order('older than the bounded search')],
  },
  {
    name: 'events-not-told-to-the-fence',
    mistake: 'a batch with events counts as a batch without events',
    find: 'return { ...insert, events: describeEvents(events, now) };',
    replace: 'return { ...insert, ...(now < 0 && { events: describeEvents(events, now) }) };',
    witnesses: [RELAYED],
  },
  {
    name: 'events-of-a-program-counted-once',
    mistake: 'several events of one program take one position',
    find: 'counts.set(id, (counts.get(id) ?? 0) + 1);',
    replace: 'counts.set(id, 1);',
    witnesses: [RELAYED],
  },
  {
    name: 'shared-events-for-no-program',
    mistake: 'an event for every program has no position in any program',
    find: 'where sent.program_id = :everyProgram\n',
    replace: 'where sent.program_id = program.program_id\n',
    witnesses: [RELAYED],
  },
  {
    name: 'page-begins-with-the-next-transaction',
    mistake: 'if a page ends inside a transaction, the rest of the transaction is left out',
    find: '    where program_id = :programId\n      and position >= coalesce((',
    replace: '    where program_id = :programId and position > :after\n      and position >= coalesce((',
    witnesses: [RELAYED],
  },
  {
    name: 'deleted-events-skipped',
    mistake: 'readers of deleted events continue silently with the first existing event',
    find: 'up_to_number, (select max(last_number) from event_day',
    replace: 'up_to_number, (select min(0) from event_day',
    witnesses: [retention('tells readers where the rest begins')],
  },
  {
    name: 'unrelayed-events-dropped',
    mistake: 'events without a position are dropped with their day',
    find: 'where not relayed and not abandoned and (events_at is null or events_at < before)',
    replace: 'where abandoned and relayed and (events_at is null or events_at < before)',
    witnesses: [retention('while earlier events have no position')],
  },
  {
    name: 'unrelayed-fences-dropped',
    mistake: 'unrelayed fences are dropped with their day',
    file: 'server/store/migrations/0037_drop_by_index.sql',
    find: "execute format('select exists (select from %I where not relayed and not abandoned)', name) into is_needed;",
    replace: 'is_needed := false;',
    witnesses: [retention('all are numbered or abandoned')],
  },
];
