import { createOperatorKey, databaseUrl } from '../ledger/server.ts';
import { createWebhooks, deleteWebhook } from '../webhooks/create-webhooks.ts';
import { startReceiver } from '../webhooks/run-receiver.ts';
import type { ServiceOnLedger } from './round.ts';

export const DELIVERIES_PER_SECOND = 1_000;

/** Enough simultaneous requests for the rate. */
const CONCURRENCY = 50;

/** Runs something while a webhook of the hot program gets 1,000 events a second. Also returns the rate that the webhook got. */
export async function besideWebhook<Result extends { readonly elapsedSeconds: number }>(
  { stage, ledger, service }: ServiceOnLedger,
  warmUp: () => Promise<unknown>,
  run: () => Promise<Result>,
): Promise<Result & { readonly deliveriesPerSecond: number }> {
  const { resources, server, seed } = stage;
  const key = await createOperatorKey(resources, databaseUrl(server, ledger.database));
  const access = { url: service.traffic.url, key };
  const receiver = await startReceiver(resources);
  const program_id = seed.hot.programId;
  const webhook = { program_id, url: receiver.url, rate: DELIVERIES_PER_SECOND, concurrency: CONCURRENCY };
  const ids = await createWebhooks(access, [webhook]);
  try {
    await warmUp();
    await receiver.take();
    const begun = performance.now();
    const result = await run();
    const { count } = await receiver.take();
    return { ...result, deliveriesPerSecond: (count * 1000) / (performance.now() - begun) };
  } finally {
    for (const id of ids) await deleteWebhook(access, id);
    await receiver.stop();
  }
}
