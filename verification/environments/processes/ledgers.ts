import { availableParallelism } from 'node:os';
import type pg from 'pg';
import { openStage, type Stage, untilAtRest } from '../../../test/faults/stage.ts';
import { onConnection } from '../../../test/harness/ledger.ts';
import { type Findings, pause, type Setting, streamOf, Tally } from '../../campaign.ts';
import { countsIn, readBooksAt, SUMS } from '../../checkers/books.ts';
import { Load } from '../../generators/load.ts';

/** One of a campaign's ledgers. A campaign spreads its attacks over several ledgers, because it compares whole ledgers. */
export type Ledger = {
  readonly number: number;
  /** The number of attacks on earlier ledgers. */
  readonly done: number;
  readonly attacks: number;
};

/**
 * The number of simultaneous ledgers in campaigns with kills. Recovery mostly waits for starts, and two CPU cores per ledger are
 * enough for its services, PostgreSQL and clients. The measured recovery includes their effect on each other.
 */
export const SIDE_BY_SIDE = Math.max(1, Math.min(4, Math.floor(availableParallelism() / 2)));

/**
 * Runs a campaign's attacks on several ledgers, up to `sideBySide` at a time. Starts no new ledger once there are enough
 * violations.
 */
export async function overLedgers(
  { count }: Setting,
  tally: Tally,
  attacksPerLedger: number,
  run: (ledger: Ledger) => Promise<void>,
  sideBySide = 1,
): Promise<void> {
  let next = 0;
  let isBroken = false;
  const runOneByOne = async (): Promise<void> => {
    while (next * attacksPerLedger < count && !tally.isFull && !isBroken) {
      const number = next;
      next += 1;
      const done = number * attacksPerLedger;
      await run({ number, done, attacks: Math.min(attacksPerLedger, count - done) });
    }
  };
  const orBreakAll = (error: unknown): never => {
    isBroken = true;
    throw error;
  };
  await Promise.all(Array.from({ length: sideBySide }, () => runOneByOne().catch(orBreakAll)));
}

/** The number of clients, enough for several groups to be in flight when the connection fails. */
const CLIENTS = 96;

/** The number of requests to repeat at the end of a ledger. */
const SENT_AGAIN = 400;

/** Attacks on the connection between a service and its database. `run` makes the attacks on one ledger. */
export type WireAttack = {
  readonly perLedger: number;
  readonly run: (stage: Stage, ledger: Ledger, tally: Tally, random: () => number) => Promise<void>;
};

/**
 * Attacks the connection between a service and its database under load, and reads sums directly from the database. Compares
 * the books after the attacks, and again after the clients have repeated their requests.
 */
export async function attackWire(setting: Setting, { perLedger, run }: WireAttack): Promise<Findings> {
  const tally = new Tally();
  await overLedgers(setting, tally, perLedger, async (ledger) => {
    const stage = await openStage();
    const end = setting.resources.add('the stage', () => stage.end());
    try {
      const load = new Load(CLIENTS, `ledger-${ledger.number}`, streamOf(setting.seed, ledger.number, 2));
      const { url } = stage.service();
      const check = async (where: string) => {
        await untilAtRest(stage);
        const books = await readBooksAt(stage.server.connection, load.cards);
        load.judge(tally, `ledger ${ledger.number}, ${where}`, books);
        return books;
      };
      await load.makeCards(stage.service());
      load.start(url);
      const stopReading = readSnapshots(async () => stage.server.connection, tally);
      try {
        await run(stage, ledger, tally, streamOf(setting.seed, ledger.number, 1));
        await load.pause();
      } finally {
        await stopReading();
      }
      await check('after the attacks');
      await load.settle(url, SENT_AGAIN);
      load.count(tally, await check('everything sent again'));
    } finally {
      await end();
    }
  });
  return tally.findings({ clients: CLIENTS });
}

/** The interval between snapshots, in milliseconds. */
const BETWEEN = 200;

/** The timeout of a read, in milliseconds. The server may have been killed. */
const TIMEOUT_MILLISECONDS = 5_000;

/**
 * Reads the sums of the books directly from the database a few times per second until it is stopped. Retries if the server is down.
 * Counts the snapshots. A run without any is a violation.
 */
export function readSnapshots(settings: () => Promise<pg.ClientConfig>, tally: Tally): () => Promise<void> {
  const before = tally.count('snapshots');
  let isOver = false;
  const readOn = async (): Promise<void> => {
    while (!isOver) {
      // The server may have been killed, or may be starting.
      await readWhileThere(settings, tally, () => !isOver).catch(() => undefined);
      await pause(BETWEEN);
    }
  };
  const reading = readOn();
  return async () => {
    isOver = true;
    await reading;
    if (tally.count('snapshots') === before) tally.violate('snapshots', ['no snapshot could be read']);
  };
}

async function readWhileThere(
  settings: () => Promise<pg.ClientConfig>,
  tally: Tally,
  goesOn: () => boolean,
): Promise<void> {
  const limits = { connectionTimeoutMillis: TIMEOUT_MILLISECONDS, query_timeout: TIMEOUT_MILLISECONDS };
  await onConnection({ ...(await settings()), ...limits }, async (client) => {
    while (goesOn()) {
      // One statement sees one snapshot.
      const { rows } = await client.query<Record<string, string>>(`select ${SUMS}`);
      tally.add('snapshots');
      const wrong = Object.entries(countsIn(rows)).map(([what, count]) => `${what}: ${count}`);
      tally.violate('snapshot', wrong);
      await pause(BETWEEN);
    }
  });
}
