import { Resources } from '../../../bench/resources.ts';
import { ledgerDirectory } from '../../../test/harness/ledger-directory.ts';
import { embeddedServerOf, type ServiceProcess, startService } from '../../../test/harness/process.ts';

/** Two service processes with one database. */
export type TwoServices = {
  readonly path: string;
  /** The first owns PostgreSQL, and the second connects to it. */
  readonly both: readonly [ServiceProcess, ServiceProcess];
  /** Stays the same when PostgreSQL restarts. */
  readonly databaseUrl: string;
  readonly end: () => Promise<void>;
};

type Settings = Readonly<Record<string, string>>;

/** Starts both on a new ledger. `main` overrides the checkout's program. Ending `resources` stops both and removes the ledger. */
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
