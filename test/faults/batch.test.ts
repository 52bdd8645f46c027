import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIMITS } from '../../server/store/connection/session-settings.ts';
import { trialBalance } from '../harness/ledger.ts';
import { type RawResponse, sendRaw } from '../harness/raw-request.ts';
import { type Attempt, movementsOf } from './attempt.ts';
import { type Arranged, downAt, during, pauseServer, trap } from './run-faults.ts';
import { change, openStage, type Stage, untilReady } from './stage.ts';
import { MAX_TRIES } from './verdict.ts';

// Each row of a batch reports whether its money moved. The test compares each row with the books.

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.end());

const ROWS = 5;

type Row = { readonly money_moved: string; readonly status: number; readonly replayed: boolean };

const newRow = (): Attempt => ({ operation: 'create_transfer', key: randomUUID(), marker: randomUUID() });

function sendRows(rows: readonly Attempt[]): Promise<RawResponse> {
  const transfers = rows.map(({ key, marker }) => {
    return { idempotency_key: key, amount: 1, card_id: 'card_active', description: marker };
  });
  return sendRaw(stage.service().url, { path: '/api/v0.1/core/transfer/batch', body: { transfers } });
}

async function movedOf(rows: readonly Attempt[]): Promise<readonly number[]> {
  const moved: number[] = [];
  for (const row of rows) moved.push(await movementsOf(stage, row));
  return moved;
}

type BatchFault = {
  readonly name: string;
  /**
   * The values of `money_moved` in the order of the rows. The first row is in a group with other rows, which all have
   * the same outcome. The size of that group depends on the machine. The remaining rows are committed or refused later.
   */
  readonly says: RegExp;
  /** How many times a row with `unknown` moved money. */
  readonly unknownMoved?: 0 | 1;
  readonly arrange: (stage: Stage, rows: readonly Attempt[]) => Promise<Arranged>;
};

const FAULTS: readonly BatchFault[] = [
  { name: 'the database server is stopped', says: /^no( no)+$/, arrange: pauseServer },
  { name: 'the connection is cut before COMMIT', says: /^no( no| yes)+$/, arrange: trap('before_commit', 'cut') },
  { name: 'the connection is cut after COMMIT', says: /^yes( yes)+$/, arrange: trap('after_commit', 'cut') },
  {
    name: 'the store refuses one of the rows',
    says: /^yes yes no yes yes$/,
    arrange: (at, rows) => {
      const refuses = `alter table transfer add constraint refuses check (description <> '${rows[2]?.marker}') not valid`;
      return during(change(refuses, 'alter table transfer drop constraint refuses'))(at);
    },
  },
  {
    name: 'the server has committed and is down past the deadline',
    says: /^unknown( unknown| no)+$/,
    unknownMoved: 1,
    arrange: downAt('after_commit'),
  },
  {
    name: 'the server has not committed and is down past the deadline',
    says: /^unknown( unknown| no)+$/,
    unknownMoved: 0,
    arrange: downAt('before_commit'),
  },
];

test.each(FAULTS)('batch: $name', async (fault) => {
  for (let tries = 1; ; tries += 1) {
    const { problem, milliseconds } = await undergo(fault);
    if (problem === undefined) return;
    // A slow request may have reached one of the service's time limits, in addition to the fault or instead of it. If
    // so, the fault is tried again.
    if (milliseconds < LIMITS.lock || tries === MAX_TRIES) throw new Error(problem);
  }
});

/**
 * Sends rows during a fault and compares each with the books. Returns a problem if a row does not have its expected
 * value.
 */
async function undergo({ says, unknownMoved, arrange, name }: BatchFault) {
  await untilReady(stage);
  const rows = Array.from({ length: ROWS }, newRow);
  const { trap: laid, mend } = await arrange(stage, rows);
  const started = performance.now();
  const response = await sendRows(rows).finally(mend);
  const milliseconds = performance.now() - started;
  stage.proxy.traps.length = 0;
  await untilReady(stage);
  const answers = (response.fields.data as readonly Row[]).map((row) => row.money_moved);
  expect(response.headers['money-moved']).toBe(['yes', 'unknown', 'no'].find((word) => answers.includes(word)));
  const moved = await movedOf(rows);
  expect(answers).toHaveLength(ROWS);
  const isSprung = laid?.sprung !== false;
  const isAsExpected = isSprung && says.test(answers.join(' '));
  for (const [at, word] of answers.entries()) {
    const mayBe = word === 'unknown' ? [0, 1] : [Number(word === 'yes')];
    const expected = isAsExpected && word === 'unknown' ? [unknownMoved] : mayBe;
    expect(expected, `row ${at} of ${answers.join(' ')}`).toContain(moved[at]);
  }
  await untilAllMade(rows, moved);
  expect(await movedOf(rows)).toEqual(rows.map(() => 1));
  expect(await trialBalance(stage.ledger)).toMatchObject({ balanced: true, postings_compared: true });
  const problem = isAsExpected ? undefined : `${name}: ${isSprung ? answers.join(' ') : 'the fault did not happen'}`;
  return { problem, milliseconds };
}

/** Sends the rows again until all transfers have been created. Existing transfers are replayed. */
async function untilAllMade(rows: readonly Attempt[], before: readonly number[]): Promise<void> {
  let left = rows.map((row, at) => ({ row, moved: before[at] === 1 }));
  for (let tries = 1; left.length > 0; tries += 1) {
    const again = (await sendRows(left.map(({ row }) => row))).fields.data as readonly Row[];
    const isDone = (at: number): boolean => (again[at]?.status ?? 500) < 500;
    for (const [at, { moved }] of left.entries()) {
      if (isDone(at)) expect(again[at]).toMatchObject({ status: 201, replayed: moved });
      else expect(again[at]?.money_moved).toBe('no');
    }
    left = left.filter((_, at) => !isDone(at));
    expect(tries).toBeLessThanOrEqual(MAX_TRIES);
  }
}
