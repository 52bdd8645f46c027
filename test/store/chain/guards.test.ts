import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import { type AnyCall, OperationFailure } from '../../../server/calls/call.ts';
import { storedEvents } from '../../fixtures/stored-events.ts';
import type { Ledger } from '../../harness/ledger.ts';
import { checkBalances, moveToNoon } from '../../harness/use-ledger.ts';
import { outcomeOf, transfer, useInterleaving } from './interleaving.ts';

// Each test interleaves a chain with another process in one way. It delays messages between the service and the
// database, so no test depends on speed.

const { proxy, other, stranger, openChain, holdAt, untilWaiting } = await useInterleaving();

checkBalances(other);

/** Groups that contain operators' requests are not chained. */
const OPERATOR: Partial<AnyCall> = {
  caller: { kind: 'operator_key', keyId: randomUUID(), scopes: ['transfers:write'] },
};

async function makeCard(amount = 0, limits?: object): Promise<string> {
  const card = `card-${randomUUID()}`;
  await other.call('create_card', { card_id: card, ...(limits === undefined ? {} : { limits }) });
  if (amount > 0) expect(await transfer(other, card, { amount })).toBe('made');
  return card;
}

const update = (card: string, change: object) => other.call('update_card', change, { params: { card_id: card } });

/** Creates a transfer that waits, and returns its id. */
async function makeOpen(ledger: Ledger, body: object): Promise<string> {
  const { body: text } = await ledger.call('create_transfer', body);
  return (JSON.parse(text) as { readonly transfer_id: string }).transfer_id;
}

const change = (
  ledger: Ledger,
  operation: 'capture_transfer' | 'cancel_transfer' | 'update_transfer',
  transfer_id: string,
  more: Partial<AnyCall> = {},
) => {
  const body = operation === 'update_transfer' ? { metadata: { note: 'new' } } : {};
  return outcomeOf(ledger.call(operation, body, { params: { transfer_id }, idempotencyKey: randomUUID(), ...more }));
};

/**
 * Returns a card program's events after a moment, in the order of their fences, which is the order in which readers see
 * them.
 */
async function eventsSince(programId: string, moment: Date): Promise<readonly (readonly [string, unknown])[]> {
  const since = `join write_batch using (batch_id)
    where program_id = $1 and write_batch.created_at > $2 order by write_batch.created_at, index`;
  const events = await storedEvents(stranger, since, [programId, moment]);
  return events.map(({ type, data }) => [type, data]);
}

const now = async () => (await stranger.query<{ now: Date }>('select clock_timestamp() as now')).rows[0]?.now as Date;

/** Commits other changes in sequence, which gives requests in progress time to get as far as they can. */
async function doOtherThings(): Promise<void> {
  for (let count = 0; count < 25; count += 1) await other.call('create_card');
}

/**
 * Sends two groups. The first is committed, but the service has no response yet. The second was decided on the result
 * of the first.
 */
async function sendTwo(first: () => Promise<string>, second: () => Promise<string>) {
  const committed = holdAt('after_commit');
  const one = first();
  await committed.reached;
  const decided = holdAt('before_early');
  const two = second();
  await decided.reached;
  decided.release();
  return { one, two, release: committed.release };
}

describe('a group that was decided on the result of the previous group', () => {
  test('is saved after the previous group without a second decision', async () => {
    const ledger = openChain();
    const card = await makeCard(100);
    const guards = proxy.watch('update_accounts_if_unchanged');
    const { one, two, release } = await sendTwo(
      () => transfer(ledger, card, { amount: 60, type: 'unload' }),
      () => transfer(ledger, card, { amount: 40, type: 'unload' }),
    );
    release();
    expect(await Promise.all([one, two])).toEqual(['made', 'made']);
    expect(await transfer(ledger, card, { amount: 1, type: 'unload' })).toBe('insufficient_funds');
    expect(guards()).toBe(3);
  });

  test('sends nothing that needs account locks before the previous commit is acknowledged', async () => {
    const ledger = openChain();
    const card = await makeCard(100);
    const guards = proxy.watch('update_accounts_if_unchanged');
    const save = holdAt('before_save');
    const one = transfer(ledger, card, { amount: 1 });
    await save.reached;
    const early = holdAt('before_early');
    const two = transfer(ledger, card, { amount: 1 });
    await early.reached;
    early.release();
    await doOtherThings();
    expect(guards()).toBe(1);
    save.release();
    expect(await Promise.all([one, two])).toEqual(['made', 'made']);
    expect(guards()).toBe(2);
  });

  test('refuses a transfer if its card was suspended between the decision and the save', async () => {
    const ledger = openChain();
    const card = await makeCard(100);
    const send = () => transfer(ledger, card, { amount: 1 });
    const { one, two, release } = await sendTwo(send, send);
    await update(card, { status: 'inactive' });
    release();
    expect(await Promise.all([one, two])).toEqual(['made', 'card_suspended']);
  });

  test('refuses a transfer if a limit of its card was lowered between the decision and the save', async () => {
    const ledger = openChain();
    const card = await makeCard(100);
    const send = () => transfer(ledger, card, { amount: 10 });
    const { one, two, release } = await sendTwo(send, send);
    await update(card, { limits: { in: { maximum_amount: 5 } } });
    release();
    expect(await Promise.all([one, two])).toEqual(['made', 'amount_too_large']);
  });

  test.for<readonly [string, Partial<AnyCall>]>([
    ['another chain', {}],
    ['a group that locks accounts first', OPERATOR],
  ])('does not spend money that %s has put on hold since its decision', async ([, by]) => {
    const ledger = openChain();
    const card = await makeCard(100);
    const { one, two, release } = await sendTwo(
      () => transfer(ledger, card, { amount: 1 }),
      () => transfer(ledger, card, { amount: 80, type: 'unload' }),
    );
    // The other chain has not read the card yet. A hold does not change the sequence of postings.
    expect(await transfer(openChain(), card, { amount: 50, type: 'unload', capture: 'manual' }, by)).toBe('made');
    release();
    expect(await Promise.all([one, two])).toEqual(['made', 'insufficient_funds']);
  });

  test.for<readonly [string, Partial<AnyCall>]>([
    ['in a chain', {}],
    ['under locks', OPERATOR],
  ])('does not cancel a transfer that another process has canceled %s since its decision', async ([, more]) => {
    const ledger = openChain();
    const card = await makeCard();
    const scheduled_for = new Date(Date.now() + 86_400_000).toISOString();
    const scheduled = await makeOpen(other, { amount: 5, card_id: card, scheduled_for });
    const { one, two, release } = await sendTwo(
      () => transfer(ledger, card, { amount: 1 }),
      () => change(ledger, 'cancel_transfer', scheduled),
    );
    expect(await change(other, 'cancel_transfer', scheduled, more)).toBe('made');
    release();
    expect(await Promise.all([one, two])).toEqual(['made', 'invalid_transfer_status']);
  });

  test('waits if it changes the same transfer', async () => {
    const ledger = openChain();
    const card = await makeCard();
    const hold = { amount: 5, card_id: card, capture: 'manual' };
    const held = await makeOpen(ledger, hold);
    // With a second hold, the held amount would be enough for both changes.
    await makeOpen(ledger, hold);
    const save = holdAt('before_save');
    const one = change(ledger, 'capture_transfer', held);
    await save.reached;
    const two = change(ledger, 'cancel_transfer', held);
    await doOtherThings();
    save.release();
    expect(await Promise.all([one, two])).toEqual(['made', 'invalid_transfer_status']);
  });

  test('counts the usage of the previous group toward limits', async () => {
    await moveToNoon(other);
    const ledger = openChain();
    const card = await makeCard(0, { in: { daily_count: 2 } });
    const send = () => transfer(ledger, card, { amount: 1 });
    expect(await send()).toBe('made');
    const { one, two, release } = await sendTwo(send, send);
    release();
    expect(await Promise.all([one, two])).toEqual(['made', 'limit_exceeded']);
  });

  test('delays a change of the switch until the group has ended', async () => {
    const ledger = openChain();
    const card = await makeCard();
    const send = () => transfer(ledger, card, { amount: 1 });
    const { one, two, release } = await sendTwo(send, send);
    let isChanged = false;
    const disabled = other.call('change_switch', { disabled: true, reason: 'test' }).then(() => {
      isChanged = true;
    });
    await doOtherThings();
    expect(isChanged).toBe(false);
    release();
    // The order of the two responses proves nothing, because they use two connections.
    expect(await Promise.all([one, two, disabled])).toEqual(['made', 'made', undefined]);
    expect(await send()).toBe('service_disabled');
    await other.call('change_switch', { disabled: false });
    expect(await send()).toBe('made');
  });
});

describe('if two processes change one transfer, the last event has the stored transfer:', () => {
  const CHANGES = ['capture_transfer', 'cancel_transfer', 'update_transfer'] as const;
  const inOrder = CHANGES.flatMap((first) => CHANGES.map((second) => [first, second] as const));
  const pairs = inOrder.filter((pair) => pair.includes('update_transfer'));

  test.for(pairs.flatMap((pair) => [{}, OPERATOR].map((more) => [...pair, more] as const)))(
    '%s is decided, %s commits, then the first change is saved',
    async ([first, second, more]) => {
      const ledger = openChain();
      const held = await makeOpen(other, { amount: 5, card_id: await makeCard(), capture: 'manual' });
      const before = await now();
      const save = holdAt('before_save');
      const one = change(ledger, first, held);
      await save.reached;
      const two = change(other, second, held, { ...more, idempotencyKey: null });
      expect(await two).toBe('made');
      save.release();
      await one;
      const stored = JSON.parse((await other.call('get_transfer', {}, { params: { transfer_id: held } })).body);
      const events = await eventsSince(DEMO_PROGRAM_ID, before);
      expect(events.at(-1)?.[1]).toEqual(stored);
      const times = events.map(([, record]) => (record as { readonly updated_at: string }).updated_at);
      expect(times).toEqual(times.toSorted());
    },
  );
});

describe('the event program.updated shows the funding', () => {
  type Shown = {
    readonly program_id: string;
    readonly funding: readonly { readonly currency: string; readonly balance: number }[];
  };

  async function makeProgram() {
    const { body } = await other.call('create_program', { name: 'Shown', currency: 'USD' });
    const { program_id } = JSON.parse(body) as Shown;
    const programId = program_id.replace(/^prog_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    await other.call('create_card', { card_id: 'shown' }, { programId });
    const params = { program_id };
    await other.call('create_deposit', { amount: 1000 }, { params, idempotencyKey: randomUUID() });
    const rename = (ledger: Ledger) => ledger.call('update_program', { name: randomUUID() }, { params });
    const load = (ledger: Ledger) => transfer(ledger, 'shown', { amount: 10 }, { programId });
    return { programId, rename, load };
  }

  /** Checks the funding in each program.updated against the loads before it. Returns the types of the events. */
  async function expectTrue(programId: string, since: Date): Promise<readonly string[]> {
    let balance = 1000;
    const events = await eventsSince(programId, since);
    for (const [type, record] of events) {
      if (type === 'transfer.completed') balance -= 10;
      else expect((record as Shown).funding).toMatchObject([{ currency: 'USD', balance }]);
    }
    return events.map(([type]) => type);
  }

  test('at its commit, even if a load commits between its reads and its writes', async () => {
    const { programId, rename, load } = await makeProgram();
    const since = await now();
    const save = holdAt('before_save');
    const renamed = rename(openChain());
    await save.reached;
    const loaded = load(other);
    await Promise.race([loaded, untilWaiting()]);
    save.release();
    expect([(await renamed).status, await loaded]).toEqual([200, 'made']);
    expect((await expectTrue(programId, since)).toSorted()).toEqual(['program.updated', 'transfer.completed']);
  });

  test('before a load that wrote its fence first and is saved later', async () => {
    const { programId, rename, load } = await makeProgram();
    const ledger = openChain();
    const since = await now();
    const { one, two, release } = await sendTwo(
      () => load(ledger),
      () => load(ledger),
    );
    await rename(other);
    release();
    expect(await Promise.all([one, two])).toEqual(['made', 'made']);
    expect(await expectTrue(programId, since)).toEqual(['transfer.completed', 'program.updated', 'transfer.completed']);
  });
});

describe('when a group fails, the next groups', () => {
  test('are decided again without it if it was not committed', async () => {
    const ledger = openChain();
    const card = await makeCard(10);
    const save = holdAt('before_save');
    const one = transfer(ledger, card, { amount: 100 }).catch(() => 'failed');
    await save.reached;
    const early = holdAt('before_early');
    const two = transfer(ledger, card, { amount: 50, type: 'unload' });
    await early.reached;
    early.release();
    save.release('cut');
    expect(await Promise.all([one, two])).toEqual(['failed', 'insufficient_funds']);
  });

  test('are decided again with it if only the response to its commit was lost', async () => {
    const ledger = openChain();
    const card = await makeCard(10);
    const locks = proxy.watch('lock_accounts_of_cards');
    const { one, two, release } = await sendTwo(
      () => transfer(ledger, card, { amount: 100 }),
      () => transfer(ledger, card, { amount: 50, type: 'unload' }),
    );
    release('cut');
    expect(await Promise.all([one, two])).toEqual(['made', 'made']);
    expect(locks()).toBe(1);
  });

  test('are rolled back before it is tried again', async () => {
    const ledger = openChain();
    const card = await makeCard(10);
    expect(await transfer(ledger, card, { amount: 1 })).toBe('made');
    // The chain has not read this change, so its next group fails.
    expect(await transfer(other, card, { amount: 1 })).toBe('made');
    const save = holdAt('before_save');
    let isDone = false;
    const one = transfer(ledger, card, { amount: 1 }).finally(() => {
      isDone = true;
    });
    await save.reached;
    const early = holdAt('before_early');
    const two = transfer(ledger, card, { amount: 1 });
    await early.reached;
    save.release();
    await doOtherThings();
    expect(isDone).toBe(false);
    early.release();
    expect(await Promise.all([one, two])).toEqual(['made', 'made']);
  });

  test('leave nothing in memory for the decisions of a later chain', async () => {
    const ledger = openChain();
    const card = await makeCard(10);
    proxy.faults.push('cut_before');
    await expect(transfer(ledger, card, { amount: 100 })).rejects.toMatchObject({ moneyMoved: 'no' });
    // The account's sequence and version now equal the values that were lost.
    expect(await transfer(other, card, { amount: 5 })).toBe('made');
    const guards = proxy.watch('update_accounts_if_unchanged');
    // Groups lock accounts for some time before a chain begins again.
    while (guards() === 0) {
      expect(await transfer(ledger, card, { amount: 100, type: 'unload' })).toBe('insufficient_funds');
    }
  });
});

describe('a chain does not rely on its memory when', () => {
  test.for<readonly [string, Partial<AnyCall>]>([
    ['with a key', {}],
    ['without a key', { idempotencyKey: null }],
  ])('a card was activated after it refused a request %s', async ([, more]) => {
    const ledger = openChain();
    const card = await makeCard();
    await update(card, { status: 'inactive' });
    const send = () => transfer(ledger, card, { amount: 1 }, more);
    expect(await send()).toBe('card_suspended');
    await update(card, { status: 'active' });
    expect(await send()).toBe('made');
  });

  test('another service suspended a card in the database', async () => {
    const ledger = openChain();
    const card = await makeCard();
    const send = () => transfer(ledger, card, { amount: 1 });
    expect(await send()).toBe('made');
    await update(card, { status: 'inactive' });
    expect(await send()).toBe('card_suspended');
  });

  test('a service of an earlier version, without versions of accounts, holds money', async () => {
    const ledger = openChain();
    const card = await makeCard(100);
    const spend = () => transfer(ledger, card, { amount: 50, type: 'unload' });
    expect(await spend()).toBe('made');
    const hold = (amount: number) =>
      stranger.query(
        `update account set held = held + $2
          from card where card.account_id = account.account_id and card.name = $1`,
        [card, amount],
      );
    await hold(10);
    expect(await spend()).toBe('insufficient_funds');
    await hold(-10);
    expect(await spend()).toBe('made');
  });

  test('money arrives without the trigger that raises the version of the account', async () => {
    const ledger = openChain();
    const card = await makeCard(10);
    const spend = () => transfer(ledger, card, { amount: 50, type: 'unload' });
    expect(await spend()).toBe('insufficient_funds');
    onTestFinished(() => stranger.query('alter table account enable trigger account_raises_version').then(() => {}));
    await stranger.query('alter table account disable trigger account_raises_version');
    await stranger.query(
      `with card_account as (
          select account.* from card join account using (program_id, account_id) where name = $1
        ), funding as (
          select account.* from account join card on account.account_id = funding_account_id where card.name = $1
        ), moved as (
          insert into posting (program_id, cause_id, index, purpose, source_account_id, destination_account_id, amount,
            currency, source_balance, destination_balance, source_sequence, destination_sequence, created_at)
          select funding.program_id, gen_random_uuid(), 0, 'deposit', funding.account_id, card_account.account_id, 100,
            funding.currency, funding.balance - 100, card_account.balance + 100, funding.sequence + 1,
            card_account.sequence + 1, now()
          from funding, card_account
        )
        update account set sequence = account.sequence + 1, balance = account.balance
          + case when account.account_id = funding.account_id then -100 else 100 end
        from funding, card_account where account.account_id in (funding.account_id, card_account.account_id)`,
      [card],
    );
    expect(await spend()).toBe('made');
  });

  test('the rules of a program change', async () => {
    await moveToNoon(other);
    const ledger = openChain();
    const { body } = await other.call('create_program', { name: 'Rules', currency: 'USD' });
    const { program_id } = JSON.parse(body) as { readonly program_id: string };
    const programId = program_id.replace(/^prog_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    await other.call('create_card', { card_id: 'ruled' }, { programId });
    const params = { program_id };
    await other.call('create_deposit', { amount: 1000 }, { params, idempotencyKey: randomUUID() });
    const send = () => transfer(ledger, 'ruled', { amount: 10 }, { programId });
    expect(await send()).toBe('made');
    // For transfers between two cards, no version of an account shows the changed rules.
    await other.call('create_card', { card_id: 'ruled-too' }, { programId });
    const between = { type: 'card_to_card', destination_card_id: 'ruled-too', amount: 2 } as const;
    const move = () => transfer(ledger, 'ruled', between, { programId });
    expect(await move()).toBe('made');
    await other.call('update_program', { card_limits: { out: { maximum_amount: 1 } } }, { params });
    expect(await move()).toBe('amount_too_large');
    await other.call('update_program', { limits: { in: { maximum_amount: 5 } } }, { params });
    expect(await send()).toBe('amount_too_large');
    await other.call('update_program', { limits: null, card_limits: { in: { daily_count: 1 } } }, { params });
    expect(await send()).toBe('limit_exceeded');
    await other.call('update_program', { card_limits: null }, { params });
    expect(await send()).toBe('made');
  });

  test('the service is disabled, for all programs or for one', async () => {
    const ledger = openChain();
    const card = await makeCard();
    const send = () => transfer(ledger, card, { amount: 1 });
    expect(await send()).toBe('made');
    const program_id = `prog_${DEMO_PROGRAM_ID.replaceAll('-', '')}`;
    for (const scope of [{}, { program_id }, { program_id, type: 'load' }]) {
      await other.call('change_switch', { ...scope, disabled: true, reason: 'test' });
      expect(await send()).toBe('service_disabled');
      await other.call('change_switch', { ...scope, disabled: false });
      expect(await send()).toBe('made');
    }
  });
});

test.for<readonly [string, (ledger: Ledger, card: string) => Promise<() => Promise<string>>]>([
  ['a new transfer', async (ledger, card) => () => transfer(ledger, card, { amount: 1 })],
  [
    'a capture',
    async (ledger, card) => {
      const held = await makeOpen(other, { amount: 1, card_id: card, capture: 'manual' });
      return () => change(ledger, 'capture_transfer', held);
    },
  ],
])('a card that is suspended between the reads of a group stops %s', async ([, prepare]) => {
  const ledger = openChain();
  const card = await makeCard();
  const send = await prepare(ledger, card);
  await stranger.query('begin');
  // The group reads the stored responses last, so it has already read the account and the card.
  await stranger.query('lock table idempotency in access exclusive mode');
  const outcome = send();
  await untilWaiting();
  await stranger.query("update card set status = 'inactive' where name = $1", [card]);
  await stranger.query('commit');
  expect(await outcome).toBe('card_suspended');
});

test('a group outside a chain locks its accounts before it decides', async () => {
  const card = await makeCard();
  await stranger.query('begin');
  await stranger.query(
    'select from account where account_id = (select account_id from card where name = $1) for no key update',
    [card],
  );
  const outcome = transfer(openChain(), card, { amount: 1 }, OPERATOR);
  await untilWaiting();
  await stranger.query("update card set status = 'inactive' where name = $1", [card]);
  await stranger.query('commit');
  expect(await outcome).toBe('card_suspended');
});

describe('a chain whose recent groups did not use a card', () => {
  const FEW = { batch: 256, waiting: 4096, remembered: { accounts: 2, bytes: 1_000_000 } };

  /** Loads some cards so that the chain remembers them. Returns a counter of later card reads. */
  async function rememberCards(count: number) {
    const ledger = openChain(FEW);
    const cards: string[] = [];
    for (let made = 0; made < count; made += 1) cards.push(await makeCard());
    const load = (card: string | undefined) => transfer(ledger, card ?? '', { amount: 1 });
    const all = proxy.watch('read_cards_with_accounts');
    for (const card of cards) expect(await load(card)).toBe('made');
    expect(all()).toBe(count);
    return { cards, load, reads: proxy.watch('read_cards_with_accounts') };
  }

  /** Loads a card until it is part of a chain again. */
  async function untilChained(load: () => Promise<string>): Promise<void> {
    const chained = proxy.watch('update_accounts_if_unchanged');
    while (chained() === 0) expect(await load()).toBe('made');
  }

  test('does not read the card again', async () => {
    const { cards, load, reads } = await rememberCards(8);
    for (const card of [...cards, ...cards.toReversed()]) expect(await load(card)).toBe('made');
    expect(reads()).toBe(0);
  });

  test('reads a changed card again, and no other card', async () => {
    const { cards, load } = await rememberCards(8);
    const [changed, chosen, ...others] = cards;
    await update(changed ?? '', { status: 'inactive' });
    expect(await load(changed)).toBe('card_suspended');
    await untilChained(() => load(chosen));
    const reads = proxy.watch('read_cards_with_accounts');
    for (const card of others.slice(0, 4)) expect(await load(card)).toBe('made');
    expect(reads()).toBe(0);
    expect(await load(changed)).toBe('card_suspended');
  });

  test('reads all cards again after connections were lost, because the server may lack its last commits', async () => {
    const { cards, load } = await rememberCards(8);
    await stranger.query(
      `select pg_terminate_backend(pid, 60000) from pg_stat_activity
        where application_name = 'transfer-service' and datname = current_database()`,
    );
    const [chosen, ...others] = cards;
    const ended = await load(chosen).catch((error: unknown) => error);
    expect(['made', expect.any(OperationFailure)]).toContainEqual(ended);
    await untilChained(() => load(chosen));
    for (const card of others.slice(0, 4)) {
      // The service may notice another lost connection only now. Then a group locks the card first and reads it again.
      const [chained, locked] = [proxy.watch('read_cards_with_accounts'), proxy.watch('read_cards')];
      expect(await load(card)).toBe('made');
      expect(chained() + locked()).toBeGreaterThan(0);
    }
  });
});

test("a chain keeps counted amounts when a sandbox's clock moves forward and back", async () => {
  const moveClock = (days: number) => other.call('move_clock', { seconds_ahead: days * 24 * 60 * 60 });
  onTestFinished(async () => void (await moveClock(0)));
  const card = await makeCard(0, { in: { daily_count: 1 } });
  expect(await transfer(other, card, { amount: 1 })).toBe('made');
  const ledger = openChain();
  await moveClock(400);
  expect(await transfer(ledger, card, { amount: 1 })).toBe('made');
  await moveClock(0);
  expect(await transfer(ledger, card, { amount: 1 })).toBe('limit_exceeded');
});
