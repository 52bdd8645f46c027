import { stockPostgresIn } from './postgres/stock-postgres.ts';
import { type ServiceProcess, startService, temporaryDirectory } from './process.ts';

/**
 * The median duration of a single caller's transfer in milliseconds, on two servers that take turns. Also the results
 * of simultaneous calls.
 */
export type SpeedComparison = {
  readonly embedded: number;
  readonly stock: number;
  readonly ratio: number;
  /** Statuses other than 201 of the `create_card` calls on the stock server. */
  readonly failures: readonly number[];
};

/** In each round, both servers create the same number of transfers. They alternate in going first. */
const ROUNDS = 30;
const TRANSFERS = 20;

const SIMULTANEOUS = 50;
const WAVES = 5;

/** Compares a transfer on the embedded server with a transfer on stock binaries, on this machine at this moment. */
export async function compareSpeed(binaries: string): Promise<SpeedComparison> {
  const directories = [await temporaryDirectory(), await temporaryDirectory()] as const;
  const services: ServiceProcess[] = [];
  try {
    const [own, foreign] = directories.map(({ path }) => path) as [string, string];
    const { url } = await stockPostgresIn(foreign, binaries);
    const quiet = { LOG_LEVEL: 'warn', RATE_LIMIT_PER_ADDRESS: '999999' };
    const embedded = await startService({ ...quiet, DATA_DIR: own });
    services.push(embedded);
    const stock = await startService({ ...quiet, DATA_DIR: foreign, DATABASE_URL: url });
    services.push(stock);
    const failures = await createCardsAtOnce(stock);
    const times = new Map([embedded, stock].map((service) => [service, [] as number[]]));
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const service of round % 2 === 0 ? [embedded, stock] : [stock, embedded]) {
        const taken = await timeTransfers(service);
        // The first round opens connections and plans statements, so it does not count.
        if (round > 0) times.get(service)?.push(...taken);
      }
    }
    const [ofEmbedded, ofStock] = [median(times.get(embedded)), median(times.get(stock))];
    return { embedded: ofEmbedded, stock: ofStock, ratio: ofStock / ofEmbedded, failures };
  } finally {
    for (const service of services) await service.stop();
    for (const directory of directories) await directory.remove();
  }
}

async function timeTransfers({ client }: ServiceProcess): Promise<readonly number[]> {
  const times: number[] = [];
  for (let made = 0; made < TRANSFERS; made += 1) {
    const begun = performance.now();
    await client.transfers.create({ amount: 1, card_id: 'card_active' });
    times.push(performance.now() - begun);
  }
  return times;
}

async function createCardsAtOnce({ client }: ServiceProcess): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let wave = 0; wave < WAVES; wave += 1) {
    const calls = Array.from({ length: SIMULTANEOUS }, () =>
      client.cards.create().then(
        () => 201,
        (error: unknown) => Number(Reflect.get(Object(error), 'Status')),
      ),
    );
    statuses.push(...(await Promise.all(calls)));
  }
  return statuses.filter((status) => status !== 201);
}

function median(times: readonly number[] = []): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? Number.NaN;
}
