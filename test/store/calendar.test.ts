import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { readProgramRules, toRulesNow } from '../../server/store/program.ts';
import { isTimeZone } from '../../server/subjects/programs/manage-programs.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

const server = await useServer();
const client = await useConnection(server.connection);
const ledger = useLedger(server.connection);

test.each([
  ['an ordinary day', '2026-06-01 00:00', 'Europe/Berlin', '2026-05-31T22:00:00.000Z'],
  [
    'the day when clocks are put back, long after midnight',
    '2026-10-25 00:00',
    'Europe/Berlin',
    '2026-10-24T22:00:00.000Z',
  ],
  ['a day that has midnight twice', '2026-11-01 00:00', 'America/Havana', '2026-11-01T04:00:00.000Z'],
  ['a day that has no midnight', '2026-03-08 00:00', 'America/Havana', '2026-03-08T05:00:00.000Z'],
  ['a day with an offset of half an hour', '2026-06-01 00:00', 'Asia/Kolkata', '2026-05-31T18:30:00.000Z'],
])('%s begins with its first instant', async (_what, local, zone, expected) => {
  const { rows } = await client.query('select instant_of($1::timestamp, $2) as instant', [local, zone]);
  expect((rows[0].instant as Date).toISOString()).toBe(expected);
});

/** Names of time zone files that are not places. */
const PLACEHOLDERS = ['Factory', 'localtime', 'posixrules'];

test('the service accepts the time zones that PostgreSQL lists, by the same names, except placeholders', async () => {
  const read = async (text: string): Promise<readonly string[]> =>
    (await client.query(text)).rows.map(({ name }) => String(name));
  const all = await read('select name from pg_timezone_names');
  expect(all).toContain('Factory');
  const listed = new Set(all.filter((name) => !PLACEHOLDERS.includes(name.replace('posix/', ''))));
  const others = [
    ...(await read('select abbrev as name from pg_timezone_abbrevs')),
    ...[...listed].flatMap((name) => [name.toLowerCase(), name.toUpperCase(), ` ${name}`, `${name} `, `./${name}`]),
    ...[
      '',
      ...PLACEHOLDERS,
      'FOO+3',
      'EST5EDT',
      'UTC0',
      '<+03>-3',
      '+02',
      '-05:00',
      '2',
      'Mars/Base',
      'Mars/Base+3',
      'Etc/GMT+13',
      'Etc/GMT-15',
      'infinity',
      'nan',
      'default',
      'local',
      "interval '1 hour'",
      "interval 'P'",
    ],
  ];
  const accepted = new Set<string>();
  for (const name of [...listed, ...others]) if (await isTimeZone(ledger.database, name)) accepted.add(name);
  expect(accepted).toEqual(listed);
  expect(listed.size).toBeGreaterThan(400);
  const { rowCount } = await client.query('select now() at time zone name from unnest($1::text[]) as name', [
    [...accepted],
  ]);
  expect(rowCount).toBe(listed.size);
});

test('several programs get the calendars of their time zones', async () => {
  // The zones are 26 hours apart, so they never have the same date.
  const zones = ['Pacific/Kiritimati', 'Etc/GMT+12', 'Pacific/Kiritimati'];
  const programs = zones.map((zone) => ({ id: randomUUID(), zone }));
  for (const { id, zone } of programs) {
    const values = [id, zone];
    await client.query(
      "insert into program (program_id, name, currency, time_zone, created_at) values ($1, 'zone', 'USD', $2, now())",
      values,
    );
  }
  const readTogether = async (ids: readonly string[]) => {
    const rules = (await ledger.database.read(readProgramRules(ids))).map((row) => toRulesNow(row).rules);
    return rules.toSorted((one, other) => ids.indexOf(one.programId) - ids.indexOf(other.programId));
  };
  const ids = programs.map(({ id }) => id);
  let together = await readTogether(ids);
  for (let isOneDay = false; !isOneDay; ) {
    const apart = [];
    for (const id of ids) apart.push(...(await readTogether([id])));
    const again = await readTogether(ids);
    // A day may have begun between the reads.
    isOneDay = isDeepStrictEqual(again, together);
    if (isOneDay) expect(together).toEqual(apart);
    together = again;
  }
  expect(together.map(({ programId }) => programId)).toEqual(ids);
  const [first, second, third] = together.map(({ calendar, today }) => ({ calendar, today }));
  expect(third).toEqual(first);
  expect(second?.today).not.toBe(first?.today);
});
