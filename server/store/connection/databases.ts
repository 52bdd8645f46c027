import {
  type ConnectionSettings,
  Connections,
  divideConnections,
  MAX_CONNECTIONS,
  MIN_CONNECTIONS,
  REQUESTS,
  type Role,
  type RoleProblem,
  type TimeLimits,
} from './connections.ts';
import { Database } from './database.ts';
import { hostsOf, type UsedHost } from './hosts/hosts.ts';
import { type Health, type Pool, PoolGroup } from './pool.ts';
import { Standby } from './standby.ts';

/** Minimum number of connections for a thread with its own connections: one of each kind. */
const MIN_OWN_CONNECTIONS = 2;
const MAX_OWN_CONNECTIONS = 4;

export type PoolFigures = { readonly role: Role } & Pick<Pool, 'kind' | 'lent' | 'open' | 'waiting' | 'max'>;

/** One PostgreSQL, seen by each role of the service. */
export type Databases = {
  readonly settings: ConnectionSettings;
  /** For the requests of card programs. Sees rows only with {@link Database.forProgram}. */
  readonly application: Pick<Database, 'forProgram'>;
  /** For operators and background jobs. Sees all programs. */
  readonly background: Database;
  readonly authentication: Database;
  readonly findRoleProblem: () => Promise<RoleProblem | undefined>;
  /** The host of DATABASE_URL that is in use. Undefined before the first connection, and for the embedded PostgreSQL. */
  readonly host: () => UsedHost | undefined;
  readonly health: () => Health;
  readonly pools: () => readonly PoolFigures[];
  /** Calls a listener after every commit of this process. Returns a function that removes the listener. */
  readonly onCommit: (listener: () => void) => () => void;
  /**
   * Permanently releases connections, so that a thread of this process can open the same number with {@link openOwnDatabase}.
   * Returns that number, or 0 if there are already too few.
   */
  readonly giveUpConnections: () => number;
  readonly close: () => Promise<void>;
};

/** Opens a PostgreSQL whose schema exists, or will exist before the first statement. Opens no connection yet. */
export function openDatabases(
  settings: ConnectionSettings,
  maxConnections = MAX_CONNECTIONS,
  timeLimits: TimeLimits = REQUESTS,
): Databases {
  const hosts = hostsOf(settings);
  const group = new PoolGroup(hosts, timeLimits.connectMilliseconds);
  const sizes = divideConnections(maxConnections);
  const open = (role: Role): Connections => new Connections(settings, role, group, sizes[role], timeLimits);
  const [application, background, authentication] = [open('application'), open('background'), open('authentication')];
  const all = [application, background, authentication];
  const standby = new Standby(background.writers, settings.requiresStandby);
  return {
    settings,
    // Without access to any program until a request names one.
    application: new Database(application, standby, []),
    background: new Database(background, standby),
    authentication: new Database(authentication, standby),
    findRoleProblem: async () => {
      const problems = await Promise.all(all.map((connections) => connections.findRoleProblem()));
      return problems.find((problem) => problem !== undefined);
    },
    host: () => hosts?.used,
    health: () => group,
    pools: () => figuresOf({ application, background, authentication }),
    onCommit: (listener) => group.onCommit(listener),
    giveUpConnections: () => {
      const count = Math.min(MAX_OWN_CONNECTIONS, maxConnections - MIN_CONNECTIONS);
      if (count < MIN_OWN_CONNECTIONS) return 0;
      const left = divideConnections(maxConnections - count);
      for (const role of ['application', 'background', 'authentication'] as const) {
        ({ application, background, authentication })[role].limit(left[role]);
      }
      return count;
    },
    close: async () => {
      group.close();
      await Promise.all(all.map((connections) => connections.close()));
    },
  };
}

function figuresOf(all: Readonly<Record<Role, Connections>>): readonly PoolFigures[] {
  return (Object.keys(all) as Role[]).flatMap((role) =>
    [all[role].readers, all[role].writers].map(({ kind, lent, open, waiting, max }) => ({
      role,
      kind,
      lent,
      open,
      waiting,
      max,
    })),
  );
}

/** Opens the database for a thread with its own connections. It has the same access as {@link Databases.background}. */
export function openOwnDatabase(
  settings: ConnectionSettings,
  count: number,
): { readonly database: Database; readonly close: () => Promise<void> } {
  const writers = Math.floor(count / 2);
  const group = new PoolGroup(hostsOf(settings), REQUESTS.connectMilliseconds);
  const connections = new Connections(settings, 'background', group, { writers, readers: count - writers });
  return {
    database: new Database(connections, new Standby(connections.writers, settings.requiresStandby)),
    close: () => {
      group.close();
      return connections.close();
    },
  };
}
