import type pg from 'pg';
import type { Connections } from '../../../server/store/connection/connections.ts';
import { Database } from '../../../server/store/connection/database.ts';
import type { Databases } from '../../../server/store/connection/databases.ts';
import { PoolGroup } from '../../../server/store/connection/pool.ts';
import { Standby } from '../../../server/store/connection/standby.ts';
import { asClient, Connection, type Server } from './connection.ts';

/** The connections of a process. There are always enough: waiting for one is not simulated. */
class Pool {
  readonly #server: Server;
  readonly #label: string;
  readonly #idle: Connection[] = [];
  readonly #all: Connection[] = [];
  #count = 0;
  isDead = false;

  constructor(server: Server, label: string) {
    this.#server = server;
    this.#label = label;
  }

  /** The open connections. */
  get open(): readonly Connection[] {
    return this.#all.filter(({ isCut }) => !isCut);
  }

  take(): Promise<pg.PoolClient> {
    // A dead process waits forever.
    if (this.isDead) return new Promise(() => undefined);
    let connection = this.#idle.pop();
    while (connection?.isCut === true) connection = this.#idle.pop();
    if (connection === undefined) {
      this.#count += 1;
      connection = new Connection(this.#server, `${this.#label}${this.#count}`, (idle) => this.#idle.push(idle));
      this.#all.push(connection);
    }
    return Promise.resolve(asClient(connection));
  }

  /** Discards idle connections, except this many. */
  closeIdle(leave: number): void {
    this.#idle.splice(leave);
  }

  async query(...query: Parameters<Connection['query']>): ReturnType<Connection['query']> {
    const client = await this.take();
    let isFit = false;
    try {
      const result = await (client as unknown as Connection).query(...query);
      isFit = true;
      return result;
    } finally {
      client.release(!isFit);
    }
  }
}

/** The databases of a process. All roles see the same rows: row-level security is not simulated. */
export type SimulatedDatabases = Pick<Databases, 'application' | 'background' | 'onCommit'> & {
  readonly connections: () => readonly Connection[];
  /** Closes the connections of a process that has died. The server keeps the messages that it has received. */
  readonly die: (received: (connection: Connection) => number) => void;
};

/** Opens the databases of a process, with the real {@link Database} over simulated connections. */
export function openSimulatedDatabases(server: Server, label: string): SimulatedDatabases {
  const pool = new Pool(server, label);
  const group = new PoolGroup();
  const connections = { readers: pool, writers: pool, group } as unknown as Connections;
  const database = new Database(connections, new Standby(pool as never));
  return {
    application: database,
    background: database,
    onCommit: (listener) => group.onCommit(listener),
    connections: () => pool.open,
    die: (received) => {
      pool.isDead = true;
      for (const connection of pool.open) connection.cut(undefined, received(connection));
    },
  };
}
