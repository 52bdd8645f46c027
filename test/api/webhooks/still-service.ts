import { randomUUIDv7 } from 'node:crypto';
import type pg from 'pg';
import { afterAll } from 'vitest';
import { fromWireId } from '../../../domain/identifier.ts';
import { TransferService } from '../../../sdk/client.ts';
import { ledgerGateway, startHttpServer } from '../../harness/http-server.ts';
import { type Ledger, UNLIMITED } from '../../harness/ledger.ts';
import { useConnection, useLedger, useServer } from '../../harness/use-ledger.ts';
import { relayOnce } from '../../store/events/relayed.ts';

/** A URL without a receiver. */
export const URL = 'https://shop.example/webhooks';

/** A sandbox that runs in this process without background work. Events get no position, and nothing is sent. */
export type StillService = {
  readonly url: string;
  readonly client: TransferService;
  /** Returns a client with this key. */
  readonly withKey: (key: string) => TransferService;
  readonly ledger: Ledger;
  readonly admin: pg.Client;
  /** Creates an event of the demo program, with its position, and returns its id. */
  readonly makeEvent: () => Promise<string>;
};

/** Starts the service for all tests of a file. */
export async function useStillService(): Promise<StillService> {
  const { connection } = await useServer();
  // Sets no time limits, because concurrent requests wait for each other's locks, which takes a long time on a slow
  // machine.
  const ledger = useLedger(connection, undefined, undefined, UNLIMITED);
  const admin = await useConnection(connection);
  const http = await startHttpServer(ledgerGateway(ledger));
  afterAll(() => http.server.close());
  const url = `http://127.0.0.1:${http.port}`;
  const client = new TransferService({ baseUrl: url, maxRetries: 0, timeoutMilliseconds: 120_000 });
  const makeEvent = async (): Promise<string> => {
    await client.cards.create({ holder_reference: randomUUIDv7() });
    await relayOnce(ledger.database);
    return (await client.events.list({ limit: 1 })).data[0]?.event_id ?? '';
  };
  const withKey = (key: string) =>
    new TransferService({ baseUrl: url, key, maxRetries: 0, timeoutMilliseconds: 120_000 });
  return { url, client, withKey, ledger, admin, makeEvent };
}

/** Returns the UUID in a webhook's id. */
export function innerId(webhookId: string): string {
  return fromWireId('wh', webhookId) ?? '';
}
