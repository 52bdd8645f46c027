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
/** Talks to PostgreSQL through the proxy. */
const ledger = useLedger({ ...server.connection, host: proxy.host });
/** Talks to it directly. */
const witness = useLedger(server.connection);

checkBalances(witness);

async function transfersOf(idempotencyKey: string): Promise<number> {
  const { body } = await witness.call('list_transfers', { idempotency_key: idempotencyKey });
  return (JSON.parse(body) as { data: object[] }).data.length;
}

/** What a caller is told about money: `made`, or what a failure says of it. */
function answerOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'made',
    (error: unknown) => (error instanceof OperationFailure ? error.moneyMoved : String(error)),
  );
}

const body = { amount: 1, card_id: 'card_active' };

test('a transfer is two round trips, whatever it needs', async () => {
  const send = () =>
    ledger.call('create_transfer', { ...body, reference: randomUUID() }, { idempotencyKey: randomUUID() });
  await send();
  const before = proxy.turns();
  for (let count = 0; count < 10; count += 1) await send();
  // Each has two turns: the load after the last answer of the transfer before it, and the save after the load.
  expect(proxy.turns() - before).toBe(20);
});

test('so is a replay, and a look-up is one, where no standby is waited for', async () => {
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
  test('just before COMMIT: nothing was made, and the answer says so', async () => {
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

  test('just after COMMIT: the transfer was made, and the answer is its 201', async () => {
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

  test('while the server goes on alone: the answer is what came of it', async () => {
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

  test('in the middle of groups: every answer is true', async () => {
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

  test('in a deposit is settled as well', async () => {
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

  test('after it was: the answer is the first, and a retry finds it stored', async () => {
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

  test('before it was: nothing was done, and a retry does it', async () => {
    const idempotencyKey = randomUUID();
    proxy.faults.push('cut_before');
    const failed = await ledger.call(operation, members, { idempotencyKey }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(OperationFailure);
    expect(await ledger.call(operation, members, { idempotencyKey })).toMatchObject({ status });
  });
});

describe('a statement of its own', () => {
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

  test('that writes is refused where only a read is allowed', async () => {
    const id = randomUUID();
    await expect(witness.database.read(store(id))).rejects.toMatchObject({ sqlState: '25006' });
    await expect(witness.database.forProgram(randomUUID()).read(store(id))).rejects.toMatchObject({
      sqlState: '25006',
    });
    expect(await isStored(id)).toBe(false);
  });

  test('that writes is one round trip, with its fence or without', async () => {
    for (const write of ['write', 'writeUnguarded'] as const) {
      await ledger.database[write](store(randomUUID()));
      const before = proxy.turns();
      for (let count = 0; count < 10; count += 1) await ledger.database[write](store(randomUUID()));
      expect(proxy.turns() - before, write).toBe(10);
    }
  });

  test('whose connection is cut is written once, or its failure says that this is not known', async () => {
    const [lost, done] = [randomUUID(), randomUUID()];
    proxy.faults.push('cut_before');
    expect(await ledger.database.write(store(lost))).toHaveLength(1);
    proxy.faults.push('cut_after');
    await expect(ledger.database.write(store(done))).rejects.toBeInstanceOf(CommitUnknown);
    expect([await isStored(lost), await isStored(done)]).toEqual([true, true]);
    expect(await ledger.database.write(store(done))).toEqual([]);
  });
});

describe('a commit whose client has gone', () => {
  test('and that still waits for a lock is not taken for undone', async () => {
    const stranger = await connect(server.connection);
    const idempotencyKey = randomUUID();
    try {
      await stranger.query('begin');
      // The last insert before COMMIT has to wait, with COMMIT behind it on the wire already.
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

  test('is called unknown when the deadline comes first, and the look-up by key tells later', async () => {
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

  test('can never commit once it was given up: the same batch id is refused', async () => {
    const batchId = randomUUID();
    expect(await witness.database.settle(batchId, performance.now() + 240_000)).toBe('abandoned');
    const late = witness.database.transact({
      batchId,
      load: {},
      decide: () => ({ result: undefined, writes: [{ name: 'nothing', text: 'select 1', values: [] }] }),
    });
    await expect(late).rejects.toMatchObject({ sqlState: '23505' });
  });

  test('is found committed when it has committed', async () => {
    const batchId = randomUUID();
    await witness.database.transact({
      batchId,
      load: {},
      decide: () => ({ result: undefined, writes: [{ name: 'nothing', text: 'select 1', values: [] }] }),
    });
    expect(await witness.database.settle(batchId, performance.now() + 240_000)).toBe('committed');
  });
});

describe('a database that has gone', () => {
  test('is not noticed where only idle connections were cut, however many there were', async () => {
    await Promise.all(Array.from({ length: 6 }, () => ledger.call('create_card')));
    proxy.cutAll();
    expect((await ledger.call('create_card')).status).toBe(201);
  });

  test('is answered at once, with no money moved, and back at work as soon as it is back', async () => {
    await server.embedded.pause();
    try {
      const failed: unknown = await ledger.call('create_transfer', body).catch((error: unknown) => error);
      expect(failed).toMatchObject({ busy: false, moneyMoved: 'no' });
      // The operating system's word is what ended it, and not a time limit that ran out.
      const causes = inspect(failed, { depth: 9 });
      expect(causes).toMatch(/ECONNRESET|ECONNREFUSED|ENOENT|EPIPE/);
      expect(causes).not.toMatch(/time-?out|in time/i);
    } finally {
      await server.embedded.resume();
    }
    expect((await ledger.call('create_transfer', body)).status).toBe(201);
  });
});
