import { randomUUIDv7 } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { ERRORS } from '../../contract/errors/catalogue.ts';
import type { ErrorCode, OperationId } from '../../contract/operations.ts';
import { toWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import { DEMO_PROGRAM_ID } from '../../domain/sandbox.ts';
import type { Statement } from '../../server/store/connection/database.ts';
import { countErrors, type ErrorFilter, listErrors, readError, timeOfId } from '../../server/store/error.ts';
import { dropOldErrors, preparePartitions } from '../../server/store/partition.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

const OTHER_PROGRAM_ID = '01900000-0000-7000-8000-00000000000b';
const DAY = 86_400_000;
const ROWS = 60_000;
/** A minute in the past. Nothing else is stored in that minute while the tests count. */
const NEWEST = Math.floor(Date.now() / 60_000) * 60_000 - 60_000;
/** The interval between rows, in milliseconds. The rows cover 83 days and several months. */
const APART = 120_000;

const server = await useServer();
const ledger = useLedger(server.connection);
const admin = await useConnection(server.connection);

/** Row n is 2n minutes old. There are a thousand kinds of rows, so each index is selective. */
const FILL = `
  with numbered as (
    select n, ($1::bigint - n * $2::bigint) as ms, md5(n::text) as digits from generate_series(0, $3::int - 1) as n
  ), stored as (
    insert into error (request_id, created_at, program_id, caller, operation, code, status, type, message, card_name,
        causes, request)
      select (lpad(to_hex(ms), 12, '0') || '7' || substr(digits, 1, 3) || '8' || substr(digits, 4, 15))::uuid,
        to_timestamp(ms / 1000.0),
        case n % 100 when 0 then null when 1 then $5::uuid else $4::uuid end, 'program_key',
        case when n % 1000 = 7 then 'create_card' else 'create_transfer' end,
        case when n % 1000 = 7 then 'duplicate_card' when n % 1000 = 3 then 'service_disabled'
          when n % 10 = 5 then 'unknown_create_transfer' else 'insufficient_funds' end,
        case when n % 1000 = 3 then 424 when n % 10 = 5 then 500 else 409 end,
        case when n % 1000 = 3 then 'Process Error' when n % 10 = 5 then 'Server Error' else 'Request Error' end,
        'row ' || n, 'card_' || n % 5000, '[]', json_build_object('n', n)
      from numbered returning created_at, program_id, code
  )
  insert into error_count (hour, program_id, code, count)
    select date_trunc('hour', created_at), program_id, code, count(*) from stored group by 1, 2, 3`;

beforeAll(async () => {
  for (let month = 3; month >= 0; month -= 1) {
    await preparePartitions(ledger.database, new Date(NEWEST - month * 30 * DAY));
  }
  await admin.query(FILL, [NEWEST, APART, ROWS, DEMO_PROGRAM_ID, OTHER_PROGRAM_ID]);
});

type Listed = {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly next_cursor: string | null;
  readonly dropped?: number;
};

async function list(operation: OperationId, query: object, programId = ''): Promise<Listed> {
  return JSON.parse((await ledger.call(operation, query, { programId })).body) as Listed;
}

const numberOf = (row: Readonly<Record<string, unknown>>): number => Number(String(row.message).slice(4));
const numbers = (page: Listed): readonly number[] => page.data.map(numberOf);

describe('lists', () => {
  test("are newest first, and contain only the card program's errors", async () => {
    const own = await list('list_errors', { limit: 4 }, OTHER_PROGRAM_ID);
    expect(numbers(own)).toEqual([1, 101, 201, 301]);
    const all = await list('search_errors', { limit: 4 });
    expect(numbers(all)).toEqual([0, 1, 2, 3]);
    expect(all.data.map(({ program_id }) => program_id)).toEqual([
      null,
      toWireId('prog', OTHER_PROGRAM_ID),
      toWireId('prog', DEMO_PROGRAM_ID),
      toWireId('prog', DEMO_PROGRAM_ID),
    ]);
    expect(all.dropped).toBe(0);
  });

  test.each<[string, object, readonly number[]]>([
    ['code', { code: 'duplicate_card' }, [7, 1007, 2007]],
    ['type', { type: 'Process Error' }, [3, 1003, 2003]],
    ['another type', { type: 'Server Error' }, [5, 15, 25]],
    ['the type of nearly all errors', { type: 'Request Error' }, [2, 4, 6]],
    ['operation', { operation: 'create_card' }, [7, 1007, 2007]],
    ['card', { card_id: 'card_42' }, [42, 5042, 10042]],
    ['card and code', { card_id: 'card_45', code: 'unknown_create_transfer' }, [45, 5045, 10045]],
    ['a code and a type that exclude each other', { code: 'duplicate_card', type: 'Server Error' }, []],
    ['from', { created_from: new Date(NEWEST - 5 * APART).toISOString(), limit: 100 }, [2, 3, 4, 5]],
    ['to', { created_to: new Date(NEWEST - 9 * APART).toISOString() }, [10, 11, 12]],
    [
      'from, to and code',
      {
        code: 'service_disabled',
        created_from: new Date(NEWEST - 40_000 * APART).toISOString(),
        created_to: new Date(NEWEST - 20_003 * APART).toISOString(),
      },
      [21_003, 22_003, 23_003],
    ],
  ])('are filtered by %s', async (_, query, expected) => {
    const own = await list('list_errors', { limit: 3, ...query }, DEMO_PROGRAM_ID);
    expect(numbers(own)).toEqual(expected);
    const program = { program_id: toWireId('prog', DEMO_PROGRAM_ID) };
    expect(numbers(await list('search_errors', { limit: 3, ...query, ...program }))).toEqual(expected);
  });

  test.each<[OperationId, object]>([
    ['list_errors', { card_id: 'card_42' }],
    ['list_errors', { code: 'service_disabled' }],
    ['search_errors', { type: 'Process Error' }],
    ['search_errors', { operation: 'create_card', limit: 7 }],
  ])('%s filtered by %j returns each error once over all pages', async (operation, query) => {
    const seen: number[] = [];
    let cursor: string | null = null;
    do {
      const page: Listed = await list(operation, { limit: 5, ...query, ...(cursor && { cursor }) }, DEMO_PROGRAM_ID);
      seen.push(...numbers(page));
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(seen).toHaveLength('card_id' in query ? 12 : 60);
    expect(seen).toEqual([...new Set(seen)].sort((left, right) => left - right));
  });

  test.each<[OperationId, object, string]>([
    ['list_errors', { code: 'nonsense' }, '/code'],
    ['list_errors', { operation: 'create_money' }, '/operation'],
    ['list_errors', { cursor: 'nonsense' }, '/cursor'],
    ['search_errors', { program_id: 'nonsense' }, '/program_id'],
    ['count_errors', { code: 'nonsense' }, '/code'],
    ['count_errors', { from: '2030-01-31T12:00:00Z', to: '2030-01-31T11:00:00Z' }, '/from'],
    ['count_errors', { from: '2020-01-31T12:00:00Z' }, '/from'],
  ])('%s refuses %j', async (operation, query, field) => {
    const refusal = await list(operation, query, DEMO_PROGRAM_ID).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({ code: `${operation}_schema`, details: { field } });
  });
});

describe('counts', () => {
  type Counts = { readonly data: readonly { readonly start: string; readonly code: string; readonly count: number }[] };
  const count = async (query: object) => JSON.parse((await ledger.call('count_errors', query)).body) as Counts;
  const sum = ({ data }: Counts): number => data.reduce((total, row) => total + row.count, 0);
  const whole = { from: new Date(NEWEST - 84 * DAY).toISOString(), to: new Date(NEWEST + 1).toISOString() };

  test('are returned by day, for all stored errors', async () => {
    const counts = await count({ ...whole, interval: 'day' });
    expect(sum(counts)).toBe(ROWS);
    expect(counts.data.filter(({ start }) => !start.endsWith('T00:00:00.000Z'))).toEqual([]);
    expect(counts.data.map(({ start }) => start)).toEqual(counts.data.map(({ start }) => start).sort());
    for (const { code } of counts.data) expect(ERRORS).toHaveProperty(code);
  });

  test('are returned by hour, for one code or one card program', async () => {
    const day = { from: new Date(NEWEST - DAY).toISOString() };
    const hours = await count({ ...day, code: 'insufficient_funds' });
    expect(new Set(hours.data.map(({ start }) => start)).size).toBeGreaterThanOrEqual(24);
    expect(new Set(hours.data.map(({ code }) => code))).toEqual(new Set(['insufficient_funds']));
    expect(sum(await count({ ...whole, interval: 'day', program_id: toWireId('prog', OTHER_PROGRAM_ID) }))).toBe(600);
    expect(sum(await count({ ...whole, interval: 'day', code: 'service_disabled' }))).toBe(60);
  });

  test('cover the last 24 hours by default', async () => {
    // These are the current hour, which may have no row yet, and the 23 hours before it.
    const expectedAt = (now: number): number => {
      const from = (Math.ceil(now / 3_600_000) - 24) * 3_600_000;
      return Math.floor((NEWEST - from) / APART) + 1;
    };
    const begun = Date.now();
    const counts = await count({});
    expect([expectedAt(begun), expectedAt(Date.now())]).toContain(sum(counts));
  });
});

describe('plans', () => {
  type Plan = {
    readonly 'Node Type': string;
    readonly 'Relation Name'?: string;
    readonly 'Actual Rows'?: number;
    readonly 'Actual Loops'?: number;
    readonly 'Rows Removed by Filter'?: number;
    readonly Plans?: readonly Plan[];
  };
  const NOTHING: ErrorFilter = {
    after: null,
    count: 21,
    programId: null,
    codes: null,
    operation: null,
    cardName: null,
    from: null,
    to: null,
  };
  const codesOf = (type: string): readonly string[] =>
    Object.keys(ERRORS).filter((code) => ERRORS[code as ErrorCode].type === type);
  const programId = DEMO_PROGRAM_ID;
  const STATEMENTS: Readonly<Record<string, Statement>> = {
    'look-up': readError(randomUUIDv7(), null),
    'look-up of a program': readError(randomUUIDv7(), programId),
    everything: listErrors(NOTHING),
    'a program': listErrors({ ...NOTHING, programId }),
    'a later page': listErrors({ ...NOTHING, programId, after: idAt(NEWEST - 30 * DAY) }),
    'a rare code': listErrors({ ...NOTHING, codes: ['duplicate_card'] }),
    'a rare code of a program': listErrors({ ...NOTHING, programId, codes: ['duplicate_card'] }),
    'a rare type': listErrors({ ...NOTHING, programId, codes: codesOf('Process Error') }),
    'a common type': listErrors({ ...NOTHING, programId, codes: codesOf('Request Error') }),
    'a type without errors': listErrors({ ...NOTHING, codes: ['card_suspected_fraud', 'card_lost'] }),
    'a rare operation': listErrors({ ...NOTHING, operation: 'create_card' }),
    'a rare operation of a program': listErrors({ ...NOTHING, programId, operation: 'create_card' }),
    'an operation without errors': listErrors({ ...NOTHING, programId, operation: 'create_key' }),
    'a card': listErrors({ ...NOTHING, programId, cardName: 'card_42' }),
    'a card without errors': listErrors({ ...NOTHING, cardName: 'card_nowhere' }),
    'a time': listErrors({ ...NOTHING, from: new Date(NEWEST - 50 * DAY), to: new Date(NEWEST - 49 * DAY) }),
  };

  function nodesOf(plan: Plan): readonly Plan[] {
    return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
  }

  /** Returns the number of rows that a plan read from large partitions. */
  function rowsRead(plan: Plan): number {
    return nodesOf(plan)
      .filter((node) => filled.has(node['Relation Name'] ?? ''))
      .reduce((sum, node) => {
        const perLoop = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
        return sum + perLoop * (node['Actual Loops'] ?? 1);
      }, 0);
  }

  async function explain({ text, values }: Statement, isGeneric: boolean): Promise<Plan> {
    const { rows } = isGeneric
      ? await admin.query(`explain (generic_plan, format json) ${text}`)
      : await admin.query(`explain (analyze, timing off, format json) ${text}`, [...values]);
    return rows[0]['QUERY PLAN'][0].Plan as Plan;
  }

  async function expectNoScan(statement: Statement): Promise<void> {
    for (const isGeneric of [false, true]) {
      const plan = await explain(statement, isGeneric);
      const scanned = nodesOf(plan).filter((node) => node['Node Type'] === 'Seq Scan');
      const grown = scanned.map((node) => node['Relation Name'] ?? '').filter((name) => filled.has(name));
      expect(grown).toEqual([]);
      // An index would be useless if the plan still read a twentieth of the table.
      if (!isGeneric) expect(rowsRead(plan)).toBeLessThan(ROWS / 20);
    }
  }

  /**
   * The partitions that hold at least a week of rows. The other partitions are small, and reading all of a small
   * partition is fastest. A future month is empty, and the first and last months may hold only a few hours.
   */
  let filled: ReadonlySet<string> = new Set();
  beforeAll(async () => {
    const { rows } = await admin.query(
      'select tableoid::regclass::text as name from error group by tableoid having count(*) >= $1',
      [(7 * DAY) / APART],
    );
    filled = new Set(rows.map(({ name }) => String(name)));
    expect(filled.size).toBeGreaterThanOrEqual(2);
  });

  describe('before the table is analyzed', () => {
    test.each(Object.keys(STATEMENTS))('%s uses an index', async (name) => {
      await expectNoScan(STATEMENTS[name] as Statement);
    });
  });

  describe('after the table is analyzed', () => {
    beforeAll(async () => {
      await admin.query('analyze error');
    });

    test.each(Object.keys(STATEMENTS))('%s uses an index', async (name) => {
      await expectNoScan(STATEMENTS[name] as Statement);
    });
  });

  test('a look-up reads one partition', async () => {
    const requestId = idAt(NEWEST - 40 * DAY);
    const read = nodesOf(await explain(readError(requestId, null), false)).filter((node) => 'Relation Name' in node);
    expect(new Set(read.map((node) => node['Relation Name']))).toEqual(
      new Set([`error_${timeOfId(requestId).toISOString().slice(0, 7).replace('-', '_')}`]),
    );
  });

  test('a chart of a year reads the counts instead of the errors', async () => {
    const statement = countErrors('day', new Date(NEWEST - 365 * DAY), new Date(NEWEST), null, null);
    const { rows } = await admin.query(`explain (analyze, format json) ${statement.text}`, [...statement.values]);
    const read = nodesOf(rows[0]['QUERY PLAN'][0].Plan).flatMap((node) => node['Relation Name'] ?? []);
    expect(new Set(read)).toEqual(new Set(['error_count']));
    expect(rowsRead(rows[0]['QUERY PLAN'][0].Plan)).toBeLessThan(ROWS);
  });
});

/** Returns a request id with this time. */
function idAt(time: number): string {
  const hex = time.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8000-000000000000`;
}

describe('retention', () => {
  test('removes whole months that are older than the limit, with their counts', async () => {
    await admin.query(
      `insert into error (request_id, created_at, code, status, type, message, causes)
       values ($1, $2, 'unauthenticated', 401, 'Request Error', 'very old', '[]')`,
      [idAt(NEWEST - 900 * DAY), new Date(NEWEST - 900 * DAY)],
    );
    await admin.query(
      `insert into error_drop (drop_id, reason, count, since, until) values (gen_random_uuid(), 'queue_full', 5, $1, $1)`,
      [new Date(NEWEST - 900 * DAY)],
    );
    const before = await oldest();
    expect(before.message).toBe('very old');

    const earliest = Date.now() - 45 * DAY;
    const dropped = await dropOldErrors(ledger.database, 45);
    const limit = Date.now() - 45 * DAY;
    expect(dropped.length).toBeGreaterThan(0);
    for (const name of dropped) {
      const [, year, month] = /^error_(\d{4})_(\d{2})$/.exec(name) ?? [];
      expect(Date.UTC(Number(year), Number(month), 1)).toBeLessThanOrEqual(limit);
    }
    const after = await oldest();
    // No error newer than the limit is removed. Older errors remain only in the month of the limit.
    expect(after.created_at.getTime()).toBeLessThanOrEqual(limit + APART);
    expect(after.created_at.getTime()).toBeGreaterThan(limit - 32 * DAY);
    expect(await dropOldErrors(ledger.database, 45)).toEqual([]);
    const counts = await admin.query('select min(hour) as hour from error_count');
    expect(counts.rows[0].hour.getTime()).toBeGreaterThanOrEqual(earliest);
    expect((await admin.query('select from error_drop')).rowCount).toBe(0);
    // Look-ups and new errors still work.
    const [{ request_id = '' } = {}] = (await list('search_errors', { limit: 1 })).data as { request_id?: string }[];
    const reply = await ledger.call('inspect_error', {}, { params: { request_id } });
    expect(JSON.parse(reply.body)).toMatchObject({ message: 'row 0' });
  });

  test('keeps the counts longer than the errors if configured', async () => {
    const hour = new Date(Math.floor((Date.now() - 50 * DAY) / 3_600_000) * 3_600_000);
    await admin.query("insert into error_count (hour, code, count) values ($1, 'unauthenticated', 3)", [hour]);
    const counted = async () => (await admin.query('select from error_count where hour = $1', [hour])).rowCount;
    await dropOldErrors(ledger.database, 45, 60);
    expect(await counted()).toBe(1);
    await dropOldErrors(ledger.database, 45);
    expect(await counted()).toBe(0);
  });

  async function oldest(): Promise<{ readonly message: string; readonly created_at: Date }> {
    return (await admin.query('select message, created_at from error order by created_at limit 1')).rows[0];
  }
});
