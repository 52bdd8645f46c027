import { type ConnectionSettings, Connections } from './connections.ts';
import { Database } from './database.ts';
import { Standby } from './standby.ts';

/** One PostgreSQL, as each role of the service sees it. */
export type Databases = {
  readonly settings: ConnectionSettings;
  /** For the requests of card programs; of use only {@link Database.within} some of them. */
  readonly application: Pick<Database, 'within'>;
  /** For operators and loops: all programs. */
  readonly background: Database;
  /** For finding out who is calling. */
  readonly authentication: Database;
  /** What stands against working under the roles, in a few words; undefined when nothing does. */
  readonly findRoleProblem: () => Promise<string | undefined>;
  /** Closes every connection, after what runs on them. */
  readonly close: () => Promise<void>;
};

/** Opens a PostgreSQL that has the schema, or gets it before anything is asked of it. Connects to nothing yet. */
export function openDatabases(settings: ConnectionSettings): Databases {
  const application = new Connections(settings, 'application');
  const background = new Connections(settings, 'background');
  const authentication = new Connections(settings, 'authentication');
  const all = [application, background, authentication];
  const standby = new Standby(background.writers);
  return {
    settings,
    // In reach of no program until one is named.
    application: new Database(application, standby, []),
    background: new Database(background, standby),
    authentication: new Database(authentication, standby),
    findRoleProblem: async () => {
      const problems = await Promise.all(all.map((connections) => connections.findRoleProblem()));
      return problems.find((problem) => problem !== undefined);
    },
    close: async () => {
      await Promise.all(all.map((connections) => connections.close()));
    },
  };
}
