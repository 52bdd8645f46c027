import { randomUUID } from 'node:crypto';
import { rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TransferBatchOutcomes, TransferRecord } from '../../contract/transfers.ts';
import { OperationFailure } from '../../server/calls/call.ts';
import type { WrittenReply } from '../../server/http/wire/reply.ts';
import { type ConnectionSettings, REQUESTS } from '../../server/store/connection/connections.ts';
import { KEY_TEXT, type Ledger, openLedger, trialBalance } from '../harness/ledger.ts';
import { temporaryDirectory, waitFor } from '../harness/process.ts';
import { type Pair, startPair } from '../harness/standby.ts';
import { relayOnce } from '../store/events/relayed.ts';

const CARD = { amount: 100, card_id: 'card_active' };
/** The same transfer as a row of a batch. */
const CARD_AS_SENT = { amount: '100', card_id: 'card_active' };
const PROGRAM = { program_id: 'prog_019000000000700080000000000000de' };

let pair: Pair;
let ledger: Ledger;

/** Opens a ledger with the time limits of a service process. Those limits end a wait for the standby. */
const open = (connection: ConnectionSettings) => openLedger(connection, undefined, undefined, REQUESTS);

beforeAll(async () => {
  pair = await startPair();
  ledger = open(pair.primary.connection);
});

afterAll(async () => {
  await ledger.close();
  await pair.stop();
});

const send = (idempotencyKey: string, deadline = performance.now() + 60_000): Promise<WrittenReply> =>
  ledger.call('create_transfer', CARD, { idempotencyKey, deadline });

const idOf = ({ body }: WrittenReply): string => (JSON.parse(body) as TransferRecord).transfer_id;

async function failureOf(call: Promise<WrittenReply>): Promise<OperationFailure> {
  const thrown = await call.then(
    (reply) => new Error(`the call succeeded: ${JSON.stringify(reply)}`),
    (error: unknown) => error,
  );
  if (thrown instanceof OperationFailure) return thrown;
  throw thrown;
}

const sendBatch = (transfers: readonly unknown[]): Promise<WrittenReply> =>
  ledger.call('create_transfer_batch', { transfers }, { deadline: performance.now() + 60_000 });

/** The name of PostgreSQL's socket in its directory. */
const SOCKET = '.s.PGSQL.5432';

/**
 * The deadline of a call that is expected to time out, in milliseconds. It leaves enough time for the call's earlier
 * steps on a busy machine.
 */
const BRIEF = 5000;
const brief = (): { readonly deadline: number } => ({ deadline: performance.now() + BRIEF });

describe('with a synchronous standby', () => {
  test('transfers, replays and look-ups succeed while it is available', async () => {
    const key = randomUUID();
    const first = await send(key);
    const again = await send(key);
    expect(again).toMatchObject({ status: 201, body: first.body, replayed: true });
    const found = await ledger.call('list_transfers', { idempotency_key: key });
    expect(JSON.parse(found.body)).toMatchObject({ data: [{ transfer_id: idOf(first) }] });
    const read = await ledger.call('get_transfer', {}, { params: { transfer_id: idOf(first) } });
    expect(idOf(read)).toBe(idOf(first));
  });

  test('transfers and concurrent replays have an unknown outcome if an administrator cancels the wait', async () => {
    const [before, ...others] = Array.from({ length: 4 }, () => randomUUID());
    const made = [{ ...CARD_AS_SENT, idempotency_key: before }];
    await sendBatch(made);
    await pair.takeAway();
    let isOver = false;
    const ending = waitFor('the response to the batch', async () => {
      await pair.endWaits();
      return isOver;
    });
    // The first transfer commits alone, and the others commit in one group.
    const keys = [others[0], before, others[1], before];
    const transfers = keys.map((idempotency_key) => ({ ...CARD_AS_SENT, idempotency_key }));
    const { body } = await sendBatch(transfers);
    isOver = true;
    await ending;
    const { data } = JSON.parse(body) as TransferBatchOutcomes;
    expect(data.map(({ status, money_moved }) => [status, money_moved])).toEqual(keys.map(() => [500, 'unknown']));
    await pair.bringBack();
    const again = await sendBatch(transfers);
    const replays = (JSON.parse(again.body) as TransferBatchOutcomes).data;
    expect(replays.map(({ status, replayed }) => [status, replayed])).toEqual(keys.map(() => [201, true]));
  });

  test('events that an unavailable standby may not have are hidden', async () => {
    /**
     * Runs the relay, which makes events visible. While the standby is unavailable, the relay's own commit also waits,
     * so the test ends that wait.
     */
    const relay = async (): Promise<void> => {
      let isOver = false;
      const ending = waitFor('the commit of the relay', async () => {
        await pair.endWaits();
        return isOver;
      });
      await relayOnce(ledger.database).finally(() => {
        isOver = true;
      });
      await ending;
    };
    const readAfter = async (after: number) =>
      JSON.parse((await ledger.call('list_events', { after, limit: 100 })).body) as {
        data: object[];
        position: number;
      };
    await send(randomUUID());
    await relay();
    const { data, position } = await readAfter(0);
    expect(data.length).toBeGreaterThan(0);
    await pair.takeAway();
    const lost = failureOf(send(randomUUID(), performance.now() + BRIEF));
    await waitFor('COMMIT to wait for the standby', async () => (await pair.commitsWaiting()) > 0);
    await relay();
    await lost;
    await relay();
    expect((await failureOf(ledger.call('list_events', { after: position }))).message).toContain(
      'a failover may still undo the result',
    );
    await failureOf(ledger.call('list_events', { limit: 1 }));
    await pair.bringBack();
    await waitFor('the event of the lost transfer', async () => (await readAfter(position)).data.length === 1);
  });

  test('a transfer is acknowledged only when the standby has it, even after the primary crashes', async () => {
    const key = randomUUID();
    const deposit = { idempotencyKey: randomUUID(), params: PROGRAM };
    await ledger.call('create_deposit', { amount: 7 }, deposit);
    const held = await ledger.call('create_transfer', { ...CARD, capture: 'manual' });
    const capture = { idempotencyKey: randomUUID(), params: { transfer_id: idOf(held) } };
    await ledger.call('capture_transfer', {}, capture);
    await pair.takeAway();
    let settled = false;
    // This is enough time for a crash and the return of the standby on a busy machine.
    const lost = send(key, performance.now() + 200_000).finally(() => {
      settled = true;
    });
    lost.catch(() => undefined);
    await waitFor('COMMIT to wait for the standby', async () => (await pair.commitsWaiting()) > 0);
    await pair.crash();

    // Recovery has made the transfer visible, but only on this server.
    const [{ transfer_id: transferId } = { transfer_id: '' }] = await pair.ask<{ transfer_id: string }>(
      `select 'tr_' || replace(subject_id::text, '-', '') as transfer_id from idempotency where ${KEY_TEXT} = $1`,
      [key],
    );
    const replays = await Promise.all([
      failureOf(send(key, performance.now() + BRIEF)),
      failureOf(ledger.call('create_deposit', { amount: 7 }, { ...deposit, ...brief() })),
      failureOf(ledger.call('capture_transfer', {}, { ...capture, ...brief() })),
    ]);
    expect(replays.map(({ moneyMoved }) => moneyMoved)).toEqual(['unknown', 'unknown', 'unknown']);
    expect(replays.map((failure) => failure.transferId)).toEqual([transferId, undefined, idOf(held)]);
    const looks = await Promise.all([
      failureOf(ledger.call('list_transfers', { idempotency_key: key }, brief())),
      failureOf(ledger.call('get_transfer', {}, { params: { transfer_id: transferId }, ...brief() })),
    ]);
    expect(looks.map(({ busy }) => busy)).toEqual([false, false]);
    // These requests ended at their own deadlines. The first request has a longer deadline and is still waiting for the
    // same outcome.
    expect(settled).toBe(false);

    await pair.bringBack();
    const first = await lost;
    expect(idOf(first)).toBe(transferId);
    expect(await send(key)).toMatchObject({ status: 201, body: first.body, replayed: true });
    await pair.promote();
    const promoted = open(pair.standby.connection);
    try {
      const found = await promoted.call('get_transfer', {}, { params: { transfer_id: transferId } });
      expect(idOf(found)).toBe(transferId);
      expect(await trialBalance(promoted)).toMatchObject({ balanced: true });
    } finally {
      await promoted.close();
    }
  });

  test('a promoted standby does not confirm commits of the old primary', async () => {
    const key = randomUUID();
    const address = await temporaryDirectory();
    const leadTo = async (host: string): Promise<void> => {
      await symlink(join(host, SOCKET), join(address.path, 'next'));
      await rename(join(address.path, 'next'), join(address.path, SOCKET));
    };
    await leadTo(pair.primary.connection.host);
    const follower = open({ ...pair.primary.connection, host: address.path });
    const ask = (deadline: number): Promise<WrittenReply> =>
      follower.call('create_transfer', CARD, { idempotencyKey: key, deadline });
    try {
      // The previous test promoted the standby, so no standby acknowledges the old primary's commits.
      const lost = failureOf(ask(performance.now() + 60_000));
      await waitFor('COMMIT to wait for the standby', async () => (await pair.commitsWaiting()) > 0);
      await pair.endWaits();
      expect(await lost).toMatchObject({ moneyMoved: 'unknown' });
      // Leaves a connection open to the old primary, which has the transfer.
      expect(await failureOf(ask(performance.now() + BRIEF))).toMatchObject({ moneyMoved: 'unknown' });
      await leadTo(pair.standby.connection.host);
      await waitFor('the end of the connections for barriers', async () => {
        const closed = await pair.ask(
          `select pg_terminate_backend(pid) from pg_stat_activity
            where query like 'do %' and query like '%barrier%' and pid <> pg_backend_pid()`,
          [],
        );
        return closed.length === 0;
      });

      expect(await failureOf(ask(performance.now() + 60_000))).toMatchObject({ moneyMoved: 'unknown' });
      // Every connection now goes to the new primary, where a request with the same key creates the transfer.
      const made = await ask(performance.now() + 60_000);
      expect(made).toMatchObject({ status: 201 });
      expect(made).not.toMatchObject({ replayed: true });
      expect(await ask(performance.now() + 60_000)).toMatchObject({ body: made.body, replayed: true });
    } finally {
      await follower.close();
      await address.remove();
    }
  });
});
