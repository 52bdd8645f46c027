import { type Findings, pause, type Setting, streamOf, Tally } from '../campaign.ts';
import { readBooks, readTexts } from '../checkers/books.ts';
import { type Ledger, overLedgers, SIDE_BY_SIDE } from '../environments/processes/ledgers.ts';
import {
  chooseVictims,
  oncePostgresIsBack,
  type TwoServices,
  withTwoServices,
} from '../environments/processes/services.ts';
import { readSnapshots } from '../environments/processes/snapshots.ts';
import { Load } from '../generators/load.ts';

/** Enough for several groups to be in flight when something is killed. */
const CLIENTS = 96;
const QUICK_CLIENTS = 16;

/**
 * Kills per ledger. After each, the whole books are compared, so they must stay small. After twelve, a comparison costs about
 * as much as starting the next ledger.
 */
const KILLS_PER_LEDGER = 12;

/** The average transfers per kill, for more than 500,000 in 1,000 kills, and the minimum between two kills. */
const BETWEEN_KILLS = 510;
const LEAST_BETWEEN = 100;
const QUICK_LEAST_BETWEEN = 20;

/** The number of requests to repeat at the end of a ledger. */
const SENT_AGAIN = 400;

/** The maximum p99 of recovery on an idle machine, in milliseconds. */
const MAX_RECOVERY = 5_000;

/** One ledger with two services, from its first start to the last kill. */
class KilledBooks {
  readonly #tally: Tally;
  readonly #load: Load;
  readonly #random: () => number;
  /** Whether clients use both services, which then break each other's chains. With one service, a chain lasts until a kill. */
  readonly #usesBoth: boolean;
  readonly #services: TwoServices;
  readonly #isQuick: boolean;

  constructor({ seed, isQuick = false }: Setting, ledger: number, services: TwoServices, tally: Tally) {
    this.#tally = tally;
    this.#random = streamOf(seed, ledger, 1);
    this.#load = new Load(isQuick ? QUICK_CLIENTS : CLIENTS, `ledger-${ledger}`, streamOf(seed, ledger, 2));
    this.#isQuick = isQuick;
    this.#usesBoth = ledger % 2 === 0;
    this.#services = services;
  }

  /** Calls `killed` after checking each kill. */
  async withstand({ done, attacks: kills }: Ledger, killed: () => void): Promise<void> {
    const { owner, databaseUrl } = this.#services;
    const stopReading = readSnapshots(async () => ({ connectionString: databaseUrl }), this.#tally);
    try {
      await this.#load.makeCards(owner);
      for (let kill = 1; kill <= kills && !this.#tally.isFull; kill += 1) {
        this.#load.start(...this.#loaded(kill));
        await this.#untilEnough(kill);
        await this.#kill(kill);
        await this.#load.pause();
        await this.#check(`kill ${done + kill}`);
        killed();
      }
    } finally {
      await stopReading();
    }
    // A lost transfer can never settle: capturing it always fails as not found.
    if (this.#tally.violations.length > 0) return;
    await this.#load.settle(this.#services.other.url, SENT_AGAIN);
    const where = `after kill ${done + kills}, everything sent again`;
    this.#load.count(this.#tally, await this.#check(where, await readTexts(this.#services.owner.client)));
  }

  /** The addresses that clients use before and after a kill. */
  #loaded(kill: number): readonly string[] {
    const { urls } = this.#services;
    return this.#usesBoth ? urls : urls.slice(kill % 2).slice(0, 1);
  }

  /** Waits for enough transfers, including those during the last recovery, and then for a random time. */
  async #untilEnough(kill: number): Promise<void> {
    const wanted = this.#isQuick
      ? this.#load.made + QUICK_LEAST_BETWEEN
      : Math.max(kill * BETWEEN_KILLS, this.#load.made + LEAST_BETWEEN);
    await this.#load.untilMade(wanted);
    await pause(this.#random() * 200);
  }

  /** Kills processes, while the clients continue with the others. */
  async #kill(kill: number): Promise<void> {
    await this.#services.kill(chooseVictims(kill, this.#random), this.#random, this.#tally, {
      expectDeath: (url) => this.#load.expectDeath(url),
      moved: () => this.#load.redirect(...this.#loaded(kill)),
    });
  }

  async #check(where: string, texts?: ReadonlyMap<string, string>) {
    const books = await oncePostgresIsBack(() => readBooks(this.#services.path, this.#load.cards, texts));
    this.#load.judge(this.#tally, where, books);
    return books;
  }
}

export async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  let kills = 0;
  const tell = (): void => setting.progress(++kills, `${tally.count('violations')} violations`);
  const runOn = (ledger: Ledger): Promise<void> =>
    withTwoServices(setting, tally, ledger.number, {}, (services, found) =>
      new KilledBooks(setting, ledger.number, services, found).withstand(ledger, tell),
    );
  await overLedgers(setting, tally, KILLS_PER_LEDGER, runOn, SIDE_BY_SIDE);
  tally.bound(setting, 'recovery', MAX_RECOVERY);
  const clients = setting.isQuick === true ? QUICK_CLIENTS : CLIENTS;
  return tally.findings({ clients, processes: 2, ledgers_side_by_side: SIDE_BY_SIDE });
}
