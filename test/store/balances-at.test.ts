import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Statement } from '../../server/store/connection/database.ts';
import { readFundingAt, sumKindsAt, toBalancesAt, toKindSumsAt } from '../../server/store/ledger/trial-balance.ts';
import { connect } from '../harness/ledger.ts';
import { useConnection, useLedger, useServer } from '../harness/use-ledger.ts';

const server = await useServer();
const client = await useConnection(server.connection);
const ledger = useLedger(server.connection);

const START = Date.parse('2026-01-31T09:30:00.000Z');
const CURRENCY = 'XTS';

/** A movement, with the milliseconds since the previous one, which are often 0. */
type Step = { readonly after: number; readonly amount: number; readonly isDeposit: boolean };

const HISTORY: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    after: fc.constantFrom(0, 0, 1, 1, 2, 5),
    amount: fc.integer({ min: 1, max: 9 }),
    isDeposit: fc.boolean(),
  }),
  { minLength: 1, maxLength: 40 },
);

const rowsOf = (statement: Statement) => ledger.database.read(statement);

async function newProgram(): Promise<{ programId: string; funding: string; world: string }> {
  const [programId, funding, world] = [randomUUID(), randomUUID(), randomUUID()];
  await client.query(
    `insert into program (program_id, name, currency, time_zone, created_at)
      values ($1, 'As of', $2, 'UTC', to_timestamp($3))`,
    [programId, CURRENCY, START / 1000],
  );
  await client.query(
    `insert into account (program_id, account_id, kind, owner_id, currency, floor, created_at)
      values ($1, $2, 'funding', $1, $4, 0, to_timestamp($5)), ($1, $3, 'world', $1, $4, null, to_timestamp($5))`,
    [programId, funding, world, CURRENCY, START / 1000],
  );
  return { programId, funding, world };
}

/** Runs a call while another connection delays all reads of a table, so that they take longer than a request. */
async function whileLocked(table: string, run: () => Promise<unknown>): Promise<unknown> {
  const stranger = await connect(server.connection);
  try {
    await stranger.query(`begin; lock table ${table} in access exclusive mode`);
    return await run();
  } finally {
    await stranger.end();
  }
}

test('a trial balance that takes too long names the alternatives', async () => {
  const past = () => ledger.call('get_trial_balance', { as_of: '2026-01-31T23:59:59.999Z' });
  await expect(whileLocked('posting', past)).rejects.toMatchObject({
    name: 'Refusal',
    code: 'get_trial_balance_schema',
    message:
      'The ledger has too many postings to sum within the 4.5 seconds that a request may take. Sum the exported statements ' +
      "(export_postings) instead, or read single balances with 'as_of' of get_card and get_program.",
    details: { field: '/as_of' },
  });
  const current = () => ledger.call('get_trial_balance');
  await expect(whileLocked('account', current)).rejects.toMatchObject({
    busy: true,
    message: 'The balances of all accounts could not be summed in time.',
    advice: expect.stringContaining('run "transfer-service verify-books" on the host'),
  });
  await expect(current()).resolves.toMatchObject({ status: 200 });
});

test('a balance counts exactly the postings up to the instant, however many fall in one millisecond', async () => {
  await fc.assert(
    fc.asyncProperty(HISTORY, async (steps) => {
      const { programId, funding, world } = await newProgram();
      let [time, balance] = [START, 1_000_000];
      const moved: { time: number; balance: number }[] = [];
      for (const [index, { after, amount, isDeposit }] of [
        { after: 0, amount: balance, isDeposit: true },
        ...steps,
      ].entries()) {
        time += after;
        if (index > 0) balance += isDeposit ? amount : -amount;
        moved.push({ time, balance });
        const [from, to] = isDeposit ? [world, funding] : [funding, world];
        const [fromBalance, toBalance] = isDeposit ? [-balance, balance] : [balance, -balance];
        await client.query(
          `insert into posting (program_id, cause_id, index, purpose, source_account_id, destination_account_id, amount,
              currency, source_balance, destination_balance, source_sequence, destination_sequence, created_at)
            values ($1, gen_random_uuid(), 0, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10)`,
          [
            programId,
            isDeposit ? 'deposit' : 'withdrawal',
            from,
            to,
            amount,
            CURRENCY,
            fromBalance,
            toBalance,
            index + 1,
            new Date(time),
          ],
        );
      }
      await client.query(
        `update account set sequence = $2, balance = case kind when 'funding' then $3 else -$3::bigint end
          where owner_id = $1`,
        [programId, moved.length, balance],
      );
      for (let instant = START - 1; instant <= time + 1; instant += 1) {
        const expected = moved.findLast((one) => one.time <= instant)?.balance ?? 0;
        const found = toBalancesAt(await rowsOf(readFundingAt(programId, instant + 1)));
        expect(found).toEqual([{ currency: CURRENCY, balance: BigInt(expected) }]);
      }
    }),
    { numRuns: 15 },
  );
  const sums = async (before: number) =>
    toKindSumsAt(await rowsOf(sumKindsAt(before))).filter(({ currency }) => currency === CURRENCY);
  for (const before of [START, START + 1, START + 2, START + 50]) {
    const { rows } = await client.query(
      `select sum(case purpose when 'deposit' then amount else -amount end) as sum from posting
        where currency = $1 and created_at < $2`,
      [CURRENCY, new Date(before)],
    );
    const total = BigInt(rows[0]?.sum ?? 0);
    expect((await sums(before)).map(({ kind, balance }) => [kind, balance])).toEqual(
      total === 0n
        ? []
        : [
            ['funding', total],
            ['world', -total],
          ],
    );
  }
});
