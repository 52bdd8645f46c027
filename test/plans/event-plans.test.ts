import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SERVICE_ITSELF } from '../../domain/event.ts';
import { DEMO_PROGRAM_ID as PROGRAM } from '../../domain/sandbox.ts';
import type { Statement } from '../../server/store/connection/database.ts';
import { WITHIN_LIMITS, WRITER_SETTINGS } from '../../server/store/connection/session-settings.ts';
import {
  readHeads,
  readOldestPosition,
  readPlaces,
  readPlacesOfBatch,
  readPlacesOfPrograms,
} from '../../server/store/events/event-positions.ts';
import { READ_EVENTS } from '../../server/store/events/read-events.ts';
import { relayEvents } from '../../server/store/events/relay.ts';
import { connect } from '../harness/ledger.ts';
import { useConnection, useServer } from '../harness/use-ledger.ts';
import { forbiddenReads, type Plan, relationsRead } from './plan.ts';

// Tests the plans of statements about events on a hundred days of events, which is more than the default retention
// keeps.

const DAYS = 100;
const server = await useServer();
const client = await useConnection(server.connection);
let reader: pg.Client;

/**
 * Inserts one batch per minute, with three events of the program and one of another program. The last hundred batches
 * have not been relayed.
 */
const FILL = `
  select make_event_partition('event', current_date - age) from generate_series(0, ${DAYS}) as age;
  select make_event_partition('event_position', (current_date - make_interval(months => age))::date)
    from generate_series(0, 4) as age;
  create temporary table batch as
    select number, overlay(uuid_at(moment)::text placing lpad(to_hex(number), 12, '0') from 25 for 12)::uuid as batch_id, moment
    from (select number, date_trunc('milliseconds', now() - (${DAYS * 1440} - number) * interval '1 minute') as moment
      from generate_series(1, ${DAYS * 1440}) as number) as made;
  insert into write_batch (batch_id, created_at, relayed, events_at, event_programs, event_counts)
    select batch_id, moment, number < ${DAYS * 1440 - 100}, moment, array['${PROGRAM}', gen_random_uuid()]::uuid[], '{3,1}'
    from batch;
  insert into event (batch_id, index, program_id, type, subject_id, payload, created_at)
    select batch_id, place, case when place < 3 then '${PROGRAM}'::uuid else gen_random_uuid() end, 'transfer.completed',
      'tr_x', '{}', moment from batch, generate_series(0, 3) as place where number % 10 = 0;
  insert into event_position (program_id, position, count, batch_id, events_at, number, is_shared, relayed_at)
    select '${PROGRAM}', number * 3 - 2, 3, batch_id, moment, number * 4 - 3, false, moment from batch;
  insert into event_head values ('${PROGRAM}', ${DAYS * 1440 * 3});`;

beforeAll(async () => {
  await client.query(FILL);
  reader = await connect({
    ...server.connection,
    options: `-c role=transfer_service_application -c service.programs={${PROGRAM}}`,
  });
});
afterAll(() => reader.end());

async function planOf(of: pg.Client, { text, values }: Statement): Promise<Plan> {
  const { rows } = await of.query(`explain (format json) ${text}`, [...values]);
  return rows[0]['QUERY PLAN'][0].Plan as Plan;
}

/** Returns the partitions of a table that a connection has locked since its transaction began. */
async function lockedPartitions(of: pg.Client, table: string): Promise<readonly string[]> {
  const { rows } = await of.query(
    `select distinct relname from pg_locks join pg_inherits on inhrelid = relation join pg_class on pg_class.oid = relation
      where pid = pg_backend_pid() and inhparent = $1::regclass order by 1`,
    [table],
  );
  return rows.map(({ relname }) => relname);
}

const PLACES: readonly (readonly [string, Statement])[] = [
  ['positions after another', readPlaces({ programId: PROGRAM, after: 200_000, count: 100 })],
  ['positions before another', readPlaces({ programId: PROGRAM, before: 200_000, count: 100 })],
  ['positions of all programs after a number', readPlaces({ after: 200_000, count: 100 })],
  ['positions of all programs before a number', readPlaces({ before: 200_000, count: 100 })],
  [
    'positions of several programs',
    readPlacesOfPrograms({ wanted: [0, 200_000].map((after) => ({ programId: PROGRAM, after })), count: 100 }),
  ],
  ['positions of a transaction', readPlacesOfBatch('01900000-0000-7000-8000-000000000001')],
  ['heads', readHeads({ programIds: [PROGRAM] })],
  ['the oldest position', readOldestPosition(PROGRAM)],
];

describe.each([
  ['on tables without statistics', async () => undefined],
  ['on tables that the planner has analyzed', async () => void (await client.query('analyze'))],
])('%s', (_state, prepare) => {
  beforeAll(prepare);

  test.each(PLACES)('%s are found by an index, in its order', async (_name, statement) => {
    const plan = await planOf(statement.text.includes('is_shared') ? client : reader, statement);
    expect(scansOf(plan), JSON.stringify(plan, null, 1)).toEqual([]);
  });

  test('a page reads and locks only the partitions for its days, even after several reads', async () => {
    const { rows } = await client.query(
      'select batch_id, moment from batch where number between 100 and 1600 order by 1',
    );
    const places = rows.filter((_, at) => at % 100 === 0);
    const statement = READ_EVENTS({
      batchIds: places.map(({ batch_id }) => batch_id),
      times: places.map(({ moment }) => moment),
      programIds: [PROGRAM],
      types: [],
      subjectId: null,
      serviceItself: SERVICE_ITSELF,
    });
    const days = new Set(places.map(({ moment }) => `event_${moment.toISOString().slice(0, 10).replaceAll('-', '_')}`));
    await reader.query('begin');
    for (let time = 0; time < 8; time += 1) {
      const found = await reader.query({ ...statement, values: [...statement.values] });
      expect(found.rows.length).toBeGreaterThan(3);
    }
    expect(new Set(await lockedPartitions(reader, 'event'))).toEqual(days);
    await reader.query('commit');
    expect(scansOf(await planOf(reader, statement))).toEqual([]);
  });

  test('the relay finds waiting events by their index, and reads no table in full', async () => {
    const writer = await connect({ ...server.connection, options: '-c role=transfer_service_background' });
    try {
      for (const [name, value] of [...WITHIN_LIMITS, ...WRITER_SETTINGS])
        await writer.query(`set ${name} = '${value}'`);
      const { text, values } = relayEvents(300);
      await writer.query('begin; set local enable_hashjoin = on');
      await writer.query(`prepare relay as ${text}`);
      const { rows } = await writer.query(`explain (format json) execute relay (${values.map(() => 'null').join()})`);
      await writer.query('rollback');
      const plan = rows[0]['QUERY PLAN'][0].Plan as Plan;
      const all = JSON.stringify(plan, null, 1);
      expect(forbiddenReads(plan), all).toEqual([]);
      expect(all).toMatch(/"Index Name": "write_batch_20\d\d_\d\d_\d\d_created_at_batch_id_idx"/);
      expect(relationsRead(plan).filter((name) => /^event_20/.test(name))).toEqual([]);
    } finally {
      await writer.end();
    }
  });
});

describe('dropping an old partition', () => {
  let superuser: pg.Client;
  const plans: Plan[] = [];
  const listen = ({ message = '' }: { message?: string | undefined }): void => {
    const [, text] = /plan:\n([\s\S]*)/.exec(message) ?? [];
    if (text !== undefined) plans.push((JSON.parse(text) as { Plan: Plan }).Plan);
  };
  const MONTH = "to_char(current_date - interval '4 months', '\"event_position_\"YYYY_MM')";
  const drop = async (table: string): Promise<string | null> => {
    plans.length = 0;
    const { rows } = await superuser.query('select drop_event_partition($1, current_date - 32) as name', [table]);
    return rows[0]?.name;
  };
  const deleteUpTo = (difference: number) =>
    superuser.query(
      `update event_deletion set up_to_number = $1 + (select max(number) from event_position
        where tableoid = ${MONTH}::regclass)`,
      [difference],
    );

  beforeAll(async () => {
    superuser = await connect({ ...server.connection, user: 'postgres' });
    const settings = ['min_duration = 0', 'nested_statements = on', 'format = json', "level = 'notice'"];
    await superuser.query(`load 'auto_explain'; ${settings.map((one) => `set auto_explain.log_${one};`).join(' ')}`);
    superuser.on('notice', listen);
    // Fills a month of positions that is old enough to be dropped.
    await superuser.query(
      `insert into event_position (program_id, position, count, batch_id, events_at, number, is_shared, relayed_at)
        select gen_random_uuid(), 1, 1, gen_random_uuid(), moment, number, false, moment
        from (select number, date_trunc('month', now() - interval '4 months') + number * interval '1 second' as moment
          from generate_series(1, 100) as number) as early;`,
    );
  });
  afterAll(() => superuser.end());

  test('never reads all positions of a month while it holds the locks, and is refused for a month with a row that is still needed', async () => {
    for (const [difference, isDropped] of [
      [-1, false],
      [0, true],
    ] as const) {
      await superuser.query('begin');
      await deleteUpTo(difference);
      const { rows } = await superuser.query(`select ${MONTH} as month`);
      expect(await drop('event_position')).toBe(isDropped ? rows[0]?.month : null);
      const all = JSON.stringify(plans, null, 1);
      const ofPositions = plans.filter((plan) => relationsRead(plan).includes(rows[0]?.month));
      expect(ofPositions.length, all).toBeGreaterThan(0);
      expect(ofPositions.flatMap(wholeReadsOf), all).not.toContain(rows[0]?.month);
      await superuser.query('rollback');
    }
  });

  test('is refused for a month with one needed row, whether the row belongs to one program or to all', async () => {
    for (const isShared of [false, true]) {
      await superuser.query('begin');
      await deleteUpTo(0);
      await superuser.query(
        `insert into event_position (program_id, position, count, batch_id, events_at, number, is_shared, relayed_at)
          select gen_random_uuid(), 1, 1, gen_random_uuid(), now(), up_to_number + 1, $1,
            date_trunc('month', now() - interval '4 months') + interval '1 day' from event_deletion`,
        [isShared],
      );
      expect(await drop('event_position')).toBeNull();
      const { rows } = await superuser.query(
        "select find_droppable_event_partition('event_position', current_date - 32) as name",
      );
      expect(rows[0]?.name).toBeNull();
      await superuser.query('rollback');
    }
  });

  test('finds waiting fences by their index', async () => {
    await superuser.query('begin');
    await drop('write_batch');
    expect(plans.flatMap(wholeReadsOf).filter((name) => name.startsWith('write_batch'))).toEqual([]);
    await superuser.query('rollback');
  });
});

const rowsOf = (plan: Plan): number => Number(Reflect.get(plan, 'Plan Rows'));

/** Returns the relations that are read without an index. */
function wholeReadsOf(plan: Plan): readonly string[] {
  const own = plan['Node Type'] === 'Seq Scan' ? [plan['Relation Name'] ?? ''] : [];
  return [...own, ...(plan.Plans ?? []).flatMap(wholeReadsOf)];
}

/** Returns the partitions with rows that are read in full or sorted. */
function scansOf(plan: Plan): readonly string[] {
  const isWhole = /^(Seq Scan|Sort)$/.test(plan['Node Type']) && plan['Total Cost'] > 50 && rowsOf(plan) > 1000;
  return [
    ...(isWhole ? [`${plan['Node Type']} ${plan['Relation Name']}`] : []),
    ...(plan.Plans ?? []).flatMap(scansOf),
  ];
}
