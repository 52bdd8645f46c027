import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { FundingLowRecord } from '../../../contract/events/programs.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { AnyCall } from '../../../server/calls/call.ts';
import { countChained, readCommits, recordCommits } from '../../../verification/checkers/commits.ts';
import { SerialReplay } from '../../../verification/checkers/serial-replay.ts';
import { storedEvents } from '../../fixtures/stored-events.ts';
import { type Ledger, UNLIMITED } from '../../harness/ledger.ts';
import { checkBalances, useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';

const server = await useServer();
/**
 * Two service processes without time limits for locks. With a limit, a request that timed out would be retried alone,
 * and would then rarely get the lock of the funding account.
 */
const ledger = useLedger(server.connection, undefined, undefined, UNLIMITED);
const other = useLedger(server.connection, undefined, undefined, UNLIMITED);
/** A service with new chains. */
const chained = useLedger(server.connection, undefined, undefined, UNLIMITED);
const client = await useConnection(server.connection);
await recordCommits(client);

checkBalances(ledger);

type Fields = Readonly<Record<string, unknown>>;

/** A card program with funding and a card, accessed through one service. */
class Program {
  readonly programId: string;
  readonly wireId: string;

  constructor(wireId: string) {
    this.wireId = wireId;
    this.programId = fromWireId('prog', wireId) ?? '';
  }

  /** Calls an operation. Returns its record, or the code of the refusal. */
  async call(at: Ledger, operation: AnyCall['operation'], body: object, params: object = {}): Promise<Fields | string> {
    const more = { programId: this.programId, params: { ...params }, idempotencyKey: randomUUID() };
    try {
      return JSON.parse((await at.call(operation, body, more as Partial<AnyCall>)).body) as Fields;
    } catch (error) {
      if (error instanceof Refusal) return error.code;
      throw error;
    }
  }

  transfer = (body: object, at = ledger) => this.call(at, 'create_transfer', { card_id: 'card', ...body });
  act = (operation: 'capture_transfer' | 'cancel_transfer' | 'reverse_transfer', of: Fields, body = {}, at = ledger) =>
    this.call(at, operation, body, { transfer_id: of.transfer_id });
  deposit = (amount: number, at = ledger) => this.call(at, 'create_deposit', { amount }, { program_id: this.wireId });
  withdraw = (amount: number, at = ledger) =>
    this.call(at, 'create_withdrawal', { amount }, { program_id: this.wireId });
  update = (body: object, at = ledger) => this.call(at, 'update_program', body, { program_id: this.wireId });

  /**
   * Returns the program's events in the order of their transactions, because several transactions can share a
   * millisecond.
   */
  async events(): Promise<readonly { readonly type: string; readonly data: Fields }[]> {
    const stored = await storedEvents(client, 'where program_id = $1 order by xmin::text::bigint, index', [
      this.programId,
    ]);
    return stored.map(({ type, data }) => ({ type, data }));
  }

  async lows(): Promise<readonly Fields[]> {
    return (await this.events()).filter(({ type }) => type === 'funding.low').map(({ data }) => data);
  }
}

async function makeProgram(funding: number, threshold: number | null, currency = 'USD'): Promise<Program> {
  const fields = threshold === null ? {} : { funding_low_threshold: threshold };
  const { body } = await ledger.call('create_program', { name: 'Low', currency, ...fields });
  const program = new Program((JSON.parse(body) as { readonly program_id: string }).program_id);
  await program.call(ledger, 'create_card', { card_id: 'card' });
  if (funding > 0) await program.deposit(funding);
  return program;
}

function low(program: Program, available: number, threshold: number, cause: Partial<FundingLowRecord>): Fields {
  return {
    program_id: program.wireId,
    currency: 'USD',
    available,
    threshold,
    transfer_id: null,
    movement_id: null,
    ...cause,
  };
}

const idOf = (record: Fields | string) => (record as { readonly transfer_id: string }).transfer_id;
const movementOf = (record: Fields | string) => (record as { readonly movement_id: string }).movement_id;

describe('funding.low', () => {
  test('is sent by the transfer that takes the funds below the threshold, right after its own event', async () => {
    const program = await makeProgram(1000, 500);
    await program.transfer({ amount: 500 });
    expect(await program.lows()).toEqual([]);
    const crossing = await program.transfer({ amount: 1 });
    expect((await program.events()).slice(-2)).toEqual([
      { type: 'transfer.completed', data: crossing },
      { type: 'funding.low', data: low(program, 499, 500, { transfer_id: idOf(crossing) }) },
    ]);
    await program.transfer({ amount: 1 });
    expect(await program.lows()).toHaveLength(1);
  });

  test('is sent again only after the funds have returned to the threshold', async () => {
    const program = await makeProgram(500, 500);
    await program.transfer({ amount: 100 });
    await program.deposit(99);
    await program.transfer({ amount: 99 });
    expect(await program.lows()).toHaveLength(1);
    await program.deposit(100);
    expect(await program.lows()).toHaveLength(1);
    await program.transfer({ amount: 1 });
    expect((await program.lows()).map(({ available }) => available)).toEqual([400, 499]);
  });

  test('counts holds too', async () => {
    const program = await makeProgram(1000, 500);
    const hold = await program.transfer({ amount: 501, capture: 'manual' });
    expect(await program.lows()).toEqual([low(program, 499, 500, { transfer_id: idOf(hold) })]);
    await program.act('cancel_transfer', hold as Fields);
    const second = await program.transfer({ amount: 600, capture: 'manual' });
    expect(await program.lows()).toHaveLength(2);
    // The rest of the hold is released, so the funds are above the threshold again.
    await program.act('capture_transfer', second as Fields, { amount: 100 });
    await program.transfer({ amount: 401 });
    expect((await program.lows()).map(({ available }) => available)).toEqual([499, 400, 499]);
  });

  test('is sent by the reversal of an unload and by a withdrawal', async () => {
    const program = await makeProgram(600, null);
    await program.transfer({ amount: 200 });
    const unload = await program.transfer({ amount: 100, type: 'unload' });
    await program.update({ funding_low_threshold: 450 });
    await program.act('reverse_transfer', unload as Fields, { amount: 51 });
    expect(await program.lows()).toEqual([low(program, 449, 450, { transfer_id: idOf(unload) })]);
    await program.deposit(1);
    const withdrawal = await program.withdraw(450);
    expect((await program.lows()).at(-1)).toEqual(low(program, 0, 450, { movement_id: movementOf(withdrawal) }));
    expect((await program.events()).at(-2)).toEqual({ type: 'funding.withdrawn', data: withdrawal });
  });

  test('is sent when a threshold is set above the funds, if the funds were not low before', async () => {
    const program = await makeProgram(1000, null);
    await program.update({ funding_low_threshold: 1000 });
    expect(await program.lows()).toEqual([]);
    const updated = await program.update({ funding_low_threshold: 1001 });
    expect((await program.events()).slice(-2)).toEqual([
      { type: 'program.updated', data: updated },
      { type: 'funding.low', data: low(program, 1000, 1001, {}) },
    ]);
    await program.update({ funding_low_threshold: 2000 });
    expect(await program.lows()).toHaveLength(1);
    await program.update({ funding_low_threshold: null });
    await program.update({ funding_low_threshold: 2000 });
    expect(await program.lows()).toHaveLength(2);
    await program.update({ funding_low_threshold: 2000 });
    await program.update({ name: 'Lower' });
    expect(await program.lows()).toHaveLength(2);
  });

  test('is not sent for a new program, for refused transfers or for a different currency', async () => {
    const program = await makeProgram(0, 500);
    expect(await program.transfer({ amount: 1 })).toBe('insufficient_funds');
    expect(await program.lows()).toEqual([]);
    await program.call(ledger, 'create_deposit', { amount: 900, currency: 'EUR' }, { program_id: program.wireId });
    await program.call(ledger, 'create_card', { card_id: 'euro', currency: 'EUR' });
    await program.transfer({ amount: 800, card_id: 'euro' });
    await program.call(ledger, 'create_withdrawal', { amount: 100, currency: 'EUR' }, { program_id: program.wireId });
    expect(await program.lows()).toEqual([]);
    await program.deposit(500);
    expect(await program.transfer({ amount: 501 })).toBe('insufficient_funds');
    expect(await program.lows()).toEqual([]);
  });

  test('is in the same transaction as its cause, and a replay does not send it again', async () => {
    const program = await makeProgram(1000, 500);
    const more = { programId: program.programId, idempotencyKey: 'once' };
    const first = await ledger.call('create_transfer', { card_id: 'card', amount: 600 }, more);
    const second = await other.call('create_transfer', { card_id: 'card', amount: 600 }, more);
    expect(second.body).toBe(first.body);
    expect(await program.lows()).toHaveLength(1);
    const { rows } = await client.query<{ batches: string }>(
      `select count(distinct batch_id) as batches from event
        where program_id = $1
          and xmin::text::bigint >= (select xmin::text::bigint from event where program_id = $1 and type = 'funding.low')`,
      [program.programId],
    );
    expect(rows).toEqual([{ batches: '1' }]);
  });
});

test('funding.low is sent exactly at each crossing, in chained groups of two services and during other operations', async () => {
  const since = new Date(Date.now() - 1000);
  const program = await makeProgram(10_000, 5_000);
  await program.transfer({ amount: 4_000 });
  const open: Fields[] = [];
  const done: Fields[] = [];
  const amount = () => 1 + Math.floor(Math.random() * 900);
  const take = (from: Fields[]) => from.splice(Math.floor(Math.random() * from.length), 1)[0];
  const keep = (into: Fields[], record: Fields | string) => {
    if (typeof record !== 'string') into.push(record);
  };
  const act = async (at: Ledger, act: 'capture_transfer' | 'cancel_transfer', body = {}) => {
    const hold = take(open);
    if (hold !== undefined) await program.act(act, hold, body, at);
  };
  const steps: readonly ((at: Ledger) => Promise<unknown>)[] = [
    async (at) => keep(done, await program.transfer({ amount: amount() }, at)),
    async (at) => keep(done, await program.transfer({ amount: amount(), type: 'unload' }, at)),
    async (at) => keep(open, await program.transfer({ amount: amount(), capture: 'manual' }, at)),
    async (at) => keep(open, await program.transfer({ amount: amount(), capture: 'manual', type: 'unload' }, at)),
    (at) => act(at, 'capture_transfer', { amount: 1 }),
    (at) => act(at, 'capture_transfer'),
    (at) => act(at, 'cancel_transfer'),
    async (at) => {
      const transfer = take(done);
      if (transfer !== undefined) await program.act('reverse_transfer', transfer, {}, at);
    },
    (at) => program.deposit(amount(), at),
    (at) => program.withdraw(amount(), at),
  ];
  const run = async (at: Ledger, of: readonly ((at: Ledger) => Promise<unknown>)[], count: number) => {
    for (let round = 0; round < count; round += 1) await of[Math.floor(Math.random() * of.length)]?.(at);
  };
  // The thresholds are near the funds, so the funds often cross them.
  const thresholds = async () => {
    let threshold: number | null = 5_000;
    for (let round = 0; round < 40; round += 1) {
      const at = round % 2 === 0 ? chained : other;
      const { funding } = (await program.update({ funding_low_threshold: threshold }, at)) as Fields;
      const available = Number((funding as readonly Fields[])[0]?.available);
      threshold = round % 8 === 7 ? null : Math.max(1, available - 400 + amount());
      await run(at, steps, 4);
    }
  };
  // First no operation breaks the chains, then many do.
  const transfers = steps.slice(0, 8);
  while ((await countChained(client)) === 0) {
    await Promise.all(Array.from({ length: 48 }, () => run(chained, transfers, 10)));
  }
  await Promise.all([
    ...Array.from({ length: 24 }, () => run(chained, transfers, 20)),
    ...Array.from({ length: 6 }, () => run(other, steps, 20)),
    run(chained, steps.slice(8), 20),
    thresholds(),
  ]);
  const commits = await readCommits(client, since);
  const replay = new SerialReplay(commits);
  for (const transaction of commits.transactions) replay.run(transaction);
  expect(replay.problems).toEqual([]);
  const crossings = replay.lows.filter((each) => each.program === program.wireId);
  expect(crossings.length).toBeGreaterThan(10);
  expect(await program.lows()).toHaveLength(crossings.length);
});
