import { Resources } from '../../bench/resources.ts';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { embeddedServerOf, type ServiceProcess, startService } from '../harness/process.ts';

/** Two service processes over one database. */
export type TwoServices = {
  readonly path: string;
  /** The first one owns PostgreSQL, the second is told where it is. */
  readonly both: readonly [ServiceProcess, ServiceProcess];
  /** The URL of the database, the same after each start of PostgreSQL. */
  readonly databaseUrl: string;
  readonly end: () => Promise<void>;
};

/** Settings of the second service, such as those of a wrong clock, or of both. */
type Settings = Readonly<Record<string, string>>;

/** Starts both on a new ledger; `main` is another program than that of the checkout. They are ended in any case, and the ledger removed, when `resources` are. */
export async function startTwoServices(
  resources: Resources = new Resources(),
  main?: string,
  ofSecond: Settings = {},
  ofBoth: Settings = {},
): Promise<TwoServices> {
  const directory = await ledgerDirectory();
  const removeFiles = resources.add('the ledger', directory.remove);
  const first = await startService({ DATA_DIR: directory.path, LOG_LEVEL: 'silent', ...ofBoth }, main);
  const stopFirst = resources.add('the first service', async () => void (await first.stop()));
  const { databaseUrl } = await embeddedServerOf(directory.path);
  const second = await startService({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent', ...ofBoth, ...ofSecond }, main);
  const stopSecond = resources.add('the second service', async () => void (await second.stop()));
  return {
    path: directory.path,
    both: [first, second],
    databaseUrl,
    end: async () => {
      await stopSecond();
      await stopFirst();
      await removeFiles();
    },
  };
}
