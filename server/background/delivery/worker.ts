// The thread that delivers events to webhooks. Delivery has its own thread because a request to a webhook costs about as much CPU
// time as a transfer, and transfers must not wait for it.
import { parentPort, workerData } from 'node:worker_threads';
import { openOwnDatabase } from '../../store/connection/databases.ts';
import { openAddressRules } from '../../subjects/webhooks/addresses.ts';
import { openVault } from '../../subjects/webhooks/vault.ts';
import { openSender } from '../outbound/send.ts';
import { Deliverer } from './deliverer.ts';
import type { FromWorker, ToWorker, WorkerSettings } from './start-delivery.ts';

const { connection, connections, addresses, ca, keys } = workerData as WorkerSettings;
const report = (message: FromWorker): void => parentPort?.postMessage(message);
const { database, close } = openOwnDatabase(connection, connections);
const deliverer = new Deliverer({
  database,
  sender: openSender({ rules: openAddressRules(addresses), ca }),
  vault: openVault(keys),
  onFailure: (error) => report({ kind: 'failure', cause: String(error) }),
  onDeliveries: (deliveries) => report({ kind: 'deliveries', deliveries }),
  onNotice: (sentence, webhookId) => report({ kind: 'notice', sentence, webhookId }),
});

parentPort?.on('message', (message: ToWorker) => {
  if (message.kind === 'news') deliverer.announce(message.programIds);
  else if (message.kind === 'changed') deliverer.poll();
  else void stop();
});

async function stop(): Promise<void> {
  await deliverer.stop();
  await close();
  parentPort?.close();
}
