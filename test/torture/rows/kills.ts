import { availableParallelism } from 'node:os';
import { Belongings } from '../../../bench/belongings.ts';
import { readBooks, readTexts } from '../../crashes/books.ts';
import { killPostgres } from '../../crashes/killing.ts';
import { Load } from '../../crashes/load.ts';
import { type ServiceProcess, startService } from '../../harness/process.ts';
import { type Ledger, overLedgers } from '../ledgers.ts';
import { judge, makeCards, tallyLoad, untilAtWork } from '../loads.ts';
import { killTree } from '../process-tree.ts';
import { type Findings, pause, type Row, type Setting, streamOf, Tally } from '../row.ts';
import { readSnapshots } from '../snapshots.ts';
import { startTwoServices, type TwoServices } from '../two-services.ts';

/**
 * What is killed: a service, be it the one that owns PostgreSQL or the other; both; PostgreSQL's main process alone or all
 * of its processes; everything at once.
 */
const VICTIMS = ['owner', 'other', 'both_services', 'postmaster', 'postgres', 'everything'] as const;
type Victims = (typeof VICTIMS)[number];

/** Which of the two services die. */
const DYING: Readonly<Record<Victims, readonly (0 | 1)[]>> = {
  owner: [0],
  other: [1],
  both_services: [0, 1],
  postmaster: [],
  postgres: [],
  everything: [0, 1],
};

/** Enough for several groups to be in flight when something is killed. */
const CLIENTS = 96;

/**
 * Kills on one ledger: its books are compared whole after each, so they must not grow for ever. Twelve cost about as much
 * in comparing as in starting the next ledger.
 */
const KILLS_OF_LEDGER = 12;

/**
 * Ledgers side by side. Recovery is mostly waiting for what starts, and two processors for each ledger are enough for its
 * services, its PostgreSQL and its clients; what they cost each other is part of the measured recovery.
 */
const LEDGERS = Math.max(1, Math.min(4, Math.floor(availableParallelism() / 2)));

/** Transfers for each kill, so that 1,000 kills come among more than 500,000; some at least from one to the next. */
const BETWEEN_KILLS = 510;
const LEAST_BETWEEN = 100;

/** The longest wait for them, in milliseconds. */
const LONGEST_BETWEEN = 8_000;

/** For PostgreSQL to be back after a kill, in milliseconds, before its books are given up. */
const BACK_WITHIN = 30_000;

/** Requests that are sent once more at the end of a ledger. */
const SENT_AGAIN = 400;

/** Recovery must be that quick for 99 of 100 kills, in milliseconds. */
const RECOVERY = 5_000;

/** One ledger with two services, from its first start to the last kill. */
class Siege {
  readonly #setting: Setting;
  /** What this ledger has shown; others may be under siege beside it. */
  readonly #tally = new Tally();
  readonly #load: Load;
  readonly #random: () => number;
  /** Whether clients use both services, which then break each other's chains; or one, whose chain lives until a kill. */
  readonly #usesBoth: boolean;
  readonly #path: string;
  /** The same after each start of PostgreSQL, so what survives finds it again. */
  readonly #databaseUrl: string;
  readonly #services: [ServiceProcess, ServiceProcess];
  /** The last start, which may be under way when everything is to end. */
  #starting: Promise<ServiceProcess | undefined> = Promise.resolve(undefined);

  private constructor(setting: Setting, ledger: number, { path, databaseUrl, both }: TwoServices) {
    this.#setting = setting;
    this.#random = streamOf(setting.seed, ledger, 1);
    this.#load = new Load(CLIENTS, `ledger-${ledger}`, streamOf(setting.seed, ledger, 2));
    this.#usesBoth = ledger % 2 === 0;
    this.#path = path;
    this.#databaseUrl = databaseUrl;
    this.#services = [...both];
  }

  /** `killed` is called after each kill that has been checked. */
  static async run(setting: Setting, tally: Tally, ledger: Ledger, killed: () => void): Promise<void> {
    const started = new Belongings();
    let siege: Siege | undefined;
    const end = setting.belongings.add('the services', async () => {
      if (siege !== undefined) await siege.#killAll();
      // What shows a violation is kept, unless it was made to.
      if (siege !== undefined && siege.#tally.violations.length > 0 && setting.main === undefined)
        siege.#tally.violate(`ledger ${ledger.number}`, [`its files are kept: ${siege.#path}`]);
      else await started.endAll(() => undefined);
    });
    try {
      siege = new Siege(setting, ledger.number, await startTwoServices(started, setting.main));
      await siege.#withstand(ledger, killed);
      for (const service of siege.#services.toReversed()) await service.stop();
    } finally {
      await end();
      if (siege !== undefined) tally.take(siege.#tally);
    }
  }

  async #killAll(): Promise<void> {
    const starting = await this.#starting.catch(() => undefined);
    for (const service of [...this.#services, starting]) {
      if (service === undefined) continue;
      const { pid, exitCode, signalCode } = service.child;
      if (pid !== undefined && exitCode === null && signalCode === null) await killTree(pid);
    }
    await killPostgres(this.#path, true).catch(() => undefined);
  }

  async #withstand({ done, attacks: kills }: Ledger, killed: () => void): Promise<void> {
    const stopReading = readSnapshots(async () => ({ connectionString: this.#databaseUrl }), this.#tally);
    try {
      await makeCards(this.#load, this.#services[0]);
      for (let kill = 1; kill <= kills && !this.#tally.isEnough; kill += 1) {
        this.#load.start(...this.#loaded(kill));
        await this.#untilEnough(kill);
        await this.#kill(kill, this.#choose(kill));
        await this.#load.pause();
        await this.#check(`kill ${done + kill}`);
        killed();
      }
    } finally {
      await stopReading();
    }
    // What is lost could never be settled: whoever wants to capture it is told for ever that it is not there.
    if (this.#tally.violations.length > 0) return;
    const [owner, other] = this.#services;
    await this.#load.settle(other.url, SENT_AGAIN);
    const where = `after kill ${done + kills}, everything sent again`;
    tallyLoad(this.#tally, this.#load, await this.#check(where, await readTexts(owner.client)));
  }

  #urls(): readonly string[] {
    return this.#services.map(({ url }) => url);
  }

  /** The addresses that clients use until a kill and after it. */
  #loaded(kill: number): readonly string[] {
    const urls = this.#urls();
    return this.#usesBoth ? urls : urls.slice(kill % 2).slice(0, 1);
  }

  /** Alternating, and at random now and then; every other kill is of a service. */
  #choose(kill: number): Victims {
    const at = (bound: number): number => Math.floor(this.#random() * bound);
    if (this.#random() < 0.25) return VICTIMS[at(VICTIMS.length)] ?? 'owner';
    if (kill % 2 === 1) return (['owner', 'other', 'both_services'] as const)[at(3)] ?? 'owner';
    return (['postgres', 'postgres', 'everything', 'postmaster'] as const)[at(4)] ?? 'postgres';
  }

  /** Enough traffic, with what was made while the last kill was recovered from; then a moment that nobody can foresee. */
  async #untilEnough(kill: number): Promise<void> {
    const wanted = Math.max(kill * BETWEEN_KILLS, this.#load.made + LEAST_BETWEEN);
    const started = performance.now();
    while (this.#load.made < wanted && performance.now() - started < LONGEST_BETWEEN) await pause(10);
    await pause(this.#random() * 200);
  }

  /** The clients go on meanwhile with whatever is left, and with what comes back. */
  async #kill(kill: number, victims: Victims): Promise<void> {
    this.#tally.add(`kills_${victims}`);
    const killedAt = performance.now();
    const dying = DYING[victims];
    for (const place of dying) this.#load.expectDeath(this.#services[place].url);
    await Promise.all([
      ...(['postmaster', 'postgres', 'everything'].includes(victims)
        ? [killPostgres(this.#path, victims !== 'postmaster')]
        : []),
      ...dying.map((place) => this.#services[place].kill()),
    ]);
    // The owner first: it brings the database, without which the other does not start.
    for (const place of dying) this.#services[place] = await this.#start(place);
    this.#load.redirect(...this.#loaded(kill));
    // Killed again while it recovers, one time in ten.
    if (dying.length === 0 && this.#random() < 0.1) {
      await pause(this.#random() * 200);
      await killPostgres(this.#path, true).catch(() => undefined);
    }
    const rests = await Promise.all(this.#urls().map((url) => untilAtWork(url)));
    const milliseconds = performance.now() - killedAt;
    this.#tally.time('recovery', milliseconds);
    this.#tally.time(`recovery_${victims}`, milliseconds);
    if (rests.includes(Number.POSITIVE_INFINITY))
      this.#tally.violate('recovery', [`no transfer within 60 s of: ${victims}`]);
  }

  #start(place: 0 | 1): Promise<ServiceProcess> {
    const database = place === 0 ? { DATA_DIR: this.#path } : { DATABASE_URL: this.#databaseUrl };
    const starting = startService({ ...database, LOG_LEVEL: 'silent' }, this.#setting.main);
    this.#starting = starting;
    return starting;
  }

  async #check(where: string, texts?: ReadonlyMap<string, string>) {
    const books = await oncePostgresIsBack(() => readBooks(this.#path, this.#load.cards, texts));
    judge(this.#tally, where, this.#load, books);
    return books;
  }
}

/**
 * Reads until it can be read, for a while: where only PostgreSQL's main process was killed, a backend that it left behind
 * may have made the transfer by which the service was taken for recovered, and the server starts after that.
 */
async function oncePostgresIsBack<Books>(read: () => Promise<Books>): Promise<Books> {
  for (const end = performance.now() + BACK_WITHIN; ; ) {
    try {
      return await read();
    } catch (error) {
      if (performance.now() > end) throw error;
      await pause(100);
    }
  }
}

async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  let kills = 0;
  const tell = (): void => setting.progress(++kills, `${tally.count('violations')} violations`);
  await overLedgers(setting, tally, KILLS_OF_LEDGER, (ledger) => Siege.run(setting, tally, ledger, tell), LEDGERS);
  const { p99 } = tally.spread('recovery');
  if (p99 > RECOVERY) tally.violate('recovery', [`p99 is ${p99} ms, and ${RECOVERY} ms are the most`]);
  return {
    figures: { clients: CLIENTS, processes: 2, ledgers_side_by_side: LEDGERS, ...tally.figures() },
    violations: tally.violations,
  };
}

/** SIGKILL of either or both of two services and of PostgreSQL, under load. */
export const KILLS: Row = { name: 'kills', unit: 'kills', counts: { small: 20, middle: 100, large: 1000 }, run };
