import type { Belongings } from '../../bench/belongings.ts';
import { embeddedServerOf, type ServiceProcess, startService, temporaryDirectory } from '../harness/process.ts';

/** Two service processes over one database. */
export type TwoServices = {
  readonly path: string;
  readonly both: readonly [ServiceProcess, ServiceProcess];
  readonly end: () => Promise<void>;
};

/** Starts both; the first one brings the database along. */
export async function startTwoServices(belongings: Belongings): Promise<TwoServices> {
  const directory = await temporaryDirectory();
  const removeFiles = belongings.add('the ledger', directory.remove);
  const first = await startService({ DATA_DIR: directory.path, LOG_LEVEL: 'silent' });
  const stopFirst = belongings.add('the first service', async () => void (await first.stop()));
  const { databaseUrl } = await embeddedServerOf(directory.path);
  const second = await startService({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent' });
  const stopSecond = belongings.add('the second service', async () => void (await second.stop()));
  return {
    path: directory.path,
    both: [first, second],
    end: async () => {
      await stopSecond();
      await stopFirst();
      await removeFiles();
    },
  };
}
