import { TransferService } from '../../sdk/client.ts';
import { startService } from '../../test/harness/process.ts';
import type { Belongings } from '../belongings.ts';
import { cardName } from '../load/traffic.ts';
import { createOperatorKey, type DatabaseServer, databaseUrl, LIVE } from './server.ts';

/** Enough for every run there is, and far from the largest balance. In minor units. */
const FUNDING = 900_000_000_000;

/** Programs of which each has one card, to spread transfers over funding accounts. */
const SPREAD_PROGRAMS = 1000;

/** Cards of the one program whose funding account every transfer debits. */
export const HOT_CARDS = 1000;

/** Calls at once while the seed is sown. */
const CALLS = 8;

/** What every ledger of the bench begins with: they are copies of one database. */
export type Seed = {
  readonly database: string;
  /** An operator's key. */
  readonly key: string;
  /** One program with a thousand cards. */
  readonly hotProgram: string;
  /** A thousand programs with a card each. */
  readonly spreadPrograms: readonly string[];
};

/** Makes the database that all ledgers are copied from, through the service's own API. */
export async function makeSeed(belongings: Belongings, server: DatabaseServer): Promise<Seed> {
  const database = 'bench_seed';
  await server.query('postgres', `create database ${database} owner transfer_service`);
  const url = databaseUrl(server, database);
  const key = await createOperatorKey(belongings, url);
  const service = await startService({ ...LIVE, DATABASE_URL: url, DATA_DIR: `${server.directory}/seed` });
  const stop = belongings.add('the service that sows', async () => void (await service.stop()));
  const seed = await sow({ database, key, url: service.url }).catch((error: unknown) => {
    throw new Error(`the seed could not be sown. The service said: ${service.errors().slice(-2000)}`, { cause: error });
  });
  await stop();
  await server.query(database, 'vacuum analyze');
  return seed;
}

async function sow({ database, key, url }: Pick<Seed, 'database' | 'key'> & { readonly url: string }): Promise<Seed> {
  const operator = new TransferService({ baseUrl: url, key });
  const within = (programId: string) => new TransferService({ baseUrl: url, key, programId });
  const makeProgram = async (name: string): Promise<string> => {
    const { program_id } = await operator.programs.create({ name, currency: 'USD' });
    await operator.deposits.create(program_id, { amount: FUNDING });
    return program_id;
  };
  const hotProgram = await makeProgram('hot');
  const hot = within(hotProgram);
  await inParallel(HOT_CARDS, (index) => hot.cards.create({ card_id: cardName(index + 1) }));
  const spreadPrograms: string[] = [];
  await inParallel(SPREAD_PROGRAMS, async (index) => {
    const programId = await makeProgram(`spread ${index}`);
    await within(programId).cards.create({ card_id: cardName(1) });
    spreadPrograms.push(programId);
  });
  return { database, key, hotProgram, spreadPrograms };
}

async function inParallel(count: number, call: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: CALLS }, work));
}
