import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { claimAttempts, markSent, toClaimedAttempt } from '../../server/store/processors/attempt.ts';
import { type Ledger, openLedger, urlOf } from '../harness/ledger.ts';
import { type ServiceProcess, type ServiceSettings, startService, waitFor } from '../harness/process.ts';
import { useDirectory } from '../harness/service.ts';
import { type Pair, STANDBY, startPair } from '../harness/standby.ts';
import { sendNotice } from '../processors/notices.ts';
import { StandIn } from '../processors/stand-in.ts';
import { hold } from '../processors/trial.ts';
import { untilReadinessIs } from '../start/readiness-response.ts';

// With DATABASE_STANDBY=required, the service sends no order and accepts no notice that a failover could undo. The last
// test promotes the standby.

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const processor = new StandIn(secret, async () => false);
/**
 * Delays the answer to the first order. Until it arrives, the connector has no room for other orders, because it takes
 * one at a time.
 */
const first = hold();
const directory = await useDirectory();
let pair: Pair;
let service: ServiceProcess;
let settings: ServiceSettings;
/** A ledger without workers, which sends no orders. */
let ledger: Ledger;
const transferIds: string[] = [];

beforeAll(async () => {
  pair = await startPair();
  const traits = { max_in_flight: 1, ready_seconds: 86_400, can_resend: false, has_inquiry: true };
  const connector = { connector_id: 'bank', url: await processor.listen(), secret_variable: 'BANK_SECRET', traits };
  const file = join(directory.path, 'connectors.json');
  await writeFile(file, JSON.stringify({ connectors: [connector] }));
  settings = { DATA_DIR: directory.path, CONNECTORS: file, BANK_SECRET: secret };
  service = await startService({
    ...settings,
    DATABASE_URL: urlOf(pair.primary.connection),
    DATABASE_STANDBY: 'required',
  });
  ledger = openLedger({ ...pair.primary.connection, requiresStandby: true });
  await service.client.cards.create({ card_id: 'first', connector_id: 'bank', processor_token: 'first' });
  await service.client.cards.create({ card_id: 'others', connector_id: 'bank', processor_token: 'others' });
  processor.on('first', () => ({ executes: true, reply: 'answer', until: first.held }));
  for (const card_id of ['first', 'others', 'others']) {
    const { transfer_id } = await service.client.transfers.create({ type: 'load', card_id, amount: 100 });
    transferIds.push(transfer_id);
    if (card_id === 'first')
      await waitFor('the order of the first transfer', async () => processor.isAsked(transfer_id));
  }
});

afterAll(async () => {
  first.release();
  await ledger.close();
  await service.stop();
  processor.close();
  await pair.stop();
});

const ready = (): Promise<readonly { transfer_id: string }[]> =>
  pair.ask("select transfer_id from processor_attempt where status = 'ready' order by attempt_id", []);
const notices = async (): Promise<number> => (await pair.ask('select from processor_notice', [])).length;
const claim = async () => {
  const rows = await ledger.database.writeUnguarded(claimAttempts(['bank'], 10, { ready: 0, other: 0 }));
  return rows
    .map(toClaimedAttempt)
    .map(({ attempt }) => attempt)
    .filter(({ status }) => status === 'ready');
};

test('claims no order, marks none as sent and accepts no notice while no standby is set', async () => {
  const [order] = processor.orders;
  const about = { attempt_id: order?.attempt_id, amount: 100, currency: 'USD', processor_reference: null, code: null };
  const body = JSON.stringify({ ...about, notice_id: 'notice', status: 'pending', retry_after_seconds: null });
  const notice = { url: service.url, connectorId: 'bank', secret, body, delivery: 'whole' } as const;
  const attempts = await claim();
  expect(attempts).toHaveLength(2);
  await pair.setNames('');
  await untilReadinessIs(service.url, 'standby_not_set');
  expect(await claim()).toEqual([]);
  await expect(ledger.database.write(markSent(attempts, 30_000))).rejects.toMatchObject({ lacksStandby: true });
  expect(await sendNotice(notice)).toBe(503);
  expect(await ready()).toHaveLength(2);
  expect(await notices()).toBe(0);
  await pair.setNames(STANDBY);
  await untilReadinessIs(service.url, 'ready');
  expect(await sendNotice(notice)).toBe(200);
  expect(await notices()).toBe(1);
});

test('after a failover, sends an order as new if the promoted standby has no mark that it was sent', async () => {
  expect(await ready()).toHaveLength(2);
  await pair.takeAway();
  await pair.setNames('');
  await untilReadinessIs(service.url, 'standby_not_set');
  first.release();
  // The connector now has room for the next order. The service must not mark that order as sent, because no standby
  // would have the mark.
  await waitFor('an answer that cannot be recorded', async () =>
    service.output().includes('cannot carry out transfers at processors'),
  );
  await service.stop();
  await pair.primary.embedded.pause();
  await pair.standby.resume();
  await pair.promote();
  service = await startService({ ...settings, DATABASE_URL: urlOf(pair.standby.connection) });
  for (const transferId of transferIds.slice(1)) {
    await waitFor(
      'the end of a transfer',
      async () => (await service.client.transfers.get(transferId)).status === 'completed',
    );
    expect(processor.about(transferId, 'send')).toMatchObject([{ repeat: false }]);
  }
});
