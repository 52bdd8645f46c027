import { randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TRANSFER_STATUSES, TRANSFER_TYPES } from '../../domain/transfers/transfer.ts';
import type { Database } from '../../server/store/connection/database.ts';
import { type Chunk, listTransfers, toChunkRead } from '../../server/store/transfers/transfer-list.ts';
import { NO_FILTER, type TransferFilter } from '../../server/store/transfers/transfer-route.ts';
import { connect } from '../harness/ledger.ts';
import { useLedger, useServer } from '../harness/use-ledger.ts';

const PROGRAM = randomUUID();
const HOUR = 3_600_000;
const NOW = Date.now();
/** How far the sandbox's clock was ahead when some of the rows were created. */
const AHEAD = 30 * HOUR;
const ROWS = 400;

const CARDS = ['one', 'two', 'three'] as const;
const NAMES = ['shop', 'order'] as const;
const VALUES = ['a', 'b', '=1'] as const;

type Sample = {
  readonly id: string;
  readonly type: (typeof TRANSFER_TYPES)[number];
  readonly card: string;
  readonly destination: string | null;
  readonly amount: number;
  readonly status: (typeof TRANSFER_STATUSES)[number];
  readonly expiresAt: number | null;
  readonly reference: string | null;
  readonly key: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: number;
};

const server = await useServer();
const ledger = useLedger(server.connection);
let database: Database;
let client: pg.Client;
let samples: readonly Sample[];

beforeAll(async () => {
  database = ledger.databases.application.forProgram(PROGRAM);
  client = await connect(server.connection);
  samples = fc.sample(sample, ROWS).sort((one, other) => (one.id < other.id ? -1 : 1));
  await fill();
});

afterAll(async () => {
  await client.end();
});

const sample: fc.Arbitrary<Sample> = fc
  .record({
    time: fc.integer({ min: NOW - 10 * HOUR, max: NOW }),
    skew: fc.integer({ min: -HOUR / 2, max: HOUR / 2 }),
    ahead: fc.constantFrom(0, 0, AHEAD),
    type: fc.constantFrom(...TRANSFER_TYPES),
    cards: fc.shuffledSubarray([...CARDS], { minLength: 2, maxLength: 2 }),
    amount: fc.integer({ min: 1, max: 12 }),
    status: fc.constantFrom(...TRANSFER_STATUSES, 'completed', 'completed'),
    end: fc.constantFrom(-HOUR, 10 * HOUR),
    isNamed: fc.boolean(),
    metadata: fc.dictionary(fc.constantFrom(...NAMES), fc.constantFrom(...VALUES)),
  })
  .map(({ time, skew, ahead, type, cards, status, end, isNamed, metadata, amount }) => {
    const id = idAt(time);
    return {
      id,
      type,
      card: cards[0] ?? '',
      destination: type === 'card_to_card' ? (cards[1] ?? '') : null,
      amount,
      status,
      expiresAt: status === 'pending' ? NOW + end : null,
      reference: isNamed ? `reference ${id}` : null,
      key: isNamed ? `key ${id}` : null,
      metadata,
      createdAt: time + skew + ahead,
    };
  });

/** Returns a UUIDv7 with this time. */
function idAt(time: number): string {
  const digits = `${time.toString(16).padStart(12, '0')}7${randomBytes(10).toString('hex').slice(1)}`;
  return digits.replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5');
}

/** Inserts the rows, without postings. */
async function fill(): Promise<void> {
  await client.query(
    `insert into program (program_id, name, currency, time_zone, created_at) values ($1, 'Lists', 'USD', 'UTC', now())`,
    [PROGRAM],
  );
  await client.query(
    `with made as (
       insert into account (program_id, account_id, kind, owner_id, currency, floor, created_at)
       select $1, gen_random_uuid(), 'card', gen_random_uuid(), 'USD', 0, now() from unnest($2::text[])
       returning account_id, owner_id
     ), numbered as (
       select account_id, owner_id, row_number() over () as number from made
     )
     insert into card (program_id, card_id, name, status, currency, account_id, funding_account_id, created_at, updated_at)
     select $1, owner_id, ($2::text[])[number], 'active', 'USD', account_id, account_id, now(), now() from numbered`,
    [PROGRAM, CARDS],
  );
  await client.query('insert into sandbox_clock (ahead, furthest) values ($1, $2)', ['0', `${AHEAD} milliseconds`]);
  for (const row of samples) {
    await client.query(
      `insert into transfer (program_id, transfer_id, type, card_id, destination_card_id, amount, captured_amount,
         currency, status, outcome, capture, expires_at, reference, metadata, request_id, created_at, updated_at)
       values ($1, $2, $3, (select card_id from card where program_id = $1 and name = $4),
         (select card_id from card where program_id = $1 and name = $5), $6, 0, 'USD', $7, 'final', 'automatic', $8, $9,
         $10, gen_random_uuid(), $11, now())`,
      [
        PROGRAM,
        row.id,
        row.type,
        row.card,
        row.destination,
        row.amount,
        row.status,
        row.expiresAt === null ? null : new Date(row.expiresAt),
        row.reference,
        row.metadata,
        new Date(row.createdAt),
      ],
    );
    await client.query(
      `insert into transfer_metadata (program_id, name, value, transfer_id) select $1, key, value, $2 from jsonb_each_text($3)`,
      [PROGRAM, row.id, row.metadata],
    );
  }
  await client.query(
    `insert into idempotency (key_hash, program_id, operation, key, fingerprint, status, subject_id, created_at)
     select idempotency_key_hash($1, 'create_transfer', key), $1, 'create_transfer', key, sha256(''), 201, id, now() from unnest($2::text[], $3::uuid[]) as named(key, id)
     where key is not null`,
    [PROGRAM, samples.map((row) => row.key), samples.map((row) => row.id)],
  );
}

/** Returns whether a filter should match a row. This short definition is independent of the SQL. */
function isMeant(row: Sample, filter: TransferFilter): boolean {
  const status = row.expiresAt !== null && row.expiresAt <= NOW ? 'expired' : row.status;
  const { metadata } = filter;
  return (
    (filter.cardName === null || [row.card, row.destination].includes(filter.cardName)) &&
    (filter.type === null || row.type === filter.type) &&
    (filter.status === null || status === filter.status) &&
    (filter.reference === null || row.reference === filter.reference) &&
    (filter.idempotencyKey === null || row.key === filter.idempotencyKey) &&
    (metadata === null || row.metadata[metadata.name] === metadata.value) &&
    (filter.createdFrom === null || row.createdAt >= filter.createdFrom.getTime()) &&
    (filter.createdTo === null || row.createdAt < filter.createdTo.getTime()) &&
    (filter.minimumAmount === null || row.amount >= filter.minimumAmount) &&
    (filter.maximumAmount === null || row.amount <= filter.maximumAmount)
  );
}

/** Generates null in most cases, so that most filters match something. */
const maybe = <Value>(value: fc.Arbitrary<Value>, nulls = 3): fc.Arbitrary<Value | null> =>
  fc.oneof({ weight: nulls, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });
const place = fc.nat({ max: ROWS - 1 });
/** Generates any time, or the exact time of a row. */
const moment = fc
  .oneof(
    fc.integer({ min: NOW - 11 * HOUR, max: NOW + AHEAD + HOUR }),
    place.map((at) => samples[at]?.createdAt ?? 0),
  )
  .map((time) => new Date(time));

/** Generates any filter. References and keys mostly belong to one transfer. */
const anyFilter = fc
  .record({
    cardName: maybe(fc.constantFrom(...CARDS, 'nobody')),
    type: maybe(fc.constantFrom(...TRANSFER_TYPES)),
    status: maybe(fc.constantFrom(...TRANSFER_STATUSES)),
    reference: maybe(place, 9),
    idempotencyKey: maybe(place, 9),
    metadata: maybe(fc.record({ name: fc.constantFrom(...NAMES), value: fc.constantFrom(...VALUES) })),
    createdFrom: maybe(moment),
    createdTo: maybe(moment),
    minimumAmount: maybe(fc.integer({ min: 1, max: 12 })),
    maximumAmount: maybe(fc.integer({ min: 1, max: 12 })),
  })
  .map(
    ({ reference, idempotencyKey, ...rest }): TransferFilter => ({
      ...rest,
      reference: reference === null ? null : (samples[reference]?.reference ?? 'no such reference'),
      idempotencyKey: idempotencyKey === null ? null : (samples[idempotencyKey]?.key ?? 'no such key'),
    }),
  );

const TEXTS = new Map<string, string>();

/** Returns the ids that are found by reading the list in chunks. */
async function walk(filter: TransferFilter, first: Chunk): Promise<readonly string[]> {
  const found: string[] = [];
  let chunk = first;
  for (;;) {
    const statement = listTransfers(PROGRAM, filter, chunk);
    expect(Buffer.byteLength(statement.name)).toBeLessThan(64);
    expect(TEXTS.get(statement.name) ?? statement.text).toBe(statement.text);
    TEXTS.set(statement.name, statement.text);
    const { transfers, next } = toChunkRead(await database.read(statement), chunk);
    expect(transfers.length).toBeLessThanOrEqual(chunk.count);
    found.push(...transfers.map(({ transferId }) => transferId));
    if (next === null) return found;
    chunk = { ...chunk, after: next };
  }
}

test('reading in chunks of any size finds each matching transfer once, in order, for any filter', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyFilter,
      fc.constantFrom('newest_first' as const, 'oldest_first' as const),
      fc.integer({ min: 3, max: 50 }),
      fc.integer({ min: 0, max: 200 }),
      maybe(place),
      async (filter, order, count, more, bound) => {
        const until = order === 'oldest_first' && bound !== null ? (samples[bound]?.id ?? null) : null;
        const meant = samples.filter((row) => isMeant(row, filter) && (until === null || row.id <= until));
        const expected = meant.map(({ id }) => id);
        if (order === 'newest_first') expected.reverse();
        expect(await walk(filter, { order, after: null, until, count, maxExamined: count + more })).toEqual(expected);
      },
    ),
    { numRuns: 800 },
  );
  // All the filters need only a few dozen SQL strings, so few statements are prepared.
  expect(TEXTS.size).toBeGreaterThan(30);
  expect(TEXTS.size).toBeLessThan(70);
});

test('a transfer is shown in the state that the filter matched', async () => {
  for (const status of TRANSFER_STATUSES) {
    const filter: TransferFilter = { ...NO_FILTER, status };
    const chunk: Chunk = { order: 'newest_first', after: null, until: null, count: ROWS, maxExamined: ROWS };
    const { transfers } = toChunkRead(await database.read(listTransfers(PROGRAM, filter, chunk)), chunk);
    expect(new Set(transfers.map((transfer) => transfer.status))).toEqual(new Set([status]));
  }
});
