import { examineBooks } from '../ledger/books.ts';
import { createLedger, dropLedger, type Ledger, type Served, serve } from '../ledger/ledger.ts';
import type { DatabaseServer } from '../ledger/server.ts';
import { MANY_CONNECTIONS, warmUp } from '../measure.ts';
import type { Site, Stage } from '../stage.ts';
import { startDistantServer } from './distant-server.ts';

export type ServiceOnLedger = { readonly stage: Stage; readonly service: Served; readonly ledger: Ledger };

/** The services that the workloads of one round share. Each is started when first needed. */
export class Round {
  readonly #stage: Stage;
  readonly #started = new Map<string, Promise<unknown>>();
  readonly #ends: (() => Promise<void>)[] = [];
  /** The ends of the connections that the services use. */
  readonly #lastEnds: (() => Promise<void>)[] = [];

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** A new process on a new, empty ledger of the embedded PostgreSQL, warmed up with the hot account. */
  embedded(): Promise<ServiceOnLedger> {
    return this.#once('embedded', () => this.#startService(this.#stage));
  }

  /** The same on the distribution's PostgreSQL 15. */
  own(): Promise<ServiceOnLedger> {
    const { ownSite } = this.#stage;
    if (ownSite === undefined) throw new Error('PostgreSQL 15 is not installed');
    return this.#once('own', () => this.#startService(ownSite));
  }

  /** The same as `embedded`, with PostgreSQL at a distance. */
  distant(milliseconds: number): Promise<ServiceOnLedger> {
    return this.#once(`${milliseconds} ms away`, async () =>
      this.#startService({ ...this.#stage, server: await this.distantServer(milliseconds) }),
    );
  }

  /** The embedded PostgreSQL at a distance: the time of a round trip. */
  distantServer(milliseconds: number): Promise<DatabaseServer> {
    return this.#once(`server ${milliseconds} ms away`, async () => {
      const { server, stop } = await startDistantServer(this.#stage, milliseconds);
      this.#lastEnds.push(stop);
      return server;
    });
  }

  /** Ends all services, and compares the books of each ledger with its acknowledged transfers. */
  async close(): Promise<void> {
    for (const end of [...this.#ends, ...this.#lastEnds]) await end();
  }

  async #startService(site: Site): Promise<ServiceOnLedger> {
    const stage = { ...this.#stage, ...site };
    const ledger = await createLedger(stage);
    const service = await serve(stage, ledger);
    this.#ends.push(async () => {
      await service.stop();
      await examineBooks(stage.server, ledger.database, ledger.acknowledged);
      await dropLedger(stage, ledger);
    });
    await warmUp(stage, ledger, service.traffic, MANY_CONNECTIONS);
    return { stage, service, ledger };
  }

  #once<Value>(name: string, start: () => Promise<Value>): Promise<Value> {
    const known = (this.#started.get(name) as Promise<Value> | undefined) ?? start();
    this.#started.set(name, known);
    return known;
  }
}
