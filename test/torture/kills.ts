import { rm } from 'node:fs/promises';
import { readBooks, readTexts } from '../crashes/books.ts';
import { killPostgres } from '../crashes/killing.ts';
import { Load } from '../crashes/load.ts';
import { type ServiceProcess, startService, temporaryDirectory } from '../harness/process.ts';
import { contradictionsIn, makeCards, tallyLoad, untilAtWork } from './loads.ts';
import { killTree } from './process-tree.ts';
import { type Findings, pause, type Row, type Setting, streamOf, Tally } from './row.ts';

/** What is killed: PostgreSQL's main process alone or all of its processes, the service, or both. */
const VICTIMS = ['service', 'postgres', 'postmaster', 'both'] as const;
type Victims = (typeof VICTIMS)[number];

const CLIENTS = 32;

/** Kills on one ledger: its books are compared whole after each, so they must not grow for ever. */
const KILLS_OF_LEDGER = 25;

/** Transfers between two kills at least, so that 1,000 kills come among more than 500,000; and the longest wait for them. */
const BETWEEN_KILLS = 580;
const LONGEST_BETWEEN = 8_000;

/** Requests that are sent once more at the end of a ledger. */
const SENT_AGAIN = 400;

/** Recovery must be that quick for 99 of 100 kills, in milliseconds. */
const RECOVERY = 5_000;

/** One ledger, from its first start to the last kill. */
class Siege {
  readonly #setting: Setting;
  readonly #tally: Tally;
  readonly #load: Load;
  readonly #random: () => number;
  readonly #path: string;
  #service: ServiceProcess;

  private constructor(setting: Setting, tally: Tally, ledger: number, path: string, service: ServiceProcess) {
    this.#setting = setting;
    this.#tally = tally;
    this.#random = streamOf(setting.seed, ledger, 1);
    this.#load = new Load(CLIENTS, `ledger-${ledger}`, streamOf(setting.seed, ledger, 2));
    this.#path = path;
    this.#service = service;
  }

  static async run(setting: Setting, tally: Tally, ledger: number, kills: number): Promise<void> {
    const directory = await temporaryDirectory();
    const service = await startService({ DATA_DIR: directory.path, LOG_LEVEL: 'silent' }, setting.main);
    const siege = new Siege(setting, tally, ledger, directory.path, service);
    const before = tally.violations.length;
    const end = setting.belongings.add('the service', async () => {
      const { pid, exitCode, signalCode } = siege.#service.child;
      if (pid !== undefined && exitCode === null && signalCode === null) await killTree(pid);
      await killPostgres(directory.path, true).catch(() => undefined);
      // What shows a violation is kept, unless it was made to.
      if (tally.violations.length === before || setting.main !== undefined)
        await rm(directory.path, { recursive: true, force: true, maxRetries: 5 });
    });
    try {
      await siege.#withstand(ledger * KILLS_OF_LEDGER, kills);
      await siege.#service.stop();
    } finally {
      await end();
      if (tally.violations.length > before)
        tally.violate(`ledger ${ledger}`, [`its files are kept: ${directory.path}`]);
    }
  }

  async #withstand(done: number, kills: number): Promise<void> {
    await makeCards(this.#load, this.#service);
    for (let kill = 1; kill <= kills && !this.#tally.isEnough; kill += 1) {
      this.#load.start(this.#service.url);
      await this.#untilEnough();
      await this.#kill(this.#choose(kill));
      await this.#load.pause();
      await this.#check(`kill ${done + kill}`);
      this.#setting.progress(done + kill, `${this.#tally.count('violations')} violations`);
    }
    await this.#load.settle(this.#service.url, SENT_AGAIN);
    const where = `after kill ${done + kills}, everything sent again`;
    tallyLoad(this.#tally, this.#load, await this.#check(where, await readTexts(this.#service.client)));
  }

  /** Alternating, and at random now and then; every kill in turn is of the service. */
  #choose(kill: number): Victims {
    const at = (bound: number): number => Math.floor(this.#random() * bound);
    if (this.#random() < 0.25) return VICTIMS[at(VICTIMS.length)] ?? 'service';
    if (kill % 2 === 1) return 'service';
    return (['postgres', 'postgres', 'both', 'postmaster'] as const)[at(4)] ?? 'postgres';
  }

  /** Enough traffic, and then a moment that nobody can foresee. */
  async #untilEnough(): Promise<void> {
    const before = this.#load.stories.length;
    const started = performance.now();
    while (this.#load.stories.length - before < BETWEEN_KILLS && performance.now() - started < LONGEST_BETWEEN) {
      await pause(10);
    }
    await pause(this.#random() * 200);
  }

  async #kill(victims: Victims): Promise<void> {
    this.#tally.add(`kills_${victims}`);
    const killedAt = performance.now();
    if (victims !== 'service') await killPostgres(this.#path, victims !== 'postmaster');
    if (victims === 'service' || victims === 'both') {
      await this.#service.kill();
      await this.#load.pause();
      this.#service = await startService({ DATA_DIR: this.#path, LOG_LEVEL: 'silent' }, this.#setting.main);
    } else {
      // Killed again while it recovers, one time in ten.
      const again = this.#random() < 0.1;
      await pause(again ? this.#random() * 200 : 0);
      if (again) await killPostgres(this.#path, true).catch(() => undefined);
    }
    const rest = await untilAtWork(this.#service.url);
    const milliseconds = performance.now() - killedAt;
    this.#tally.time('recovery', milliseconds);
    this.#tally.time(`recovery_${victims}`, milliseconds);
    if (rest === Number.POSITIVE_INFINITY) this.#tally.violate('recovery', [`no transfer within 60 s of: ${victims}`]);
  }

  async #check(where: string, texts?: ReadonlyMap<string, string>) {
    const books = await readBooks(this.#path, this.#load.cards, texts);
    this.#tally.violate(where, contradictionsIn(this.#load, books));
    return books;
  }
}

async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  const ledgers = Math.ceil(setting.count / KILLS_OF_LEDGER);
  for (let ledger = 0; ledger < ledgers && !tally.isEnough; ledger += 1) {
    await Siege.run(setting, tally, ledger, Math.min(KILLS_OF_LEDGER, setting.count - ledger * KILLS_OF_LEDGER));
  }
  const { p99 } = tally.spread('recovery');
  if (p99 > RECOVERY) tally.violate('recovery', [`p99 is ${p99} ms, and ${RECOVERY} ms are the most`]);
  return { figures: { clients: CLIENTS, ...tally.figures() }, violations: tally.violations };
}

/** SIGKILL of the service and of PostgreSQL, under load. */
export const KILLS: Row = { name: 'kills', unit: 'kills', counts: { small: 20, middle: 100, large: 1000 }, run };
