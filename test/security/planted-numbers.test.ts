import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { expect, test } from 'vitest';
import { embeddedServerOf, waitFor } from '../harness/process.ts';
import { RawConnection, type RawResponse } from '../harness/raw-connection.ts';
import { useOwnService } from '../harness/service.ts';
import { NumberSearch, type PlantedNumber, plantedNumbers } from './card-numbers.ts';
import { PLACES, type Place } from './planting.ts';

/** The number of card numbers that the test plants. `npm run verify` plants ten thousand. */
const COUNT = Number(process.env.PLANTED ?? 480);

/** The share of numbers planted while the database is stopped. Errors about them wait in the spool. */
const WHILE_STOPPED = 1 / 4;

const CONCURRENT_REQUESTS = 8;

/** A number that the ledger stores, to prove that the search can find numbers. No network assigns it. */
const CANARY = '1234567890123456';

const service = useOwnService('It searches every table and file.', { LOG_LEVEL: 'trace' });

type Planted = { readonly place: Place; readonly number: PlantedNumber };

/** Sends the request, and repeats it while a busy service refuses it. */
async function plant(planted: Planted): Promise<RawResponse> {
  for (let tries = 0; ; tries += 1) {
    const response = await sendOnce(planted);
    if (response.headers.get('error-code') !== 'service_unavailable' || tries === 100) return response;
    await pause(100);
  }
}

async function sendOnce({ place, number }: Planted): Promise<RawResponse> {
  const connection = await RawConnection.open(Number(new URL(service().url).port));
  try {
    connection.send(place.bytes(number.written));
    return await connection.next();
  } finally {
    connection.close();
  }
}

/** Plants everything, a few requests at a time, and returns the problems of the responses. */
async function plantAll(planted: readonly Planted[], isStopped: boolean): Promise<readonly string[]> {
  const wrong: string[] = [];
  const waiting = [...planted];
  const work = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const problem = judge(next, await plant(next), isStopped);
      if (problem !== undefined) wrong.push(`${next.place.name}, ${next.number.written}: ${problem}`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_REQUESTS }, work));
  return wrong;
}

function judge({ place, number }: Planted, response: RawResponse, isStopped: boolean): string | undefined {
  const heads = [...response.headers.values()].join('\n');
  const shown = new NumberSearch([number.digits]).findIn(`${heads}\n${response.body}`);
  if (shown.size > 0) return `the response shows it: ${response.body.slice(0, 300)}`;
  const code = response.headers.get('error-code');
  const { expectedRow } = place;
  if (expectedRow !== undefined) {
    return judgeRow(response, typeof expectedRow === 'function' ? expectedRow(number.written) : expectedRow, isStopped);
  }
  const actual = code ?? response.status;
  const expected = typeof place.expected === 'function' ? place.expected(number.written) : place.expected;
  if (expected === undefined) return response.status >= 400 ? undefined : `the response was ${response.status}`;
  // Without a database, a request that needs one fails. Refusals for other reasons come first.
  if (isStopped && /^unknown_/.test(String(actual)) && ['card_closed', 'unauthenticated', 200].includes(expected))
    return;
  return actual === expected ? undefined : `the response was ${actual}, not ${expected}: ${response.body}`;
}

function judgeRow({ body }: RawResponse, expected: string | 200, isStopped: boolean): string | undefined {
  const [row] =
    (JSON.parse(body) as { readonly data?: readonly { readonly error?: { readonly Code: string } }[] }).data ?? [];
  // Without a database, a row that needs one fails.
  if (isStopped && expected !== 'card_number_refused') return undefined;
  return row?.error?.Code === expected ? undefined : `the response with the row was ${body}`;
}

test('the service stores no card number that it receives', { timeout: 600_000 }, async () => {
  const { client } = service();
  const planted = plantedNumbers(COUNT).map((number, at) => ({
    number,
    place: PLACES[at % PLACES.length] ?? PLACES[0],
  }));
  const all = planted.filter((one): one is Planted => one.place !== undefined);
  expect(all).toHaveLength(COUNT);
  const before = await client.trialBalance.get();
  const stored = await client.transfers.create({ amount: 1, card_id: 'card_active', description: CANARY });

  const first = Math.floor(COUNT * (1 - WHILE_STOPPED));
  expect(await plantAll(all.slice(0, first), false)).toEqual([]);
  await client.sandbox.stopDatabase();
  expect(await plantAll(all.slice(first), true)).toEqual([]);
  const readSpool = (): string => filesBelow(join(service().directory, 'error-spool')).map(readText).join('\n');
  await waitFor('refusals to be spooled', async () => readSpool().includes('card_number_refused'));
  // Waits for the refusals that follow the first one.
  await pause(500);
  const spool = readSpool();
  const search = new NumberSearch([...all.map(({ number }) => number.digits), CANARY]);
  expect(search.findIn(spool)).toEqual(new Map());
  await client.sandbox.startDatabase();
  const count = async (): Promise<number> =>
    (await client.errors.count()).data.reduce((sum, one) => sum + one.count, 0);
  // Nearly every place causes an error, and each error is in the log.
  await waitFor('the error log to contain the spooled errors', async () => (await count()) > COUNT * 0.8);
  await pause(1_500);

  // Only the canary's transfer has moved money.
  await client.transfers.reverse(stored.transfer_id);
  expect((await client.trialBalance.get()).currencies).toEqual(before.currencies);
  const rows = search.findIn(await everyRow());
  expect([...rows].filter(([number]) => number !== CANARY)).toEqual([]);
  expect(rows.has(CANARY)).toBe(true);
  expect(search.findIn(service().output())).toEqual(new Map());

  await service().stop();
  expect(search.findIn(service().output())).toEqual(new Map());
  const everything = [service().output(), ...filesBelow(service().directory).map(readText)];
  const disguised = all.flatMap(({ place, number }) => place.disguised?.(number.written) ?? []);
  const bytes = disguised.map((one) => Buffer.from(one, 'utf8').toString('latin1'));
  expect(disguised.length).toBeGreaterThan(10);
  expect([...bytes, ...disguised].filter((one) => everything.some((text) => text.includes(one)))).toEqual([]);
  const found = filesBelow(service().directory).flatMap((path) =>
    [...search.findIn(readText(path))].map(([number, context]) => ({ path, number, context })),
  );
  // The canary is in its table's file and in the write-ahead log. No file contains the other numbers.
  expect(found.filter(({ number }) => number !== CANARY)).toEqual([]);
  expect(found.some(({ path }) => path.includes('pg_wal'))).toBe(true);
  expect(found.some(({ path }) => path.includes('/base/'))).toBe(true);
});

/** Returns every row of every table as text, because files can contain compressed data, which a search cannot read. */
async function everyRow(): Promise<string> {
  const { databaseUrl } = await embeddedServerOf(service().directory);
  const database = new pg.Client(databaseUrl);
  await database.connect();
  try {
    const { rows: tables } = await database.query<{ name: string }>(
      "select format('%I.%I', table_schema, table_name) as name from information_schema.tables" +
        " where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')",
    );
    expect(tables.length).toBeGreaterThan(10);
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await database.query<{ row: string }>(`select row_to_json(t)::text as row from ${name} t`);
      texts.push(...rows.map(({ row }) => row));
    }
    return texts.join('\n');
  } finally {
    await database.end();
  }
}

function filesBelow(path: string): readonly string[] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile());
}

function readText(path: string): string {
  return readFileSync(path, 'latin1');
}
