import { afterAll } from 'vitest';
import { TransferService } from '../../sdk/client.ts';
import { replaceDatabase } from '../../verification/nemeses/kill.ts';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { type ServiceProcess, startService, waitFor } from '../harness/process.ts';
import { deadUrl } from './canned-service.ts';

/** A service at one URL, and a client that creates transfers despite the service's failures. */
export type TroubledService = {
  readonly url: string;
  readonly client: TransferService;
  readonly transferIds: readonly string[];
  /** Kills, stops and starts the service and its database while transfers are created. */
  readonly goThroughTrouble: () => Promise<void>;
  /** Stops the transfers, and returns the position of the last one's event. */
  readonly settle: () => Promise<number>;
};

/** The number of transfers before and after each failure. */
const TRANSFERS_BETWEEN = 10;

/** Starts a troubled service, which stops after the file's tests. */
export async function useTroubledService(): Promise<TroubledService> {
  const directory = await ledgerDirectory();
  const url = await deadUrl();
  const environment = { DATA_DIR: directory.path, PORT: new URL(url).port };
  let service = await startService(environment);
  const transferIds: string[] = [];
  const ending = new AbortController();
  const client = new TransferService({ baseUrl: url, maxRetries: 2 });
  const transfers = makeTransfers(client, transferIds, ending.signal);
  afterAll(async () => {
    ending.abort();
    await transfers;
    await service.stop();
    await directory.remove();
  });
  const whileTransferring = async (trouble: (service: ServiceProcess) => Promise<unknown>): Promise<void> => {
    const count = transferIds.length + TRANSFERS_BETWEEN;
    await waitFor('transfers to be created', async () => transferIds.length >= count);
    await trouble(service);
  };
  const restart = async (end: (service: ServiceProcess) => Promise<unknown>): Promise<void> => {
    await end(service);
    service = await startService(environment);
  };
  return {
    url,
    client,
    transferIds,
    goThroughTrouble: async () => {
      await whileTransferring(() => restart(({ kill }) => kill()));
      await whileTransferring((running) => replaceDatabase(running, directory.path, true));
      await whileTransferring(() => restart(({ stop }) => stop()));
      await whileTransferring(({ database }) => database.stop());
      await service.database.start();
      await whileTransferring((running) => replaceDatabase(running, directory.path, false));
      await whileTransferring(() => restart(({ kill }) => kill()));
      await whileTransferring(async () => undefined);
    },
    settle: async () => {
      ending.abort();
      await transfers;
      const { transfer_id } = await client.transfers.create({ card_id: 'card_active', amount: 1 });
      transferIds.push(transfer_id);
      // An event gets its position a moment after the response.
      let position: number | undefined;
      await waitFor('the last transfer to have its event', async () => {
        position = (await client.events.list({ subject_id: transfer_id })).data[0]?.position;
        return position !== undefined;
      });
      return position ?? 0;
    },
  };
}

/** Creates one transfer after another. Sends each one with its idempotency key until it is acknowledged. */
async function makeTransfers(client: TransferService, transferIds: string[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const idempotencyKey = `transfer-${transferIds.length}`;
    const transfer = await client.transfers
      .create({ card_id: 'card_active', amount: 1 }, { idempotencyKey })
      .catch(() => undefined);
    if (transfer !== undefined) transferIds.push(transfer.transfer_id);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
