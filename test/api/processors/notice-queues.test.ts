import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BreakRecord } from '../../../contract/processors/breaks.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { startHandlingNotices } from '../../../server/background/processors/handle-notices.ts';
import { openHttpConnector } from '../../../server/background/processors/http-connector.ts';
import { simulatorSettings } from '../../../server/background/processors/start-simulator.ts';
import { insertNotice } from '../../../server/store/processors/notices.ts';
import { attemptOf, SilentProcessors } from '../../fixtures/processors.ts';
import { waitFor } from '../../harness/process.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';

const server = await useServer();
const ledger = useLedger(server.connection, undefined, undefined, undefined, new SilentProcessors());
const client = await useConnection(server.connection);
const connector = openHttpConnector(simulatorSettings());
let handling: ReturnType<typeof startHandlingNotices>;

/** The database rejects a decline with this code. This gives the tests a real failure that they can switch on. */
const BAD = 'bad';
beforeAll(async () => {
  await client.query(`alter table processor_attempt add constraint refused check (code <> '${BAD}') not valid`);
  const connectors = new Map(['simulator', 'other'].map((id) => [id, connector]));
  const parts = { database: ledger.database, transfers: ledger.service.transfers, onFailure: () => undefined };
  handling = startHandlingNotices(connectors, parts);
});
afterAll(async () => {
  await handling.stop();
  connector.close();
});

type Sent = { readonly transferId: string; readonly noticeIds: readonly string[] };

/** Creates a transfer, and notices with this code that decline it. */
async function declined(connectorId: string, code: string, count = 1): Promise<Sent> {
  const card_id = `card-${randomUUID()}`;
  await ledger.call('create_card', { connector_id: 'simulator', processor_token: 'sim_pending', card_id });
  const made = await ledger.call('create_transfer', { amount: 1000, card_id });
  const transferId = String(JSON.parse(made.body).transfer_id);
  const { attemptId } = await attemptOf(ledger, transferId);
  await client.query('update processor_attempt set connector_id = $1 where attempt_id = $2', [connectorId, attemptId]);
  const noticeIds = Array.from({ length: count }, () => randomUUID());
  const about = { attempt_id: toWireId('pat', attemptId), status: 'declined', amount: 1000, currency: 'USD' } as const;
  for (const noticeId of noticeIds) {
    const notice = { connectorId, noticeId, sentAttemptId: attemptId, body: { ...about, code } };
    await ledger.database.write(insertNotice(notice));
  }
  return { transferId, noticeIds };
}

const statusOf = async ({ transferId }: Sent): Promise<string> => {
  const { body } = await ledger.call('get_transfer', undefined, { params: { transfer_id: transferId } });
  return JSON.parse(body).status;
};

const untilFailed = (sent: Sent) => waitFor('the decline', async () => (await statusOf(sent)) === 'failed');

async function breaksOf({ transferId }: Sent): Promise<readonly BreakRecord[]> {
  const { body } = await ledger.call('list_breaks');
  const { data }: { readonly data: readonly BreakRecord[] } = JSON.parse(body);
  return data.filter((one) => one.transfer_id === transferId);
}

/** Makes notices fail once more. Notices with 7 earlier failures become breaks. */
const failAgain = (sent: Sent, failures: number) =>
  client.query('update processor_notice set tries = $1, next_at = null where notice_id = any ($2)', [
    failures,
    sent.noticeIds,
  ]);

test('does not let failing notices delay later notices or other connectors', async () => {
  for (let count = 0; count < 12; count += 1) await declined('simulator', BAD, 10);
  await untilFailed(await declined('simulator', '51'));
  await untilFailed(await declined('other', '51'));
});

test('turns a failing notice into a break, and retries it only until the break is closed', async () => {
  const [closed, open] = [await declined('simulator', BAD, 2), await declined('simulator', BAD)];
  for (const sent of [closed, open]) {
    expect(await breaksOf(sent)).toEqual([]);
    await failAgain(sent, 7);
    await waitFor('the break', async () => (await breaksOf(sent)).length > 0);
    expect(await breaksOf(sent)).toMatchObject([
      {
        ...{ kind: 'unhandled_notice', connector_id: 'simulator', amount: 1000, currency: 'USD' },
        found: expect.stringMatching(/^declined of 10\.00 USD \(notice [-0-9a-f]{36}\)$/),
      },
    ]);
  }
  const [{ break_id = '' } = {}] = await breaksOf(closed);
  await ledger.call('close_break', { note: 'They say that it was a test.' }, { params: { break_id } });
  await client.query('alter table processor_attempt drop constraint refused');
  for (const sent of [closed, open]) await failAgain(sent, 8);
  await untilFailed(open);
  expect(await statusOf(closed)).toBe('pending');
});
