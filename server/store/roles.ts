import { type ConnectionSettings, Connections } from './connections.ts';
import { Database } from './database.ts';

/** One PostgreSQL, as each role of the service sees it. */
export type Databases = {
  readonly settings: ConnectionSettings;
  /** For the requests of card programs; of use only {@link Database.within} some of them. */
  readonly application: Pick<Database, 'within'>;
  /** For operators and loops: all programs. */
  readonly background: Database;
  /** For finding out who is calling. */
  readonly authentication: Database;
  /** Closes every connection, after what runs on them. */
  readonly close: () => Promise<void>;
};

/** Opens a PostgreSQL that has the schema, or gets it before anything is asked of it. Connects to nothing yet. */
export function openDatabases(settings: ConnectionSettings): Databases {
  const application = new Connections(settings, 'application');
  const background = new Connections(settings, 'background');
  const authentication = new Connections(settings, 'authentication');
  return {
    settings,
    // In reach of no program until one is named.
    application: new Database(application, []),
    background: new Database(background),
    authentication: new Database(authentication),
    close: async () => {
      await Promise.all([application, background, authentication].map((connections) => connections.close()));
    },
  };
}
