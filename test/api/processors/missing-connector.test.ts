import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { TransferRecord } from '../../../contract/transfers.ts';
import { nameWaiting } from '../../../server/host/start/prepare-ledger.ts';
import { settleDue } from '../../../server/subjects/transfers/change-transfer.ts';
import { SilentProcessors } from '../../fixtures/processors.ts';
import { checkBalances, useLedger, useServer } from '../../harness/use-ledger.ts';

const server = await useServer();
const processors = new SilentProcessors();
const ledger = useLedger(server.connection, undefined, undefined, undefined, processors);
/** A process whose settings name no connectors. */
const lacking = useLedger(server.connection);

checkBalances(ledger);

async function schedule(card_id: string, scheduled_for: string): Promise<TransferRecord> {
  const { body } = await ledger.call('create_transfer', { amount: 30, card_id, scheduled_for });
  return JSON.parse(body);
}

async function statusOf({ transfer_id }: TransferRecord): Promise<string> {
  const { body } = await ledger.call('get_transfer', undefined, { params: { transfer_id } });
  return JSON.parse(body).status;
}

test('keeps a due scheduled transfer waiting in a process without the connector, without delaying others', async () => {
  const scheduledFor = new Date(Date.now() + 3_600_000).toISOString();
  const card = { card_id: randomUUID(), connector_id: 'simulator', processor_token: 'sim_approve' };
  await ledger.call('create_card', card);
  const made = await schedule(card.card_id, scheduledFor);
  const local = await schedule('card_active', scheduledFor);
  await ledger.call('move_clock', { seconds_ahead: 3_601 });
  try {
    expect(await settleDue(lacking.service)).toMatchObject({ settled: 1, failed: 0 });
    expect([await statusOf(local), await statusOf(made)]).toEqual(['completed', 'scheduled']);
    // Finds transfers like a process that has the connector, but makes decisions like a process that lacks it.
    expect(await settleDue({ ...lacking.service, processors })).toMatchObject({ settled: 0, failed: 0 });
    expect(await statusOf(made)).toBe('scheduled');
    const lines: string[] = [];
    await nameWaiting(ledger.database, [], (line) => void lines.push(line));
    expect(lines).toEqual([
      "CONNECTORS does not name the connector 'simulator'. Scheduled transfers that wait for it: 1, the first due at " +
        `${scheduledFor}. They are executed once a process has the connector.`,
    ]);
    expect(await settleDue(ledger.service)).toMatchObject({ settled: 1 });
    expect(await statusOf(made)).toBe('pending');
    await nameWaiting(ledger.database, [], (line) => void lines.push(line));
    expect(lines).toHaveLength(1);
  } finally {
    await ledger.call('move_clock', { seconds_ahead: 0 });
  }
});
