import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { Refusal } from '../../../domain/refusal.ts';
import type { AnyCall } from '../../../server/calls/call.ts';
import type { LaneBounds } from '../../../server/commit/group-commit.ts';
import { STARTS } from '../../../server/store/connection/connections.ts';
import { type Ledger, openLedger } from '../../harness/ledger.ts';
import type { TrapOutcome, TrapPlace } from '../../harness/proxy.ts';
import { useConnection, useLedger, useProxy, useServer } from '../../harness/use-ledger.ts';

/**
 * Sets up services, a proxy and a connection to interleave a chain with another transaction. Call it at the top of a
 * file.
 */
export async function useInterleaving() {
  const server = await useServer();
  const proxy = await useProxy(server);
  const other = useLedger(server.connection);
  const stranger = await useConnection(server.connection);
  const watcher = await useConnection(server.connection);

  /** Opens a service process behind the proxy with a new chain. */
  function openChain(bounds?: LaneBounds): Ledger {
    // The ledger has no time limits, because tests delay messages for as long as they need.
    const ledger = openLedger({ ...server.connection, host: proxy.host }, bounds, undefined, STARTS);
    onTestFinished(async () => {
      proxy.traps.length = 0;
      await ledger.close();
    });
    return ledger;
  }

  /** Holds messages back at a place until they are released. */
  function holdAt(place: TrapPlace): {
    readonly reached: Promise<void>;
    readonly release: (how?: TrapOutcome) => void;
  } {
    const reached = Promise.withResolvers<void>();
    const released = Promise.withResolvers<TrapOutcome>();
    const spring = (): Promise<TrapOutcome> => {
      reached.resolve();
      return released.promise;
    };
    proxy.traps.push({ at: place, spring });
    onTestFinished(() => released.resolve('continue'));
    return { reached: reached.promise, release: (how = 'continue') => released.resolve(how) };
  }

  /** Resolves when a backend of the service is waiting for a lock. */
  async function untilWaiting(): Promise<void> {
    const isWaiting = `select from pg_stat_activity
      where wait_event_type = 'Lock' and application_name = 'transfer-service'`;
    while ((await watcher.query(isWaiting)).rowCount === 0);
  }

  return { server, proxy, other, stranger, openChain, holdAt, untilWaiting };
}

/** Returns the outcome of a request: `made`, or the code of its refusal. */
export function outcomeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'made',
    (error: unknown) => {
      if (error instanceof Refusal) return error.code;
      throw error;
    },
  );
}

type Terms = {
  readonly amount: number;
  readonly type?: 'unload' | 'card_to_card';
  readonly destination_card_id?: string;
  readonly capture?: 'manual';
};

/** Sends a transfer with its own key, so that even a refusal is stored. */
export function transfer(ledger: Ledger, card: string, terms: Terms, more: Partial<AnyCall> = {}): Promise<string> {
  const call = ledger.call('create_transfer', { card_id: card, ...terms }, { idempotencyKey: randomUUID(), ...more });
  return outcomeOf(call);
}
