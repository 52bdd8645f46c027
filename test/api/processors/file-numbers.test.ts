import { createHash, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { BreakRecord } from '../../../contract/processors/breaks.ts';
import { startFindingMissing } from '../../../server/background/processors/find-missing.ts';
import { newId } from '../../../server/foundation/ids.ts';
import type { Database, Statement } from '../../../server/store/connection/database.ts';
import { insertFileGaps, readFileGaps } from '../../../server/store/processors/unsettled.ts';
import { Random } from '../../harness/random.ts';
import { type Line, lineOf, refusal, useSettlements } from './settlements.ts';

// Tests settlement files with running numbers, and the gaps between these numbers.

const { ledger, client, createFile, add, show, withdraw, runJob, match, breaksOf, attempt } = await useSettlements();

beforeEach(async () => {
  for (const table of ['processor_break', 'settlement_line', 'settlement_file'] as const)
    await client.query(`delete from ${table}`);
});

const linesOf = (): readonly Line[] => [
  { processor_reference: randomUUID(), kind: 'push', amount: 1, currency: 'USD', settled_on: '2026-11-30' },
];

/** Creates a file with a number, without sending its lines. Returns its id. */
async function begin(sequence_number: number, lines = linesOf()): Promise<string> {
  return (await createFile(lines, { sequence_number })).file_id;
}

/** Imports files with these numbers in this order, and compares them. Returns their ids. */
async function arrive(...numbers: readonly number[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const number of numbers) {
    const lines = linesOf();
    const fileId = await begin(number, lines);
    await add(fileId, 1, lines);
    await match();
    ids.push(fileId);
  }
  return ids;
}

const gapOf = ({ expected, found }: BreakRecord): string => `${expected} | ${found}`;

const openGaps = async () => (await breaksOf('file_missing')).map(gapOf).sort();

/** Runs the job in two processes, each for a whole round. */
async function look(): Promise<void> {
  let rounds = 0;
  const counted: typeof startFindingMissing = (connectors, parts) => {
    const { database } = parts;
    const watched = {
      read: (statement: Statement) => database.read(statement),
      write: async (statement: Statement) => {
        const rows = await database.write(statement);
        // The last statement about gaps.
        if (statement.name === 'update_breaks_file_gaps') rounds += 1;
        return rows;
      },
    };
    return startFindingMissing(connectors, { ...parts, database: watched as unknown as Database });
  };
  await runJob(counted, async () => rounds >= 2);
}

const close = async (found: BreakRecord | undefined): Promise<void> =>
  void (await ledger.call(
    'close_break',
    { note: 'The processor never made these files.' },
    { params: { break_id: found?.break_id ?? '' } },
  ));

describe('the number of a file', () => {
  test('is shown, and is null for a file without one', async () => {
    const [numbered] = await arrive(7);
    expect(await show(numbered ?? '')).toMatchObject({ sequence_number: 7, status: 'matched' });
    expect(await createFile(linesOf())).toMatchObject({ sequence_number: null });
  });

  test('is refused while another file of the connector has it', async () => {
    const fileId = await begin(7);
    expect(await refusal(createFile(linesOf(), { sequence_number: 7 }))).toEqual({
      code: 'create_settlement_file_schema',
      message: `The settlement file '${fileId}' of this connector has the sequence number 7. If that file is wrong, withdraw it first. If the processor reuses its numbers, leave the number out.`,
      field: '/sequence_number',
    });
    await withdraw(fileId);
    expect(await begin(7)).not.toBe(fileId);
  });

  test('is given to one of several files that are created at once', async () => {
    const attempts = await Promise.all(
      Array.from({ length: 8 }, () => refusal(createFile(linesOf(), { sequence_number: 7 }))),
    );
    expect(attempts.filter((refused) => refused === undefined)).toHaveLength(1);
    const { rows } = await client.query('select count(*)::int as files from settlement_file where sequence_number = 7');
    expect(rows).toEqual([{ files: 1 }]);
  });

  test('stays the same if the file is created again', async () => {
    const body = {
      connector_id: 'simulator',
      name: 'again.csv',
      sha256: createHash('sha256').update(randomUUID()).digest('hex'),
      line_count: 1,
    };
    const create = (more: object) =>
      ledger.call('create_settlement_file', { ...body, ...more }).then(({ body: text }) => JSON.parse(text));
    const first = await create({ sequence_number: 7 });
    expect(await create({ sequence_number: 7 })).toEqual(first);
    expect(await create({})).toEqual(first);
    expect(await refusal(create({ sequence_number: 8 }))).toMatchObject({
      message: expect.stringContaining(`'${first.file_id}' has the same contents and the sequence number 7.`),
      field: '/sequence_number',
    });
  });
});

describe('a gap in the numbers', () => {
  test('opens one break, which the service closes once every file of the gap has arrived', async () => {
    await arrive(11);
    await look();
    expect(await openGaps()).toEqual([]);
    await arrive(15);
    await look();
    await look();
    expect(await breaksOf('file_missing')).toMatchObject([
      {
        kind: 'file_missing',
        ...{ connector_id: 'simulator', expected: 'files 12 to 14', found: 'file 15' },
        ...{ program_id: null, attempt_id: null, amount: null, currency: null, bookings: [] },
      },
    ]);
    for (const [number, left] of [
      [13, 'file 12, file 14'],
      [14, 'file 12'],
    ] as const) {
      await arrive(number);
      await look();
      expect(await openGaps()).toEqual([`${left} | file 15`]);
    }
    await arrive(12);
    await look();
    expect(await openGaps()).toEqual([]);
    expect(await breaksOf('file_missing', { status: 'closed' })).toMatchObject([
      { closed_by: 'service', note: 'The missing files have arrived, or no later file is left.' },
    ]);
  });

  test('is not closed by a later file', async () => {
    await arrive(11, 13, 14, 15);
    await look();
    await arrive(16);
    await look();
    expect(await openGaps()).toEqual(['file 12 | file 13']);
  });

  test('opens a break for each gap if the files arrive in another order', async () => {
    await arrive(30, 10, 20, 21);
    await look();
    expect(await openGaps()).toEqual(['files 11 to 19 | file 20', 'files 22 to 29 | file 30']);
  });

  test('is reported although a file without a number has arrived', async () => {
    await arrive(1);
    const lines = linesOf();
    await add((await createFile(lines)).file_id, 1, lines);
    await arrive(3);
    await look();
    expect(await openGaps()).toEqual(['file 2 | file 3']);
  });

  test('waits for a file whose import has begun, unless the import was interrupted', async () => {
    await arrive(1);
    const lines = linesOf();
    const second = await begin(2, lines);
    await arrive(3);
    await look();
    expect(await openGaps()).toEqual([]);
    await client.query(
      "update settlement_file set created_at = created_at - interval '25 hours' where status = 'receiving'",
    );
    await look();
    expect(await openGaps()).toEqual(['file 2 | file 3']);
    await add(second, 1, lines);
    await match();
    await look();
    expect(await openGaps()).toEqual([]);
  });

  test('appears when a file is withdrawn, and again each time', async () => {
    const [, middle] = await arrive(1, 2, 3);
    await look();
    expect(await openGaps()).toEqual([]);
    let withdrawn = middle ?? '';
    for (const round of [1, 2]) {
      await withdraw(withdrawn);
      await match();
      await look();
      expect(await openGaps(), `round ${round}`).toEqual(['file 2 | file 3']);
      [withdrawn = ''] = await arrive(2);
      await look();
      expect(await openGaps(), `round ${round}`).toEqual([]);
    }
    expect(await breaksOf('file_missing', { status: 'closed' })).toHaveLength(1);
  });

  test('grows when the file before it or after it is withdrawn', async () => {
    const [, , before, , after] = await arrive(1, 2, 3, 5, 7);
    await look();
    for (const fileId of [before, after]) await withdraw(fileId ?? '');
    await match();
    await arrive(8);
    await look();
    expect(await openGaps()).toEqual(['file 3 | file 5', 'file 4 | file 5', 'file 6 | file 8', 'file 7 | file 8']);
  });

  test('ends when the only later file is withdrawn, because its number was wrong', async () => {
    const [, wrong] = await arrive(11, 120);
    await look();
    expect(await openGaps()).toEqual(['files 12 to 119 | file 120']);
    await withdraw(wrong ?? '');
    await match();
    await look();
    expect(await openGaps()).toEqual([]);
    await arrive(12);
    await look();
    expect(await openGaps()).toEqual([]);
  });

  test('stays closed once a person has closed its break, until one of its files arrives and is withdrawn', async () => {
    await arrive(1, 5);
    await look();
    await close((await breaksOf('file_missing'))[0]);
    await arrive(6);
    await look();
    const [third] = await arrive(3);
    await look();
    expect(await openGaps()).toEqual([]);
    await withdraw(third ?? '');
    await match();
    await look();
    expect(await openGaps()).toEqual(['file 3 | file 5']);
  });

  test('gets no break if its file arrives after a process has read the gap and before it inserts the break', async () => {
    await arrive(1, 2, 5);
    const sent = [
      { breakId: newId(), missingFrom: 2, missingUntil: 2 },
      { breakId: newId(), missingFrom: 3, missingUntil: 4 },
    ];
    await ledger.database.write(insertFileGaps({ connectorId: 'simulator', sent }));
    await ledger.database.write(
      insertFileGaps({ connectorId: 'simulator', sent: sent.map((gap) => ({ ...gap, breakId: newId() })) }),
    );
    expect(await openGaps()).toEqual(['files 3 to 4 | file 5']);
  });

  test('is named with the next later file if the file after the gap is withdrawn', async () => {
    const [, last] = await arrive(11, 15);
    await look();
    await withdraw(last ?? '');
    await match();
    await arrive(14);
    await look();
    expect(await openGaps()).toEqual(['files 12 to 13 | file 14']);
    await arrive(12, 13);
    await look();
    expect(await openGaps()).toEqual([]);
  });

  test('has each number in only one break after a closed break reopens', async () => {
    await arrive(11, 15);
    await look();
    const [first, second, third] = await arrive(12, 13, 14);
    await look();
    for (const fileId of [first, second]) await withdraw(fileId ?? '');
    await match();
    await look();
    await withdraw(third ?? '');
    await match();
    await look();
    await look();
    expect(await openGaps()).toEqual(['file 14 | file 15', 'files 12 to 13 | file 15']);
  });

  test('is reported again if a person has closed the break, and a file that arrived earlier is withdrawn', async () => {
    await arrive(11, 15);
    await look();
    const [third] = await arrive(13);
    await look();
    expect(await openGaps()).toEqual(['file 12, file 14 | file 15']);
    await close((await breaksOf('file_missing'))[0]);
    await look();
    expect(await openGaps()).toEqual([]);
    await withdraw(third ?? '');
    await match();
    await look();
    expect(await openGaps()).toEqual(['file 13 | file 15']);
  });

  test('gets no second break if a process inserts one late, with numbers that it read earlier', async () => {
    await arrive(1, 9);
    await look();
    const sent = [{ breakId: newId(), missingFrom: 2, missingUntil: 4 }];
    await ledger.database.write(insertFileGaps({ connectorId: 'simulator', sent }));
    await look();
    expect(await openGaps()).toEqual(['files 2 to 8 | file 9']);
  });

  test('does not include a file that is being compared', async () => {
    await arrive(1, 4);
    const lines = linesOf();
    await add(await begin(2, lines), 1, lines);
    const read = readFileGaps({ connectorId: 'simulator', count: 10 });
    expect(await ledger.database.read(read)).toMatchObject([{ missing_from: 3, missing_until: 3 }]);
    await match();
  });

  test('is independent of the break about a late file', async () => {
    const waiting = await attempt('approved');
    const [, newest] = await arrive(1, 3);
    await client.query("update settlement_file set created_at = now() - interval '50 hours' where sequence_number = 3");
    await client.query(
      "update settlement_file set created_at = now() - interval '150 hours' where sequence_number = 1",
    );
    await client.query("update processor_attempt set updated_at = now() - interval '49 hours' where attempt_id = $1", [
      waiting.attemptId,
    ]);
    await runJob(startFindingMissing, async () => (await openGaps()).length === 2);
    const gaps = await openGaps();
    expect(gaps).toEqual([
      expect.stringMatching(new RegExp(`^a settlement file by 20.* \\| none since ${newest} of 20`)),
      'file 2 | file 3',
    ]);
    // The next file closes the break about a late file, and only the missing one closes the gap.
    const lines = [lineOf(waiting)];
    const fileId = await begin(4, lines);
    await add(fileId, 1, lines);
    await match();
    await look();
    expect(await openGaps()).toEqual(['file 2 | file 3']);
    await arrive(2);
    await look();
    expect(await openGaps()).toEqual([]);
  });
});

test('random files, arrivals and withdrawals leave exactly the missing numbers in open breaks', async () => {
  const random = new Random(20_261_201);
  const present = new Map<number, string>();
  for (let step = 0; step < 25; step += 1) {
    const number = 1 + random.below(12);
    const known = present.get(number);
    if (known === undefined) {
      const [fileId = ''] = await arrive(number);
      present.set(number, fileId);
    } else {
      await withdraw(known);
      await match();
      present.delete(number);
    }
    if (random.chance(0.5)) continue;
    await look();
    const [first = 0, last = 0] = [Math.min(...present.keys()), Math.max(...present.keys())];
    const missing = Array.from({ length: Math.max(0, last - first) }, (_, index) => first + index).filter(
      (one) => !present.has(one),
    );
    const open = (await breaksOf('file_missing')).flatMap(({ expected }) =>
      expected.split(', ').flatMap((part) => {
        const [from = 0, until = from] = (part.match(/\d+/g) ?? []).map(Number);
        return Array.from({ length: until - from + 1 }, (_, index) => from + index);
      }),
    );
    expect(
      open.sort((left, right) => left - right),
      `step ${step}`,
    ).toEqual(missing);
  }
});
