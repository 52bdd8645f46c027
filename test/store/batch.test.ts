import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { TransferBatchOutcomes } from '../../contract/transfers.ts';
import { connect, type Ledger, openLedger } from '../harness/ledger.ts';
import { checkBalances, useLedger, useServer } from '../harness/use-ledger.ts';

const server = await useServer();
const ledger = useLedger(server.connection, { batch: 100, waiting: 4096 });
const other = useLedger(server.connection, { batch: 100, waiting: 4096 });

checkBalances(ledger);

type Row = Readonly<Record<string, string>>;

async function send(to: Ledger, rows: readonly unknown[]): Promise<TransferBatchOutcomes['data']> {
  const reply = await to.call('create_transfer_batch', { transfers: rows }, { deadline: performance.now() + 240_000 });
  return (JSON.parse(reply.body) as TransferBatchOutcomes).data;
}

const row = (more: Row = {}): Row => ({
  amount: '1',
  card_id: 'card_active',
  idempotency_key: randomUUID(),
  ...more,
});

describe('create_transfer_batch', () => {
  test('creates a thousand transfers and returns each outcome in the order of the rows', async () => {
    const rows = Array.from({ length: 1000 }, (_, index) => row({ reference: `row ${index} ${randomUUID()}` }));
    const outcomes = await send(ledger, rows);
    expect(outcomes).toHaveLength(1000);
    for (const [index, outcome] of outcomes.entries()) {
      expect(outcome).toMatchObject({ index, status: 201, error: null, money_moved: 'yes', replayed: false });
      expect(outcome.transfer?.reference).toBe(rows[index]?.reference);
      const { transfer_id = '', created_at = '' } = outcome.transfer ?? {};
      expect(Number.parseInt(transfer_id.slice('tr_'.length).slice(0, 12), 16)).toBe(Date.parse(created_at));
    }
  });

  test('returns an error record for a refused row, and does not affect the other rows', async () => {
    const outcomes = await send(ledger, [
      row(),
      row({ card_id: 'card_lost' }),
      row({ amount: '85.5' }),
      { card_id: 'card_active', idempotency_key: 'x' },
      { amount: '1', card_id: 'card_active' },
      row({ idempotency_key: 'two words' }),
      'not a row',
      row({ card_id: 'card_missing' }),
      row({ type: 'unload', card_id: 'card_empty' }),
      row(),
    ]);
    expect(outcomes.map(({ error, status }) => error?.Code ?? status)).toEqual([
      201,
      'card_lost',
      'invalid_amount',
      'create_transfer_schema',
      'create_transfer_schema',
      'invalid_idempotency_key',
      'create_transfer_schema',
      'card_not_found',
      'insufficient_funds',
      201,
    ]);
    for (const { error, money_moved } of outcomes.filter((outcome) => outcome.error !== null)) {
      expect(Object.keys(error ?? {})).toEqual(['Message', 'Status', 'Code', 'Type']);
      expect(money_moved).toBe('no');
    }
  });

  test('moves nothing twice if it is repeated or sent by two processes at once', async () => {
    const rows = [...Array.from({ length: 50 }, () => row()), row({ card_id: 'card_lost' })];
    const [first, second] = await Promise.all([send(ledger, rows), send(other, rows)]);
    const third = await send(ledger, rows);
    for (const [index, outcome] of third.entries()) {
      expect(outcome.replayed).toBe(true);
      expect(outcome.transfer).toEqual(first[index]?.transfer);
      expect(outcome.transfer).toEqual(second[index]?.transfer);
      const answers = [first[index], second[index]];
      expect(answers.filter((each) => each?.replayed === false)).toHaveLength(1);
      // A replay says whether the first response moved money, because the caller may not have received that response.
      expect([...answers, outcome].map((each) => each?.money_moved)).toEqual(
        Array(3).fill(index === 50 ? 'no' : 'yes'),
      );
    }
  });

  test('shares its keys with create_transfer, and creates one transfer for a key that a call repeats', async () => {
    const twice = row();
    const [one, two] = await send(ledger, [twice, twice]);
    expect(two).toMatchObject({ replayed: true, transfer: one?.transfer });
    const [changed] = await send(ledger, [{ ...twice, amount: '2' }]);
    expect(changed?.error?.Code).toBe('idempotency_key_exists');
  });

  test('reports for each row that the service is disabled, and refers the caller to support', async () => {
    const made = row();
    await send(ledger, [made]);
    await ledger.call('change_switch', { disabled: true, reason: 'test' });
    const [again, refused] = await send(ledger, [made, row()]);
    await ledger.call('change_switch', { disabled: false });
    expect(again).toMatchObject({ status: 201, replayed: true });
    expect(refused).toMatchObject({ status: 424, error: { Code: 'service_disabled', Type: 'Process Error' } });
    expect(refused?.error?.Message).toContain('contact support');
  });
});

describe('one poisoned request', () => {
  test('does not make the other requests in its group fail, wherever it is in the group', async () => {
    const stranger = await connect(server.connection);
    // The domain does not check this constraint, so only the store refuses the row.
    await stranger.query("alter table transfer add constraint poison check (description <> 'poison')");
    try {
      for (const place of [0, 1, 33, 98, 99]) {
        const rows = Array.from({ length: 100 }, (_, index) => row(index === place ? { description: 'poison' } : {}));
        const outcomes = await send(ledger, rows);
        for (const [index, outcome] of outcomes.entries()) {
          if (index === place) expect(outcome).toMatchObject({ status: 500, money_moved: 'no', transfer: null });
          else expect(outcome).toMatchObject({ status: 201, money_moved: 'yes' });
        }
      }
    } finally {
      await stranger.query('alter table transfer drop constraint poison');
      await stranger.end();
    }
  });
});

test('a caller is refused immediately when the queue is full, and nothing moves', async () => {
  const narrow = openLedger(server.connection, { batch: 1, waiting: 5 });
  try {
    const keys = Array.from({ length: 40 }, () => randomUUID());
    const answers = await Promise.all(
      keys.map((idempotencyKey) =>
        narrow.call('create_transfer', { amount: 1, card_id: 'card_active' }, { idempotencyKey }).then(
          () => 'made',
          (error: unknown) => error,
        ),
      ),
    );
    const refused = answers.filter((answer) => answer !== 'made');
    expect(refused.length).toBeGreaterThan(20);
    for (const answer of refused) expect(answer).toMatchObject({ busy: true, moneyMoved: 'no' });
    for (const [index, idempotencyKey] of keys.entries()) {
      const { body } = await ledger.call('list_transfers', { idempotency_key: idempotencyKey });
      expect((JSON.parse(body) as { data: object[] }).data).toHaveLength(answers[index] === 'made' ? 1 : 0);
    }
  } finally {
    await narrow.close();
  }
});
