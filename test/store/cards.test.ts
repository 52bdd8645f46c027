import { describe, expect, test } from 'vitest';
import type { CardRecord } from '../../contract/cards.ts';
import type { CardLimitsRecord } from '../../contract/limits.ts';
import type { TransferRecord } from '../../contract/transfers.ts';
import { fromWireId } from '../../domain/identifier.ts';
import { type AnyCall, OperationFailure } from '../../server/calls/call.ts';
import type { WrittenReply } from '../../server/http/wire/reply.ts';
import { storedEvents } from '../fixtures/stored-events.ts';
import { connect } from '../harness/ledger.ts';
import { checkBalances, moveToNoon, useConnection, useLedger, useProxy, useServer } from '../harness/use-ledger.ts';

const server = await useServer();
const proxy = await useProxy(server);
/** Connects to PostgreSQL through the proxy. */
const ledger = useLedger({ ...server.connection, host: proxy.host });
/** Connects directly. */
const witness = useLedger(server.connection);
const client = await useConnection(server.connection);

checkBalances(witness);

const bodyOf = <Body>({ body }: WrittenReply): Body => JSON.parse(body) as Body;
const aboutCard = (cardId: string): Partial<AnyCall> => ({ params: { card_id: cardId } });
const SWEEP = { status: 'closed', balance_to: 'funding' };

async function newCard(balance = 0): Promise<string> {
  const { card_id } = bodyOf<CardRecord>(await witness.call('create_card'));
  if (balance > 0) await witness.call('create_transfer', { amount: balance, card_id });
  return card_id;
}

async function cardOf(cardId: string): Promise<CardRecord> {
  return bodyOf(await witness.call('get_card', {}, aboutCard(cardId)));
}

async function transfersOf(cardId: string): Promise<readonly TransferRecord[]> {
  return bodyOf<{ data: TransferRecord[] }>(await witness.call('list_transfers', { card_id: cardId })).data;
}

/** Returns all events of the transaction that wrote this event. */
function eventsWith(subjectId: string, type: string) {
  const ofBatch = 'where batch_id = (select batch_id from event where subject_id = $1 and type = $2) order by index';
  return storedEvents(client, ofBatch, [subjectId, type]);
}

describe('events', () => {
  test('contain the changed card, and are written only for a change', async () => {
    const cardId = await newCard();
    for (let count = 0; count < 2; count += 1) {
      await witness.call('update_card', { holder_reference: 'x' }, aboutCard(cardId));
    }
    expect(await eventsWith(cardId, 'card.updated')).toEqual([
      { type: 'card.updated', subjectId: cardId, data: await cardOf(cardId) },
    ]);
  });

  test('contain the transfer and the card in one transaction when a card closes with a balance', async () => {
    const cardId = await newCard(70);
    const closed = bodyOf<CardRecord>(await witness.call('update_card', SWEEP, aboutCard(cardId)));
    const [sweep] = await transfersOf(cardId);
    expect(await eventsWith(cardId, 'card.updated')).toEqual([
      { type: 'transfer.completed', subjectId: sweep?.transfer_id, data: sweep },
      { type: 'card.updated', subjectId: cardId, data: closed },
    ]);
  });

  test('contain the changed program, and are written only for a change', async () => {
    const made = bodyOf<{ program_id: string }>(
      await witness.call('create_program', { name: 'Events', currency: 'USD' }),
    );
    const about = { params: { program_id: made.program_id } };
    const change = { limits: { in: { daily_count: 4, maximum_amount: 3 } } };
    const changed = bodyOf(await witness.call('update_program', change, about));
    expect(changed).toEqual({ ...made, ...change });
    await witness.call('update_program', change, about);
    expect(await eventsWith(made.program_id, 'program.updated')).toEqual([
      { type: 'program.updated', subjectId: made.program_id, data: changed },
    ]);
  });
});

test.each([
  ['card', 'limits'],
  ['program', 'limits'],
  ['program', 'card_limits'],
] as const)(
  'a change of a %s keeps the limits of a newer version in its %s, and null removes them',
  async (of, field) => {
    const cardId = await newCard();
    const { program_id } = bodyOf<{ program_id: string }>(await witness.call('get_card', {}, aboutCard(cardId)));
    const params = of === 'card' ? { card_id: cardId } : { program_id };
    const change = async (limits: unknown) => {
      const { body } = await witness.call(
        `update_${of}`,
        { [field]: limits, metadata: { change: `${limits}` } },
        { params },
      );
      return JSON.parse(body)[field];
    };
    const row = of === 'card' ? ['card', 'name', cardId] : ['program', 'program_id', fromWireId('prog', program_id)];
    await change({ in: { daily_count: 9 } });
    await client.query(
      `update ${row[0]} set ${field} = '{"in":{"hourly_count":7,"daily_count":9}}' where ${row[1]} = $1`,
      [row[2]],
    );
    expect(await change({ in: { daily_count: null } })).toEqual({ in: { hourly_count: 7 } });
    expect(await change({ out: { daily_count: 5 } })).toEqual({ in: { hourly_count: 7 }, out: { daily_count: 5 } });
    expect(await change({ in: null })).toEqual({ out: { daily_count: 5 } });
    expect(await change(null)).toBe(null);
  },
);

describe('a lost commit of update_card', () => {
  const update = (cardId: string, members: object, milliseconds?: number) =>
    ledger
      .call('update_card', members, {
        ...aboutCard(cardId),
        ...(milliseconds !== undefined && { deadline: performance.now() + milliseconds }),
      })
      .catch((error: unknown) => error);

  test('changes nothing and moves no money if the connection fails just before COMMIT', async () => {
    const cardId = await newCard(70);
    proxy.faults.push('cut_before');
    const failed = await update(cardId, SWEEP);
    expect(failed).toBeInstanceOf(OperationFailure);
    expect(failed).toMatchObject({ moneyMoved: 'no' });
    expect(await cardOf(cardId)).toMatchObject({ status: 'active', balance: 70 });
  });

  test('closes the card and returns it if the connection fails just after COMMIT', async () => {
    const cardId = await newCard(70);
    proxy.faults.push('cut_after');
    expect(await update(cardId, SWEEP)).toMatchObject({ status: 200, body: JSON.stringify(await cardOf(cardId)) });
    expect(await cardOf(cardId)).toMatchObject({ status: 'closed', balance: 0 });
    expect((await transfersOf(cardId)).length).toBe(2);
  });

  /** Runs a function while the fence is locked, so that no process can settle a commit. */
  async function inDoubt<Result>(run: () => Promise<Result>): Promise<Result> {
    const stranger = await connect(server.connection);
    try {
      proxy.faults.push('orphan');
      await stranger.query('begin');
      await stranger.query('lock table write_batch in exclusive mode');
      return await run();
    } finally {
      await stranger.query('rollback');
      await stranger.end();
    }
  }

  test("reports an unknown outcome with the transfer's id if no process can settle it", async () => {
    const cardId = await newCard(70);
    const failed = await inDoubt(() => update(cardId, SWEEP, 5000));
    expect(failed).toBeInstanceOf(OperationFailure);
    expect(failed).toMatchObject({ moneyMoved: 'unknown', transferId: expect.stringMatching(/^tr_[0-9a-f]{32}$/) });
    const { transferId } = failed as OperationFailure;
    // The server may still be executing the first request. A repeated request ends it in either case.
    expect(await update(cardId, SWEEP)).toMatchObject({ status: 200 });
    const found = await witness.call('get_transfer', {}, { params: { transfer_id: transferId ?? '' } }).then(
      (reply) => bodyOf<TransferRecord>(reply),
      () => undefined,
    );
    const sweeps = (await transfersOf(cardId)).filter(({ type }) => type === 'unload');
    expect(sweeps.length).toBe(1);
    expect(found === undefined || found.transfer_id === sweeps[0]?.transfer_id).toBe(true);
  });

  test.each([
    ['a change that moves no money', { status: 'inactive' }],
    ['closing an empty card', SWEEP],
  ])('reports that no money has moved if the change is %s and no process can settle it', async (_what, change) => {
    const cardId = await newCard();
    const failed = await inDoubt(() => update(cardId, change, 5000));
    expect(failed).toBeInstanceOf(OperationFailure);
    expect(failed).toMatchObject({ moneyMoved: 'no', transferId: undefined });
    expect(await update(cardId, change)).toMatchObject({ status: 200 });
  });
});

describe('a lock of another transaction', () => {
  test('delays a change of its card until the service reports that it is busy', async () => {
    const cardId = await newCard(5);
    const stranger = await connect(server.connection);
    try {
      await stranger.query('begin');
      await stranger.query(
        'select from account where account_id = (select account_id from card where name = $1) for no key update',
        [cardId],
      );
      const failed = await witness
        .call('update_card', { status: 'lost' }, { ...aboutCard(cardId), deadline: performance.now() + 700 })
        .catch((error: unknown) => error);
      expect(failed).toMatchObject({ busy: true, moneyMoved: 'no' });
      // The card's limits can still be read.
      const limits = bodyOf<CardLimitsRecord>(await witness.call('get_card_limits', {}, aboutCard(cardId)));
      expect(limits.out.most).toBe(5);
    } finally {
      await stranger.query('rollback');
      await stranger.end();
    }
    expect(await witness.call('update_card', { status: 'lost' }, aboutCard(cardId))).toMatchObject({ status: 200 });
  });

  test('makes a transfer that waited for a change of the card use the changed card', async () => {
    for (let round = 0; round < 20; round += 1) {
      const cardId = await newCard();
      const limits = { in: { daily_count: 1 } };
      await witness.call('create_transfer', { amount: 1, card_id: cardId });
      const changed = witness.call('update_card', { limits }, aboutCard(cardId));
      const load = witness.call('create_transfer', { amount: 1, card_id: cardId });
      const loaded = await load.then(bodyOf<TransferRecord>, () => undefined);
      const { updated_at } = bodyOf<CardRecord>(await changed);
      if (loaded !== undefined) expect(loaded.created_at <= updated_at).toBe(true);
    }
  });

  test("keeps the clock and a program's limits unchanged during a decision", async () => {
    const about = { params: { program_id: 'prog_019000000000700080000000000000de' } };
    const call = (operation: 'move_clock' | 'update_program', members: object, more: Partial<AnyCall> = about) =>
      witness.call(operation, members, more).then(
        ({ status }) => status,
        ({ busy }: OperationFailure) => (busy ? 'busy' : 'failed'),
      );
    /** The first three changes wait at most this long, and the last one does not wait. */
    const changes = async (milliseconds: number) => {
      const brief = () => ({ ...about, deadline: performance.now() + milliseconds });
      return [
        await call('move_clock', { seconds_ahead: 0 }, brief()),
        await call('update_program', { limits: {} }, brief()),
        await call('update_program', { card_limits: {} }, brief()),
        await call('update_program', { name: 'Demo program' }),
      ];
    };
    const stranger = await connect(server.connection);
    try {
      await stranger.query('begin');
      // Every transaction that makes a decision takes this lock.
      await stranger.query('select pg_advisory_xact_lock_shared(7201, 1)');
      expect(await changes(700)).toEqual(['busy', 'busy', 'busy', 200]);
    } finally {
      await stranger.query('rollback');
      await stranger.end();
    }
    expect(await changes(240_000)).toEqual([200, 200, 200, 200]);
  });

  test('lets limits and balance be read at the same moment', async () => {
    await moveToNoon(witness);
    const cardId = await newCard();
    await witness.call('update_card', { limits: { in: { daily_amount: 5000, daily_count: 5000 } } }, aboutCard(cardId));
    let loading = true;
    let reads = 0;
    const loads = Promise.all(
      Array.from({ length: 8 }, async () => {
        // Continues until a few reads have succeeded, but makes at most 1,600 loads. If it needs more, a read has
        // failed.
        for (let count = 0; count < (reads > 3 ? 40 : 200); count += 1)
          await witness.call('create_transfer', { amount: 3, card_id: cardId });
      }),
    ).finally(() => {
      loading = false;
    });
    while (loading) {
      const { balance, in: into } = bodyOf<CardLimitsRecord>(
        await witness.call('get_card_limits', {}, aboutCard(cardId)),
      );
      expect(into.limits.map(({ used }) => used)).toEqual([balance, balance / 3]);
      expect(into.most).toBe(5000 - balance);
      reads += 1;
    }
    await loads;
    expect(reads).toBeGreaterThan(3);
  });
});
