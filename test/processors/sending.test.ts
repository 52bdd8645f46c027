import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startInVain, waitFor } from '../harness/process.ts';
import { Stage } from './stage.ts';
import { type End, hold, Trial } from './trial.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage?.end());

const COMPLETED: readonly End[] = ['completed, executed 1'];

/**
 * Creates transfers whose attempts a process is about to claim. The process waits at that point until the gates open.
 */
async function createUnclaimed(trial: Trial): Promise<void> {
  await trial.prepare();
  await stage.gates.close('claim', trial.connectorId);
  await trial.create();
  await stage.gates.untilWaiting('claim', trial.connectorId);
}

/** Finds open transactions of the service that are waiting for nothing. */
const IDLE_IN_TRANSACTION = `select from pg_stat_activity where state = 'idle in transaction' and pid <> pg_backend_pid()`;

test('a slow connector delays no other connector, gets at most max_in_flight calls, and keeps no transaction open', async () => {
  const { held, release } = hold();
  const slow = new Trial(stage, 'narrow_0');
  try {
    await slow.prepare(() => ({ executes: true, reply: 'answer', until: held }));
    const calls = stage.processor.watch(slow.cardIds);
    for (let pair = 0; pair < 5; pair += 1) await slow.create();
    await waitFor('two calls', async () => calls.open === 2);
    const other = new Trial(stage, 'inquired_0');
    await other.begin();
    for (const id of other.transferIds) expect((await stage.untilEnded(id)).status).toBe('completed');
    // At most two calls run at the same time, even if a call ended without an answer and the next one began.
    expect(calls.most).toBe(2);
    await waitFor('no open transaction', async () => (await stage.query(IDLE_IN_TRANSACTION)).length === 0);
  } finally {
    release();
  }
  await slow.check(COMPLETED);
});

test('the status of the card is checked again before anything is sent', async () => {
  const [suspended, lost] = [new Trial(stage, 'inquired_1'), new Trial(stage, 'inquired_1')];
  await lost.prepare();
  await createUnclaimed(suspended);
  await lost.create();
  const { client } = stage.service;
  for (const id of suspended.cardIds) await client.cards.update(id, { status: 'inactive' });
  for (const id of lost.cardIds) await client.cards.update(id, { status: 'lost' });
  await stage.killService();
  await stage.gates.release();
  await stage.start();
  const [load = '', unload = ''] = lost.transferIds;
  for (const id of [...suspended.transferIds, load]) {
    const Code = id === load ? 'card_lost' : 'card_suspended';
    expect(await stage.untilEnded(id)).toMatchObject({ status: 'failed', error: { Code } });
    expect(stage.processor.about(id)).toEqual([]);
  }
  // The balance of a lost card can be moved elsewhere.
  expect(await stage.untilEnded(unload)).toMatchObject({ status: 'completed' });
  await suspended.check(['failed, executed 0']);
  await lost.check(['failed, executed 0', 'completed, executed 1']);
});

test('a connector without valid answers gets no new orders until its health check succeeds', async () => {
  const trial = new Trial(stage, 'inquired_2');
  const waiting = new Trial(stage, 'inquired_2');
  stage.processor.isHealthy = false;
  // A successful inquiry would end the series of bad answers.
  await trial.begin(() => ({ executes: true, reply: stage.processor.isHealthy ? 'answer' : 'error' }));
  for (let more = 0; more < 3; more += 1) await trial.create();
  const open = "select from connector_state where connector_id = 'inquired_2' and opened_at is not null";
  await waitFor('the breaker to open', async () => (await stage.query(open)).length > 0);
  await waiting.begin();
  // Some orders of the first trial may also be held.
  const held = `select from processor_attempt where status = 'ready' and looks > 0
    and 'tr_' || replace(transfer_id::text, '-', '') = any ($1)`;
  await waitFor('both to be held', async () => (await stage.query(held, [waiting.transferIds])).length === 2);
  for (const id of waiting.transferIds) expect(stage.processor.about(id)).toEqual([]);
  stage.processor.isHealthy = true;
  await waiting.check(COMPLETED);
  await trial.check(COMPLETED);
});

describe('while an operator has disabled a connector', () => {
  const change = (connector_id: string, disabled: boolean) =>
    stage.service.client.switch.change({ connector_id, disabled, reason: 'fraud' });
  const looked = async (trial: Trial) =>
    stage.query(
      `select status, looks from processor_attempt where 'tr_' || replace(transfer_id::text, '-', '') = any ($1)`,
      [trial.transferIds],
    );

  test('unsent orders are held, then sent once the connector is enabled, and other connectors are not delayed', async () => {
    const trial = new Trial(stage, 'inquired_7');
    await createUnclaimed(trial);
    await change(trial.connectorId, true);
    await stage.gates.release();
    const isHeld = async () => (await looked(trial)).every(({ looks }) => Number(looks) > 0);
    await waitFor('both to be held', async () => {
      await stage.moveClock(6);
      return isHeld();
    });
    const other = new Trial(stage, 'inquired_8');
    await other.begin();
    await other.check(COMPLETED);
    for (const id of trial.transferIds) expect(stage.processor.about(id)).toEqual([]);
    await change(trial.connectorId, false);
    await trial.check(COMPLETED);
    for (const id of trial.transferIds) expect(stage.processor.about(id, 'send')).toHaveLength(1);
  });

  test('the processor is still asked about orders that have already been sent', async () => {
    const trial = new Trial(stage, 'inquired_9');
    await trial.begin(({ question }) => ({ executes: true, reply: question === 'send' ? 'cut' : 'answer' }));
    await trial.untilAsked('send');
    await change(trial.connectorId, true);
    await trial.check(COMPLETED);
    for (const id of trial.transferIds) expect(stage.processor.about(id, 'inquire')).not.toEqual([]);
    await change(trial.connectorId, false);
  });

  test('orders that waited for ready_seconds fail without being sent', async () => {
    const trial = new Trial(stage, 'narrow_0');
    await createUnclaimed(trial);
    await change(trial.connectorId, true);
    await stage.gates.release();
    await stage.moveClock(7_201);
    for (const id of trial.transferIds) {
      expect(await stage.untilEnded(id)).toMatchObject({ status: 'failed', error: { Code: 'service_disabled' } });
    }
    await trial.check(['failed, executed 0']);
    await change(trial.connectorId, false);
  });
});

test('the service does not start if the settings lack a connector that has open transfers', async () => {
  const { held, release } = hold();
  const trial = new Trial(stage, 'inquired_3');
  try {
    await trial.begin(() => ({ executes: true, reply: 'answer', until: held }));
    await trial.untilAsked('send');
    await stage.service.stop();
    const { exitCode, errors } = await startInVain(stage.settingsWithoutConnectors());
    expect(exitCode).not.toBe(0);
    expect(errors).toContain("CONNECTORS does not name the connector 'inquired_3' (open transfers: 2)");
  } finally {
    release();
    await stage.start();
  }
  await trial.check(COMPLETED);
});

test('the calls in flight end soon after a stop, and the service later inquires about their orders instead of sending them again', async () => {
  const { held, release } = hold();
  const answered = new Trial(stage, 'inquired_4');
  const silent = new Trial(stage, 'inquired_5');
  try {
    await answered.begin(() => ({ executes: true, reply: 'answer', until: held }));
    await stage.gates.close('mark', silent.connectorId);
    await silent.begin(({ question }) => ({ executes: true, reply: question === 'send' ? 'silence' : 'answer' }));
    // These calls would be enough to open the breaker if calls that a stop ends counted as failures.
    for (let more = 0; more < 4; more += 1) await silent.create();
    await stage.gates.untilWaiting('mark', silent.connectorId);
    await answered.untilAsked('send');
    await stage.gates.release();
    await silent.untilAsked('send');
    const stopped = stage.service.stop();
    release();
    expect(await stopped).toBe(0);
  } finally {
    release();
    await stage.start();
  }
  expect(await stage.query("select from connector_state where connector_id = 'inquired_5'")).toEqual([]);
  for (const trial of [answered, silent]) {
    await trial.check(COMPLETED);
    for (const id of trial.transferIds) expect(stage.processor.about(id, 'send')).toHaveLength(1);
  }
  for (const id of silent.transferIds) expect(stage.processor.about(id, 'inquire')).not.toEqual([]);
});

test('two services with one connector claim different attempts and send each attempt once', async () => {
  const trial = new Trial(stage, 'inquired_6');
  await trial.prepare();
  const second = await stage.startSecond();
  for (const gate of ['claim', 'mark'] as const) {
    await stage.gates.close(gate, trial.connectorId);
    await trial.create();
    await stage.gates.untilWaiting(gate, trial.connectorId);
    // A waiting process claims no more attempts, so the other process claims these. The other process may have been too
    // late for the first attempts.
    for (let pair = 0; pair < 9; pair += 1) await trial.create();
    await stage.gates.untilWaiting(gate, trial.connectorId, 2);
    // Moves the clock past the lease of their claims.
    await stage.moveClock(10);
    await stage.gates.release();
    // Waits before the clock moves again. Otherwise, an order on its way would be lost and sent again.
    await trial.untilAsked('send');
  }
  await trial.check(COMPLETED);
  for (const id of trial.transferIds) expect(stage.processor.about(id, 'send')).toHaveLength(1);
  expect(await second.stop()).toBe(0);
});
