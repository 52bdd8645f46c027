import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { Refusal } from '../../../domain/refusal.ts';
import type { AnyCall } from '../../../server/calls/call.ts';
import type { LaneBounds } from '../../../server/commit/group-commit.ts';
import { STARTS } from '../../../server/store/connection/connections.ts';
import { type Ledger, openLedger } from '../../harness/ledger.ts';
import type { TrapOutcome, TrapPlace } from '../../harness/proxy.ts';
import { useConnection, useLedger, useProxy, useServer } from '../../harness/use-ledger.ts';

/** What a test needs to make one interleaving of a chain with another transaction. Called at the top of a file. */
export async function useInterleaving() {
  const server = await useServer();
  const proxy = await useProxy(server);
  /** Another service process. */
  const other = useLedger(server.connection);
  const stranger = await useConnection(server.connection);
  const watcher = await useConnection(server.connection);

  /** A service process behind the proxy, whose chain nobody has broken yet. */
  function openChain(bounds?: LaneBounds): Ledger {
    // Without limits of time: the tests hold back what they like for as long as they need.
    const ledger = openLedger({ ...server.connection, host: proxy.host }, bounds, undefined, STARTS);
    onTestFinished(async () => {
      proxy.traps.length = 0;
      await ledger.close();
    });
    return ledger;
  }

  /** Holds back what gets to a place, until it is let go. */
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
    onTestFinished(() => released.resolve('go_on'));
    return { reached: reached.promise, release: (how = 'go_on') => released.resolve(how) };
  }

  /** Resolves when a backend of the service waits for a lock. */
  async function untilWaiting(): Promise<void> {
    const isWaiting = `select from pg_stat_activity
      where wait_event_type = 'Lock' and application_name = 'transfer-service'`;
    while ((await watcher.query(isWaiting)).rowCount === 0);
  }

  return { server, proxy, other, stranger, openChain, holdAt, untilWaiting };
}

/** What came of a request: `made`, or the code of its refusal. */
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

/** Sends a transfer under a key of its own, so that a refusal is written as well. */
export function transfer(ledger: Ledger, card: string, terms: Terms, more: Partial<AnyCall> = {}): Promise<string> {
  const call = ledger.call('create_transfer', { card_id: card, ...terms }, { idempotencyKey: randomUUID(), ...more });
  return outcomeOf(call);
}
