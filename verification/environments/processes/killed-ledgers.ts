import type { Resources } from '../../../bench/resources.ts';
import { type Findings, pause, type Setting, streamOf, Tally } from '../../campaign.ts';
import { type Books, readBooks, readTexts } from '../../checkers/books.ts';
import { Caller, makePrograms, type Programs } from '../../generators/events/callers.ts';
import { Load } from '../../generators/load.ts';
import type { Consumers } from './consumers.ts';
import { type Ledger, overLedgers, readSnapshots, SIDE_BY_SIDE } from './ledgers.ts';
import { chooseVictims, oncePostgresIsBack, type TwoServices, type TwoSettings, withTwoServices } from './services.ts';

/** The amount of work on a ledger. */
export type Work = {
  /** The number of clients that move money in the first program. */
  readonly clients: number;
  /** The number of callers that send all other requests, in the second program. */
  readonly callers: number;
  /** The number of kills per ledger. After each kill, the whole ledger is compared, so it must stay small. */
  readonly killsPerLedger: number;
  /** The number of acknowledged transfers to wait for before a kill. `made` is the number so far. */
  readonly transfersUntil: (kill: number, made: number) => number;
  /** The services that the clients use before and after a kill. Without it, they use both. */
  readonly urlsFor?: (ledger: number, kill: number, urls: readonly string[]) => readonly string[];
  /** The number of requests that are repeated at the end. */
  readonly sentAgain: number;
};

/** The consumers of a ledger's events, and the actions of a campaign around the kills. */
export type Attended = {
  readonly consumers: Consumers;
  /** Runs during the wait for the transfers before a kill. `share` is the share of the kills that have been done. */
  readonly beforeKill?: (share: number) => Promise<void>;
  /** Compares everything when all requests have their final responses. */
  readonly checkEnd: (where: string) => Promise<unknown>;
};

/** A campaign that kills services and PostgreSQL under load. */
export type KillCampaign = {
  readonly work: Work;
  readonly settings?: (ledger: number) => TwoSettings;
  /** Starts the consumers of events. */
  readonly attend?: (ledger: KilledLedger, resources: Resources) => Promise<Attended>;
  /** The maximum p99 of the recovery on an idle machine, in milliseconds. */
  readonly maxRecovery?: number;
};

/** The parts of a ledger. */
type Parts = {
  readonly services: TwoServices;
  readonly programs: Programs;
  readonly tally: Tally;
  readonly work: Work;
};

/** A ledger whose two services are killed, with its clients and callers, from its first start to the last kill. */
export class KilledLedger {
  readonly tally: Tally;
  readonly services: TwoServices;
  readonly programs: Programs;
  readonly callers: readonly Caller[];
  readonly random: () => number;
  /** The random numbers for the receiver's behavior. */
  readonly randomOfReceiver: () => number;
  readonly #number: number;
  readonly #load: Load;
  readonly #work: Work;

  constructor({ seed }: Setting, number: number, { services, programs, tally, work }: Parts) {
    this.tally = tally;
    this.services = services;
    this.programs = programs;
    this.#number = number;
    this.#work = work;
    this.random = streamOf(seed, number, 1);
    this.randomOfReceiver = streamOf(seed, number, 4);
    this.#load = new Load(work.clients, `ledger-${number}`, streamOf(seed, number, 2));
    this.callers = Array.from(
      { length: work.callers },
      (_, index) => new Caller(number, index, programs.other, () => services.urls, streamOf(seed, number, 3, index)),
    );
  }

  /** Calls `checked` after checking each kill. */
  async withstand(
    { done, attacks: kills }: Ledger,
    attended: Attended | undefined,
    checked: () => void,
  ): Promise<void> {
    const { tally, services } = this;
    const load = this.#load;
    let goesOn = true;
    await load.makeCards(services.owner);
    const stopReading = readSnapshots(async () => ({ connectionString: services.databaseUrl }), tally);
    const calling = Promise.all(this.callers.map((caller) => caller.run(() => goesOn)));
    try {
      for (let kill = 1; kill <= kills && !tally.isFull; kill += 1) {
        load.start(...this.#urlsFor(kill));
        await Promise.all([this.#untilEnough(kill), attended?.beforeKill?.((kill - 1) / kills)]);
        await this.#kill(kill, attended?.consumers);
        await load.pause();
        await this.#judge(`kill ${done + kill}`);
        await attended?.consumers.check(`kill ${done + kill}`);
        checked();
      }
    } finally {
      goesOn = false;
      await load.pause();
      await calling;
      await stopReading();
    }
    // Stops here after a violation, because a lost transfer can never settle: capturing it always fails as not found.
    if (tally.violations.length > 0) return;
    await load.settle(services.other.url, this.#work.sentAgain);
    const where = `after kill ${done + kills}, everything sent again`;
    await attended?.checkEnd(where);
    load.count(tally, await this.#judge(where, await readTexts(services.owner.client)));
  }

  #urlsFor(kill: number): readonly string[] {
    const { urls } = this.services;
    return this.#work.urlsFor?.(this.#number, kill, urls) ?? urls;
  }

  /** Waits for enough transfers, including those during the last recovery, and then for a random time. */
  async #untilEnough(kill: number): Promise<void> {
    await this.#load.untilMade(this.#work.transfersUntil(kill, this.#load.made));
    await pause(this.random() * 200);
  }

  /** Kills processes, while the clients continue with the others. */
  async #kill(kill: number, consumers: Consumers | undefined): Promise<void> {
    await this.services.kill(chooseVictims(kill, this.random), this.random, this.tally, {
      kills: () => consumers?.kills.push(Date.now()),
      expectDeath: (url) => this.#load.expectDeath(url),
      moved: () => this.#load.redirect(...this.#urlsFor(kill)),
    });
  }

  async #judge(where: string, texts?: ReadonlyMap<string, string>): Promise<Books> {
    const books = await oncePostgresIsBack(() => readBooks(this.services.path, this.#load.cards, texts));
    this.#load.judge(this.tally, where, books);
    return books;
  }
}

/** Runs a campaign on several ledgers. */
export async function killUnderLoad(setting: Setting, campaign: KillCampaign): Promise<Findings> {
  const { work, settings, attend, maxRecovery } = campaign;
  const tally = new Tally();
  let kills = 0;
  const checked = (): void => setting.progress(++kills, `${tally.count('violations')} violations`);
  const run = (ledger: Ledger): Promise<void> =>
    withTwoServices(
      setting,
      tally,
      ledger.number,
      settings?.(ledger.number) ?? {},
      async (services, found, started) => {
        const programs = await makePrograms(services.owner.client);
        const killed = new KilledLedger(setting, ledger.number, { services, programs, tally: found, work });
        const attended = await attend?.(killed, started);
        started.add('the consumers', async () => attended?.consumers.stop());
        await killed.withstand(ledger, attended, checked);
      },
    );
  await overLedgers(setting, tally, work.killsPerLedger, run, SIDE_BY_SIDE);
  if (maxRecovery !== undefined) tally.bound(setting, 'recovery', maxRecovery);
  const { clients, callers } = work;
  return tally.findings({ clients, callers, processes: 2, ledgers_side_by_side: SIDE_BY_SIDE });
}
