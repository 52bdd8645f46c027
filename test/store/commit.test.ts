import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { OperationFailure } from '../../server/calls/call.ts';
import { CommitUnknown } from '../../server/store/connection/failure.ts';
import { insertNotice } from '../../server/store/processors/notices.ts';
import { connect } from '../harness/ledger.ts';
import { checkBalances, useLedger, useProxy, useServer } from '../harness/use-ledger.ts';

const server = await useServer({ apart: 'It stops PostgreSQL.' });
const proxy = await useProxy(server);
/** Connects to PostgreSQL through the proxy. */
const ledger = useLedger({ ...server.connection, host: proxy.host });
/** Connects directly. */
const witness = useLedger(server.connection);

checkBalances(witness);

async function transfersOf(idempotencyKey: string): Promise<number> {
  const { body } = await witness.call('list_transfers', { idempotency_key: idempotencyKey });
  return (JSON.parse(body) as { data: object[] }).data.length;
}

/** Returns the outcome that the caller sees: `made`, or `money_moved` of the failure. */
function answerOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'made',
    (error: unknown) => (error instanceof OperationFailure ? error.moneyMoved : String(error)),
  );
}

const body = { amount: 1, card_id: 'card_active' };

test('a transfer takes two round trips, however many reads it needs', async () => {
  const send = () =>
    ledger.call('create_transfer', { ...body, reference: randomUUID() }, { idempotencyKey: randomUUID() });
  await send();
  const before = proxy.turns();
  for (let count = 0; count < 10; count += 1) await send();
  // Each transfer has two round trips: the load after the previous response, and the save after the load.
  expect(proxy.turns() - before).toBe(20);
});

test('a replay takes two round trips, and a look-up takes one if the service does not wait for a standby', async () => {
  const idempotencyKey = randomUUID();
  const { body: made } = await ledger.call('create_transfer', body, { idempotencyKey });
  const { transfer_id } = JSON.parse(made) as { readonly transfer_id: string };
  const turnsOf = async (call: () => Promise<unknown>): Promise<number> => {
    await call();
    const before = proxy.turns();
    for (let count = 0; count < 10; count += 1) await call();
    return proxy.turns() - before;
  };
  expect(await turnsOf(() => ledger.call('create_transfer', body, { idempotencyKey }))).toBe(20);
  expect(await turnsOf(() => ledger.call('get_transfer', {}, { params: { transfer_id } }))).toBe(10);
  expect(await turnsOf(() => ledger.call('list_transfers', { idempotency_key: idempotencyKey }))).toBe(10);
});

describe('a connection that is cut', () => {
  test('just before COMMIT creates nothing, and the response reports this', async () => {
    for (let round = 0; round < 50; round += 1) {
      const idempotencyKey = randomUUID();
      proxy.faults.push('cut_before');
      const failed = await ledger.call('create_transfer', body, { idempotencyKey }).catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(OperationFailure);
      expect(failed).toMatchObject({ moneyMoved: 'no' });
      expect(await transfersOf(idempotencyKey)).toBe(0);
      expect((await ledger.call('create_transfer', body, { idempotencyKey })).replayed).toBeUndefined();
    }
  });

  test('just after COMMIT creates the transfer, and the response is its 201', async () => {
    for (let round = 0; round < 50; round += 1) {
      const idempotencyKey = randomUUID();
      proxy.faults.push('cut_after');
      const reply = await ledger.call('create_transfer', body, { idempotencyKey });
      expect(reply.status).toBe(201);
      expect(await transfersOf(idempotencyKey)).toBe(1);
      const again = await ledger.call('create_transfer', body, { idempotencyKey });
      expect(again).toMatchObject({ replayed: true, body: reply.body });
    }
  });

  test('has the correct outcome in its response if the server continues without a client', async () => {
    const answers = new Set<string>();
    for (let round = 0; round < 50; round += 1) {
      const idempotencyKey = randomUUID();
      proxy.faults.push('orphan');
      const answer = await answerOf(ledger.call('create_transfer', body, { idempotencyKey }));
      expect(await transfersOf(idempotencyKey)).toBe(answer === 'made' ? 1 : 0);
      answers.add(answer);
    }
    for (const answer of answers) expect(['made', 'no']).toContain(answer);
  });

  test('in the middle of groups leads only to correct responses', async () => {
    for (let round = 0; round < 20; round += 1) {
      proxy.faults.push((['cut_before', 'cut_after', 'orphan'] as const)[round % 3] ?? 'orphan');
      const keys = Array.from({ length: 40 }, () => randomUUID());
      const answers = await Promise.all(
        keys.map((idempotencyKey) => answerOf(ledger.call('create_transfer', body, { idempotencyKey }))),
      );
      for (const [index, answer] of answers.entries()) {
        expect(['made', 'no']).toContain(answer);
        expect(await transfersOf(keys[index] ?? '')).toBe(answer === 'made' ? 1 : 0);
      }
      proxy.faults.length = 0;
    }
  });

  test('also leads to only one deposit', async () => {
    const params = { program_id: 'prog_019000000000700080000000000000de' };
    const idempotencyKey = randomUUID();
    proxy.faults.push('cut_after');
    const reply = await ledger.call('create_deposit', { amount: 7 }, { params, idempotencyKey });
    expect(reply.status).toBe(201);
    const again = await witness.call('create_deposit', { amount: 7 }, { params, idempotencyKey });
    expect(again).toMatchObject({ replayed: true, body: reply.body });
  });
});

describe.each([
  ['create_card', {}],
  ['create_program', { name: 'Gifts', currency: 'USD' }],
  ['create_key', { name: 'shop', scopes: ['cards:read'], all_programs: true }],
  ['change_switch', { disabled: false }],
] as const)('a connection that is cut while %s is committed', (operation, members) => {
  const status = operation === 'change_switch' ? 200 : 201;

  test('returns the first response after the commit, and a retry replays it', async () => {
    const idempotencyKey = randomUUID();
    proxy.faults.push('cut_after');
    const reply = await ledger.call(operation, members, { idempotencyKey });
    expect([reply.status, reply.replayed]).toEqual([status, undefined]);
    const again = await witness.call(operation, members, { idempotencyKey });
    expect([again.status, again.replayed, again.location]).toEqual([status, true, reply.location]);
    const { key, key_omitted, ...rest } = JSON.parse(reply.body) as Record<string, unknown>;
    expect(JSON.parse(again.body)).toMatchObject(rest);
    if (operation !== 'create_key') return;
    expect([typeof key, key_omitted]).toEqual(['string', null]);
    expect(JSON.parse(again.body)).toMatchObject({ key: null, key_omitted: expect.any(String) });
  });

  test('before the commit changes nothing, and a retry succeeds', async () => {
    const idempotencyKey = randomUUID();
    proxy.faults.push('cut_before');
    const failed = await ledger.call(operation, members, { idempotencyKey }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(OperationFailure);
    expect(await ledger.call(operation, members, { idempotencyKey })).toMatchObject({ status });
  });
});

describe('a single statement', () => {
  const NOTICE = { attempt_id: 'pat_1', status: 'approved', amount: 1, currency: 'USD' } as const;
  const store = (noticeId: string) =>
    insertNotice({ connectorId: 'simulator', noticeId, sentAttemptId: null, body: NOTICE });
  const isStored = async (noticeId: string): Promise<boolean> => {
    const found = {
      name: 'find_notice',
      text: 'select from processor_notice where notice_id = $1',
      values: [noticeId],
    };
    return (await witness.database.read(found)).length > 0;
  };

  test('is refused if it writes where only reads are allowed', async () => {
    const id = randomUUID();
    await expect(witness.database.read(store(id))).rejects.toMatchObject({ sqlState: '25006' });
    await expect(witness.database.forProgram(randomUUID()).read(store(id))).rejects.toMatchObject({
      sqlState: '25006',
    });
    expect(await isStored(id)).toBe(false);
  });

  test('takes one round trip if it writes, with and without a fence', async () => {
    for (const write of ['write', 'writeUnguarded'] as const) {
      await ledger.database[write](store(randomUUID()));
      const before = proxy.turns();
      for (let count = 0; count < 10; count += 1) await ledger.database[write](store(randomUUID()));
      expect(proxy.turns() - before, write).toBe(10);
    }
  });

  test('is written once, or fails as unknown, if its connection is cut', async () => {
    const [lost, done] = [randomUUID(), randomUUID()];
    proxy.faults.push('cut_before');
    expect(await ledger.database.write(store(lost))).toHaveLength(1);
    proxy.faults.push('cut_after');
    await expect(ledger.database.write(store(done))).rejects.toBeInstanceOf(CommitUnknown);
    expect([await isStored(lost), await isStored(done)]).toEqual([true, true]);
    expect(await ledger.database.write(store(done))).toEqual([]);
  });
});

describe('a commit whose client has disconnected', () => {
  test('does not count as rolled back while it waits for a lock', async () => {
    const stranger = await connect(server.connection);
    const idempotencyKey = randomUUID();
    try {
      await stranger.query('begin');
      // The last insert has to wait, although COMMIT was already sent.
      await stranger.query('lock table idempotency in share mode');
      proxy.faults.push('orphan');
      const answer = answerOf(ledger.call('create_transfer', body, { idempotencyKey }));
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(await transfersOf(idempotencyKey)).toBe(0);
      await stranger.query('rollback');
      const settled = await answer;
      expect(await transfersOf(idempotencyKey)).toBe(settled === 'made' ? 1 : 0);
      expect(['made', 'no']).toContain(settled);
    } finally {
      await stranger.end();
    }
  });

  test('is reported as unknown at the deadline, and a look-up by key finds the outcome later', async () => {
    const stranger = await connect(server.connection);
    const idempotencyKey = randomUUID();
    try {
      proxy.faults.push('orphan');
      await stranger.query('begin');
      await stranger.query('lock table write_batch in exclusive mode');
      const failed = await ledger
        .call('create_transfer', body, { idempotencyKey, deadline: performance.now() + 5000 })
        .catch((error: unknown) => error);
      expect(failed).toBeInstanceOf(OperationFailure);
      expect(failed).toMatchObject({ transferId: expect.stringMatching(/^tr_[0-9a-f]{32}$/), moneyMoved: 'unknown' });
    } finally {
      await stranger.query('rollback');
      await stranger.end();
    }
    expect([0, 1]).toContain(await transfersOf(idempotencyKey));
  });

  test('can never succeed after it was abandoned, because its batch id is refused', async () => {
    const batchId = randomUUID();
    expect(await witness.database.settle(batchId, performance.now() + 240_000)).toBe('abandoned');
    const late = witness.database.transact({
      batchId,
      load: {},
      decide: () => ({ result: undefined, writes: [{ name: 'nothing', text: 'select 1', values: [] }] }),
    });
    await expect(late).rejects.toMatchObject({ sqlState: '23505' });
  });

  test('is found if it was committed', async () => {
    const batchId = randomUUID();
    await witness.database.transact({
      batchId,
      load: {},
      decide: () => ({ result: undefined, writes: [{ name: 'nothing', text: 'select 1', values: [] }] }),
    });
    expect(await witness.database.settle(batchId, performance.now() + 240_000)).toBe('committed');
  });
});

describe('a database that stops', () => {
  test('goes unnoticed if only idle connections were cut, even several of them', async () => {
    await Promise.all(Array.from({ length: 6 }, () => ledger.call('create_card')));
    proxy.cutAll();
    expect((await ledger.call('create_card')).status).toBe(201);
  });

  test('is reported immediately, with no money moved, and the service works again as soon as the database is back', async () => {
    await server.embedded.pause();
    try {
      const failed: unknown = await ledger.call('create_transfer', body).catch((error: unknown) => error);
      expect(failed).toMatchObject({ busy: false, moneyMoved: 'no' });
      // The request ended with an operating system error, not because of a time limit.
      const causes = inspect(failed, { depth: 9 });
      expect(causes).toMatch(/ECONNRESET|ECONNREFUSED|ENOENT|EPIPE/);
      expect(causes).not.toMatch(/time-?out|in time/i);
    } finally {
      await server.embedded.resume();
    }
    expect((await ledger.call('create_transfer', body)).status).toBe(201);
  });
});
