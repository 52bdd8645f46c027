import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEMO_PROGRAM_ID as PROGRAM } from '../../domain/sandbox.ts';
import { newTransfer, plainTerms, type Transfer } from '../../domain/transfers/transfer.ts';
import type { Statement } from '../../server/store/connection/database.ts';
import { readErrorsAbout } from '../../server/store/error.ts';
import { readPlacesAt } from '../../server/store/events/events-of-subjects.ts';
import { readPostingsOfCauses } from '../../server/store/ledger/statement.ts';
import { readDuplicatePairs, readTransfersAlike } from '../../server/store/transfers/likely-duplicates.ts';
import { readTransfers } from '../../server/store/transfers/transfer.ts';
import { listFailedAttempts, readAttemptsOfEvents } from '../../server/store/webhooks/attempt.ts';
import { readWaitsOfEvents } from '../../server/store/webhooks/delivery.ts';
import { connect } from '../harness/ledger.ts';
import { useConnection, useServer } from '../harness/use-ledger.ts';
import { fill } from './fill.ts';
import { endlessReads, type Plan, relationsRead } from './plan.ts';

// Tests the plans of a timeline and of failed deliveries on full tables. Each statement is about one transfer, card or
// program. The number of rows that it reads may grow with the timeline's limits or with the number of webhooks, but
// never with the tables.

const server = await useServer();
const client = await useConnection(server.connection);
let reader: pg.Client;

const ERRORS = 60_000;

/**
 * Inserts errors of a hundred cards and three operations, deliveries, and a transaction with events in each second of a
 * day.
 */
const FILL = `
  insert into error (request_id, created_at, program_id, operation, code, status, type, message, card_name, transfer_id, causes)
    select uuid_at(moment), moment, '${PROGRAM}', (array['create_transfer', 'capture_transfer', 'reverse_transfer'])[1 + number % 3],
      'insufficient_funds', 409, 'Process Error', 'x', case when number % 3 = 0 then 'card ' || number % 100 end,
      gen_random_uuid(), '[]'
    from (select number, now() - number * interval '1 second' as moment from generate_series(1, ${ERRORS}) as number) as made;
  insert into webhook_attempt (attempt_id, webhook_id, program_id, event_id, event_type, kind, try, started_at, milliseconds, succeeded)
    select gen_random_uuid(), gen_random_uuid(), '${PROGRAM}', gen_random_uuid(), 'transfer.completed', 'event', 1,
      now() - number * interval '1 second', 1, true
    from generate_series(1, ${ERRORS}) as number;
  insert into event_position (program_id, position, count, batch_id, events_at, number, is_shared, relayed_at)
    select '${PROGRAM}', number, 1, uuid_at(now() - number * interval '1 second'), now() - number * interval '1 second',
      number, false, now()
    from generate_series(1, ${ERRORS}) as number;
  insert into webhook (webhook_id, program_id, url, payload, delivery_order, concurrency, version, created_at, updated_at)
    select gen_random_uuid(), case when number <= 20 then '${PROGRAM}'::uuid end, 'https://x', 'full', 'parallel', 10, 'v0.1', now(), now()
    from generate_series(1, 5000) as number;
  insert into webhook_attempt (attempt_id, webhook_id, program_id, event_id, event_type, kind, try, started_at, milliseconds, succeeded)
    select gen_random_uuid(), webhook_id, program_id, gen_random_uuid(), 'transfer.completed', 'event', 1,
      now() - number * interval '1 second', 1, number % 2 = 0
    from webhook cross join generate_series(1, 10) as number;
  insert into webhook_state (webhook_id, program_id, shard, cursor, status)
    select webhook_id, program_id, 1, 0, 'paused' from webhook;
  insert into webhook_delivery (webhook_id, kind, event_id, program_id, shard, position, state, created_at, next_at)
    select webhook_id, 'event', gen_random_uuid(), program_id, 1, number, 'waiting', now(), now()
    from webhook cross join generate_series(1, 10) as number;`;

beforeAll(async () => {
  await fill(client);
  await client.query(FILL);
  const options = `-c role=transfer_service_application -c service.programs={${PROGRAM}}`;
  reader = await connect({ ...server.connection, options });
});
afterAll(() => reader.end());

const cardId = randomUUID();
const now = Date.now();
const moment = new Date(now - 3_600_000);
const transfer: Transfer = newTransfer(
  {
    programId: PROGRAM,
    transferId: randomUUID(),
    requestId: randomUUID(),
    idempotencyKey: null,
    createdBy: null,
    now: moment.getTime(),
  },
  plainTerms('load', 7n, 'card_active'),
  {},
  {
    card: { name: 'card_active', cardId, currency: 'USD' } as Parameters<typeof newTransfer>[3]['card'],
    destinationCard: undefined,
  },
);
const at = { earliest: moment, latest: moment, isServiceTime: true, since: moment, until: moment };
const about = {
  programId: PROGRAM,
  transferId: transfer.transferId,
  cardName: 'card 7',
  key: null,
  operations: ['capture_transfer', 'reverse_transfer'],
  since: moment,
  maxExamined: 1000,
  count: 51,
};
const chunk = { before: null, windowSeconds: 600, maxExamined: 5000, count: 21 };

const failed = { status: null, from: null, to: null };

const waiting = { eventId: cardId, eventType: 'transfer.completed', position: 1 };

const READS: readonly (readonly [string, Statement])[] = [
  ['the postings of causes', readPostingsOfCauses(PROGRAM, cardId, [{ causeId: cardId, moment }], 300)],
  ['the positions of events at moments', readPlacesAt(PROGRAM, [at, at], { maxExamined: 5000, count: 20 })],
  ['the deliveries of events', readAttemptsOfEvents([cardId, cardId], moment, 51)],
  ['the failed deliveries of a program', listFailedAttempts({ ...failed, programId: PROGRAM }, null, 51)],
  [
    'the failed deliveries of a program in a period, a later page',
    listFailedAttempts({ status: { from: 500, to: 599 }, from: moment, to: moment, programId: PROGRAM }, cardId, 51),
  ],
  ['the webhooks that events wait for', readWaitsOfEvents({ sent: [waiting, waiting], programId: PROGRAM, count: 51 })],
  ['the errors about a transfer', readErrorsAbout(about)],
  ['the errors with a key', readErrorsAbout({ ...about, key: 'x' })],
  ['transfers alike', readTransfersAlike(transfer, { windowSeconds: 600, maxExamined: 5000, count: 10 })],
  ['pairs of a card', readDuplicatePairs(PROGRAM, 'card_active', chunk)],
  ['pairs of a card, a later page', readDuplicatePairs(PROGRAM, 'card_active', { ...chunk, before: cardId })],
  ['some transfers', readTransfers(PROGRAM, [cardId, cardId])],
];

async function planOf({ text, values }: Statement, how: 'custom' | 'generic'): Promise<Plan> {
  if (how === 'custom') return planIn(await reader.query(`explain (format json) ${text}`, [...values]));
  await reader.query('begin; set local plan_cache_mode = force_generic_plan');
  await reader.query(`prepare explained as ${text}`);
  const plan = planIn(
    await reader.query(`explain (format json) execute explained (${values.map(() => 'null').join()})`),
  );
  await reader.query('deallocate explained; rollback');
  return plan;
}

function planIn({ rows }: pg.QueryResult): Plan {
  return rows[0]['QUERY PLAN'][0].Plan as Plan;
}

/** Returns the tables that are read in full, except the clock's table with its one row. */
function wholeReadsOf(plan: Plan): readonly string[] {
  const own = plan['Node Type'] === 'Seq Scan' ? relationsRead({ ...plan, Plans: [] }) : [];
  return [...own, ...(plan.Plans ?? []).flatMap(wholeReadsOf)].filter(
    (name) => name !== 'sandbox_clock' && !isSmall(name),
  );
}

/**
 * A partition of at most this many bytes may be read in full. Usually, that is only an empty partition. On the first
 * day of a month, most rows of this test are in the previous month's partition, so the new month's partition is small.
 */
const SMALL = new Date().getUTCDate() === 1 ? 8 * 1024 * 1024 : 0;

/** Returns whether a partition is so small that reading all of it costs nothing. */
const isSmall = (name: string): boolean => small.has(name);
let small: ReadonlySet<string> = new Set();

describe.each([
  ['on tables without statistics', async () => undefined],
  ['on tables that the planner has analyzed', async () => void (await client.query('analyze'))],
])('%s', (_state, prepare) => {
  beforeAll(async () => {
    await prepare();
    const { rows } = await client.query(
      "select relname from pg_class where relispartition and relkind = 'r' and pg_relation_size(oid) <= $1",
      [SMALL],
    );
    small = new Set(rows.map(({ relname }) => relname));
  });

  test.each(
    READS.flatMap(([name, statement]) => [[name, 'custom', statement] as const, [name, 'generic', statement] as const]),
  )('reads no table in full and follows the order of indexes for %s (%s plan)', async (_name, how, statement) => {
    const plan = await planOf(statement, how);
    const faults = [...wholeReadsOf(plan), ...endlessReads(plan)];
    expect(faults, JSON.stringify(plan, null, 1)).toEqual([]);
  });
});
