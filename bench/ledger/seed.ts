import { TransferService } from '../../sdk/client.ts';
import { startService } from '../../test/harness/process.ts';
import { cardName } from '../load/traffic.ts';
import type { Resources } from '../resources.ts';
import { createOperatorKey, type DatabaseServer, databaseUrl, LIVE } from './server.ts';

/** In minor units. Enough for every run, and far from the maximum balance. */
const FUNDING = 900_000_000_000;

/** The value of each limit. It is never reached, but it is checked for every transfer, against all days of its period. */
const LIMIT = 900_000_000_000;

const PROGRAM_LIMITS = { in: { daily_amount: LIMIT, weekly_amount: LIMIT, monthly_amount: LIMIT } } as const;

export const CARD_LIMITS = { in: { daily_amount: LIMIT, monthly_amount: LIMIT } } as const;

/** Programs with one card each, to spread transfers over funding accounts. */
const SPREAD_PROGRAMS = 1000;

/** Cards of the program whose funding account every transfer debits. */
export const HOT_CARDS = 1000;

/** Simultaneous calls while the seed is made. */
const CALLS = 8;

export type SeedProgram = { readonly programId: string; readonly key: string };

/** The initial state of every ledger of the bench. Ledgers are copies of one database. */
export type Seed = {
  readonly database: string;
  /** A program with a thousand cards and all limits. */
  readonly hot: SeedProgram;
  /** The same without limits. Undefined when no row needs it. */
  readonly unlimited: SeedProgram | undefined;
  /** A thousand programs with one card and all limits each. Empty when no row needs them. */
  readonly spread: readonly SeedProgram[];
};

/** The programs that a seed has in addition to the hot one. */
export type SeedContent = { readonly unlimited: boolean; readonly spread: boolean };

/** Makes the database that all ledgers are copied from, through the service's own API. */
export async function makeSeed(resources: Resources, server: DatabaseServer, content: SeedContent): Promise<Seed> {
  const database = 'bench_seed';
  await server.query('postgres', `create database ${database} owner transfer_service`);
  const url = databaseUrl(server, database);
  const key = await createOperatorKey(resources, url);
  const service = await startService({ ...LIVE, DATABASE_URL: url, DATA_DIR: `${server.directory}/seed` });
  const stop = resources.add('the service that makes the seed', async () => void (await service.stop()));
  const seed = await create({ database, key, url: service.url }, content).catch((error: unknown) => {
    throw new Error(`the seed could not be made. Its service: ${service.errors().slice(-2000)}`, { cause: error });
  });
  await stop();
  await server.query(database, 'vacuum analyze');
  return seed;
}

async function create(
  { database, key, url }: { readonly database: string; readonly key: string; readonly url: string },
  content: SeedContent,
): Promise<Seed> {
  const operator = new TransferService({ baseUrl: url, key });
  const makeProgram = async (name: string, cards: number, isLimited: boolean): Promise<SeedProgram> => {
    const { program_id } = await operator.programs.create({ name, currency: 'USD' });
    if (isLimited) await operator.programs.update(program_id, { limits: PROGRAM_LIMITS });
    await operator.deposits.create(program_id, { amount: FUNDING });
    const program = new TransferService({ baseUrl: url, key, programId: program_id });
    const limits = isLimited ? { limits: CARD_LIMITS } : {};
    await inParallel(cards, (index) => program.cards.create({ card_id: cardName(index + 1), ...limits }));
    const scopes = ['transfers:write', 'transfers:read', 'cards:read'] as const;
    const created = await operator.keys.create({ name: 'bench', program_id, scopes: [...scopes] });
    return { programId: program_id, key: created.key ?? '' };
  };
  const hot = await makeProgram('hot', HOT_CARDS, true);
  const unlimited = content.unlimited ? await makeProgram('unlimited', HOT_CARDS, false) : undefined;
  const spread: SeedProgram[] = [];
  await inParallel(content.spread ? SPREAD_PROGRAMS : 0, async (index) => {
    spread.push(await makeProgram(`spread ${index}`, 1, true));
  });
  return { database, hot, unlimited, spread };
}

async function inParallel(count: number, call: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: Math.min(CALLS, count) }, work));
}
