import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import type { CardRecord } from '../../contract/cards.ts';
import type { ReversalRecord } from '../../contract/transfer-actions.ts';
import type { TransferRecord } from '../../contract/transfers.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { WrittenReply } from '../../server/http/wire/reply.ts';
import { settleDue } from '../../server/subjects/transfers/change-transfer.ts';
import { connect, type Ledger } from '../harness/ledger.ts';
import { checkBalances, moveToNoon, useLedger, useServer } from '../harness/use-ledger.ts';

// Two ledgers on one database act as two service processes.
const server = await useServer();
const ledger = useLedger(server.connection);
const other = useLedger(server.connection);

checkBalances(ledger);

afterEach(async () => {
  await setClock(0);
});

async function setClock(seconds: number): Promise<void> {
  const client = await connect(server.connection);
  const ahead = `${seconds} seconds`;
  await client.query(
    `insert into sandbox_clock (ahead, furthest) values ($1, $1)
    on conflict (singleton) do update set ahead = $1, furthest = greatest(sandbox_clock.furthest, $1)`,
    [ahead],
  );
  await client.end();
}

const bodyOf = <Body>(reply: WrittenReply): Body => JSON.parse(reply.body) as Body;

async function newCard(to: Ledger = ledger): Promise<string> {
  return bodyOf<CardRecord>(await to.call('create_card')).card_id;
}

async function cardOf(name: string): Promise<CardRecord> {
  return bodyOf(await ledger.call('get_card', {}, { params: { card_id: name } }));
}

async function create(members: object, to: Ledger = ledger): Promise<TransferRecord> {
  return bodyOf(await to.call('create_transfer', members));
}

type Command = 'capture_transfer' | 'cancel_transfer' | 'reverse_transfer';

function command(name: Command, id: string, members: object = {}, to: Ledger = ledger): Promise<WrittenReply> {
  return to.call(name, members, { params: { transfer_id: id } });
}

async function codeOf(reply: Promise<WrittenReply>): Promise<string> {
  try {
    return String((await reply).status);
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

async function getTransfer(id: string): Promise<TransferRecord> {
  return bodyOf(await ledger.call('get_transfer', {}, { params: { transfer_id: id } }));
}

describe('a hold', () => {
  test('reserves money at its source, is incoming at its destination, and releases the rest after a partial capture', async () => {
    const card = await newCard();
    const made = await create({ amount: 1000, card_id: card, capture: 'manual' });
    expect(made).toMatchObject({ status: 'pending', outcome: 'open', captured_amount: 0, completed_at: null });
    expect(Date.parse(made.expires_at ?? '') - Date.parse(made.created_at)).toBe(7 * 86_400_000);
    expect(await cardOf(card)).toMatchObject({ balance: 0, held: 0, incoming: 1000, available: 0 });
    const captured = bodyOf<TransferRecord>(await command('capture_transfer', made.transfer_id, { amount: 400 }));
    expect(captured).toMatchObject({ status: 'completed', outcome: 'final', amount: 1000, captured_amount: 400 });
    expect(await cardOf(card)).toMatchObject({ balance: 400, held: 0, incoming: 0, available: 400 });
    expect(await getTransfer(made.transfer_id)).toEqual(captured);
    expect(await codeOf(command('capture_transfer', made.transfer_id))).toBe('invalid_transfer_status');
  });

  test("blocks the card's money until it is canceled", async () => {
    const card = await newCard();
    await create({ amount: 1000, card_id: card });
    const made = await create({ amount: 700, card_id: card, type: 'unload', capture: 'manual' });
    expect(await cardOf(card)).toMatchObject({ balance: 1000, held: 700, available: 300 });
    expect(await codeOf(ledger.call('create_transfer', { amount: 301, card_id: card, type: 'unload' }))).toBe(
      'insufficient_funds',
    );
    await command('cancel_transfer', made.transfer_id);
    expect(await cardOf(card)).toMatchObject({ balance: 1000, held: 0, available: 1000 });
    expect(await getTransfer(made.transfer_id)).toMatchObject({ status: 'canceled', captured_amount: 0 });
  });

  test('counts as expired for every reader after its expiry time, before and after the loop has released it', async () => {
    const card = await newCard();
    const made = await create({ amount: 50, card_id: card, capture: 'manual' });
    await setClock(7 * 86_400 + 1);
    expect(await getTransfer(made.transfer_id)).toMatchObject({ status: 'expired', outcome: 'final' });
    expect(await codeOf(command('capture_transfer', made.transfer_id))).toBe('invalid_transfer_status');
    expect(await codeOf(command('cancel_transfer', made.transfer_id))).toBe('invalid_transfer_status');
    expect(await cardOf(card)).toMatchObject({ incoming: 50 });
    const rounds = await Promise.all([settleDue(ledger.service), settleDue(other.service)]);
    expect(rounds.reduce((sum, { settled }) => sum + settled, 0)).toBe(1);
    expect(await cardOf(card)).toMatchObject({ incoming: 0, balance: 0 });
    expect(await getTransfer(made.transfer_id)).toMatchObject({ status: 'expired', outcome: 'final' });
  });

  test('is ended by exactly one of capture, cancel and expiry from two processes at the same time', async () => {
    const tally: Record<string, number> = {};
    const card = await newCard();
    for (let round = 0; round < 40; round += 1) {
      const made = await create({ amount: 10, card_id: card, capture: 'manual', expires_at: soon(60 + round) });
      await setClock(round % 2 === 0 ? 0 : 61 + round);
      const outcomes = await Promise.all([
        codeOf(command('capture_transfer', made.transfer_id, {}, ledger)),
        codeOf(command('cancel_transfer', made.transfer_id, {}, other)),
        codeOf(command('capture_transfer', made.transfer_id, { amount: 5 }, other)),
        settleDue(ledger.service).then(({ settled }) => (settled === 1 ? 'expired' : 'nothing')),
      ]);
      const { status, captured_amount: captured } = await getTransfer(made.transfer_id);
      const winners = outcomes.filter((outcome) => outcome === '200' || outcome === 'expired');
      expect(winners).toHaveLength(1);
      for (const outcome of outcomes)
        expect(['200', 'expired', 'nothing', 'invalid_transfer_status']).toContain(outcome);
      tally[`${status} ${captured}`] = (tally[`${status} ${captured}`] ?? 0) + 1;
      await setClock(0);
    }
    expect(tally['expired 0']).toBe(20);
  });
});

function soon(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString();
}

describe('a reversal', () => {
  test('moves back all or part of the amount, but never more than was captured, and has its own record', async () => {
    const card = await newCard();
    const made = await create({ amount: 1000, card_id: card });
    const first = bodyOf<ReversalRecord>(
      await command('reverse_transfer', made.transfer_id, { amount: 300, description: 'too much' }),
    );
    expect(first).toMatchObject({ transfer_id: made.transfer_id, amount: 300, description: 'too much' });
    expect(await codeOf(command('reverse_transfer', made.transfer_id, { amount: 701 }))).toBe('amount_too_large');
    const rest = bodyOf<ReversalRecord>(await command('reverse_transfer', made.transfer_id));
    expect(rest.amount).toBe(700);
    expect(await codeOf(command('reverse_transfer', made.transfer_id))).toBe('invalid_transfer_status');
    expect(await getTransfer(made.transfer_id)).toMatchObject({ status: 'completed', reversed_amount: 1000 });
    const list = bodyOf<{ data: ReversalRecord[] }>(
      await ledger.call('list_reversals', {}, { params: { transfer_id: made.transfer_id } }),
    );
    expect(list.data).toEqual([rest, first]);
    const read = await ledger.call('get_reversal', {}, { params: { reversal_id: first.reversal_id } });
    expect(bodyOf(read)).toEqual(first);
  });

  test('is refused if the money has been spent', async () => {
    const card = await newCard();
    const made = await create({ amount: 1000, card_id: card });
    await create({ amount: 600, card_id: card, type: 'unload' });
    expect(await codeOf(command('reverse_transfer', made.transfer_id))).toBe('insufficient_funds');
    expect(await codeOf(command('reverse_transfer', made.transfer_id, { amount: 400 }))).toBe('201');
  });

  test('never exceeds the captured amount, with 64 clients in two processes', async () => {
    const card = await newCard();
    await create({ amount: 100_000, card_id: card });
    const made = await create({ amount: 1000, card_id: card });
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, (_, index) =>
        codeOf(command('reverse_transfer', made.transfer_id, { amount: 100 }, index % 2 === 0 ? ledger : other)),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === '201')).toHaveLength(10);
    expect(new Set(outcomes)).toEqual(new Set(['201', 'invalid_transfer_status']));
    expect(await cardOf(card)).toMatchObject({ balance: 100_000 });
  });
});

describe('a scheduled transfer', () => {
  test('holds nothing, and one of several processes executes it when due', async () => {
    const card = await newCard();
    const made = await create({ amount: 1000, card_id: card, scheduled_for: soon(3600), metadata: { order: 'o-1' } });
    expect(made).toMatchObject({ status: 'scheduled', outcome: 'open', captured_amount: 0 });
    expect(await settleDue(ledger.service)).toMatchObject({ settled: 0 });
    await setClock(3601);
    const rounds = await Promise.all([settleDue(ledger.service), settleDue(other.service)]);
    expect(rounds.reduce((sum, { settled }) => sum + settled, 0)).toBe(1);
    expect(await getTransfer(made.transfer_id)).toMatchObject({ status: 'completed', captured_amount: 1000 });
    expect(await cardOf(card)).toMatchObject({ balance: 1000 });
  });

  test('fails if it is refused when due, and contains the error', async () => {
    const card = await newCard();
    const made = await create({ amount: 5, card_id: card, type: 'unload', scheduled_for: soon(60) });
    await setClock(61);
    await settleDue(ledger.service);
    expect(await getTransfer(made.transfer_id)).toMatchObject({
      status: 'failed',
      outcome: 'final',
      error: { Status: 409, Code: 'insufficient_funds', Type: 'Request Error' },
    });
  });

  test('waits while the service is disabled, and is executed later', async () => {
    const card = await newCard();
    const made = await create({ amount: 5, card_id: card, capture: 'manual', scheduled_for: soon(60) });
    await ledger.call('change_switch', { disabled: true, reason: 'test' });
    await setClock(61);
    expect(await settleDue(ledger.service)).toMatchObject({ settled: 0, failed: 0 });
    expect(await getTransfer(made.transfer_id)).toMatchObject({ status: 'scheduled' });
    await ledger.call('change_switch', { disabled: false });
    await settleDue(ledger.service);
    expect(await getTransfer(made.transfer_id)).toMatchObject({ status: 'pending' });
    expect(await cardOf(card)).toMatchObject({ incoming: 5 });
    await command('cancel_transfer', made.transfer_id);
  });

  test('can be canceled until it is due, and is then never executed', async () => {
    const card = await newCard();
    const made = await create({ amount: 5, card_id: card, scheduled_for: soon(60) });
    await command('cancel_transfer', made.transfer_id);
    await setClock(61);
    await settleDue(ledger.service);
    expect(await getTransfer(made.transfer_id)).toMatchObject({ status: 'canceled' });
    expect(await cardOf(card)).toMatchObject({ balance: 0, incoming: 0 });
  });
});

describe('limits', () => {
  test('are exact with 64 clients in two processes, and a released hold can be used again', async () => {
    await moveToNoon(ledger);
    const limits = { in: { daily_amount: 1000, daily_count: 8 } };
    const card = bodyOf<CardRecord>(await ledger.call('create_card', { limits })).card_id;
    const send = (index: number): Promise<string> =>
      codeOf(
        (index % 2 === 0 ? ledger : other).call('create_transfer', {
          amount: 150,
          card_id: card,
          capture: index % 3 === 0 ? 'manual' : 'automatic',
        }),
      );
    const outcomes = await Promise.all(Array.from({ length: 64 }, (_, index) => send(index)));
    expect(outcomes.filter((outcome) => outcome === '201')).toHaveLength(6);
    expect(outcomes.filter((outcome) => outcome === 'limit_exceeded')).toHaveLength(58);
    const pending = bodyOf<{ data: TransferRecord[] }>(
      await ledger.call('list_transfers', { card_id: card, status: 'pending' }),
    ).data;
    for (const { transfer_id: id } of pending) await command('cancel_transfer', id);
    const again = await Promise.all(Array.from({ length: 64 }, (_, index) => send(index)));
    expect(again.filter((outcome) => outcome === '201')).toHaveLength(pending.length);
  });
});

describe('card to card', () => {
  test('never deadlocks between two processes in opposite directions', async () => {
    const [first, second] = [await newCard(), await newCard()];
    await create({ amount: 10_000, card_id: first });
    await create({ amount: 10_000, card_id: second });
    const outcomes = await Promise.all(
      Array.from({ length: 128 }, (_, index) => {
        const [from, to] = index % 2 === 0 ? [first, second] : [second, first];
        const members = {
          amount: 7,
          card_id: from,
          destination_card_id: to,
          type: 'card_to_card',
          reference: randomUUID(),
        };
        return codeOf((index % 4 < 2 ? ledger : other).call('create_transfer', members));
      }),
    );
    expect(new Set(outcomes)).toEqual(new Set(['201']));
    expect((await cardOf(first)).balance + (await cardOf(second)).balance).toBe(20_000);
  });
});

test('an expired hold is stored as expired before another transfer takes its reference', async () => {
  const [card, reference] = [await newCard(), randomUUID()];
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const hold = await create({ amount: 5, card_id: card, capture: 'manual', expires_at, reference });
  const again = { amount: 7, card_id: card, reference };
  expect(await codeOf(ledger.call('create_transfer', again))).toBe('duplicate_reference');
  await setClock(3700);
  const outcomes = await Promise.all([ledger, other].map((one) => codeOf(one.call('create_transfer', again))));
  expect(outcomes.toSorted()).toEqual(['201', 'duplicate_reference']);
  const client = await connect(server.connection);
  const { rows } = await client.query(
    'select status, amount::int from transfer where reference = $1 order by transfer_id',
    [reference],
  );
  const { rows: events } = await client.query("select type from event where subject_id = $1 and type like '%expired'", [
    hold.transfer_id,
  ]);
  await client.end();
  expect(rows).toEqual([
    { status: 'expired', amount: 5 },
    { status: 'completed', amount: 7 },
  ]);
  expect(events).toHaveLength(1);
});
