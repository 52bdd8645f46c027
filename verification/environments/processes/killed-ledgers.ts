import type { Resources } from '../../../bench/resources.ts';
import { type Findings, pause, type Setting, streamOf, Tally } from '../../campaign.ts';
import { readBooks } from '../../checkers/books.ts';
import { Caller, makePrograms, type Programs } from '../../generators/events/callers.ts';
import { Load } from '../../generators/load.ts';
import type { Consumers } from './consumers.ts';
import { type Ledger, overLedgers, SIDE_BY_SIDE } from './ledgers.ts';
import { chooseVictims, type TwoServices, type TwoSettings, withTwoServices } from './services.ts';

/** The amount of work on a ledger. */
export type Work = {
  /** Clients that move money in the first program. */
  readonly clients: number;
  /** Callers that send all other requests, in the second program. */
  readonly callers: number;
  /** Transfers from one kill to the next. */
  readonly transfersBetweenKills: number;
  /** Requests that are repeated at the end. */
  readonly sentAgain: number;
};

/** The consumers of a ledger's events, and the actions of a campaign around the kills. */
export type Attended = {
  readonly consumers: Consumers;
  /** Runs during the wait for the transfers before a kill. `share` is the share of kills already done. */
  readonly beforeKill?: (share: number) => Promise<void>;
  /** Compares everything when all requests have their final responses. */
  readonly checkEnd: (where: string) => Promise<unknown>;
};

/** A campaign that kills services and PostgreSQL under load, while consumers receive the events. */
export type KillCampaign = {
  readonly work: Work;
  readonly settings: (ledger: number) => TwoSettings;
  /** Starts the consumers. */
  readonly attend: (ledger: KilledLedger, resources: Resources) => Promise<Attended>;
};

/** Kills per ledger. After each, all events of the ledger are compared with everything that was received. */
const KILLS_PER_LEDGER = 10;

/** What a ledger is made of. */
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
  /** The stream of the receiver's behaviour. */
  readonly randomOfReceiver: () => number;
  readonly #load: Load;
  readonly #work: Work;

  constructor({ seed }: Setting, number: number, { services, programs, tally, work }: Parts) {
    this.tally = tally;
    this.services = services;
    this.programs = programs;
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
  async withstand({ done, attacks: kills }: Ledger, attended: Attended, checked: () => void): Promise<void> {
    const { tally, services } = this;
    const load = this.#load;
    await load.makeCards(services.owner);
    let goesOn = true;
    load.start(...services.urls);
    const calling = Promise.all(this.callers.map((caller) => caller.run(() => goesOn)));
    try {
      for (let kill = 1; kill <= kills && !tally.isFull; kill += 1) {
        await Promise.all([this.#untilEnough(), attended.beforeKill?.((kill - 1) / kills)]);
        await this.#kill(kill, attended.consumers);
        await attended.consumers.check(`kill ${done + kill}`);
        checked();
      }
    } finally {
      goesOn = false;
      await load.pause();
      await calling;
    }
    if (tally.violations.length > 0) return;
    await load.settle(services.other.url, this.#work.sentAgain);
    const where = `after kill ${done + kills}`;
    await attended.checkEnd(where);
    load.judge(tally, where, await readBooks(services.path, load.cards));
    tally.add('transfers', load.made);
  }

  async #untilEnough(): Promise<void> {
    await this.#load.untilMade(this.#load.made + this.#work.transfersBetweenKills);
    await pause(this.random() * 300);
  }

  async #kill(kill: number, consumers: Consumers): Promise<void> {
    await this.services.kill(chooseVictims(kill, this.random), this.random, this.tally, {
      kills: () => consumers.kills.push(Date.now()),
      expectDeath: (url) => this.#load.expectDeath(url),
      moved: () => this.#load.redirect(...this.services.urls),
    });
  }
}

/** Runs a campaign on several ledgers. */
export async function killUnderLoad(setting: Setting, { work, settings, attend }: KillCampaign): Promise<Findings> {
  const tally = new Tally();
  let kills = 0;
  const checked = (): void => setting.progress(++kills, `${tally.count('violations')} violations`);
  const run = (ledger: Ledger): Promise<void> =>
    withTwoServices(setting, tally, ledger.number, settings(ledger.number), async (services, found, started) => {
      const programs = await makePrograms(services.owner.client);
      const killed = new KilledLedger(setting, ledger.number, { services, programs, tally: found, work });
      const attended = await attend(killed, started);
      started.add('the consumers', () => attended.consumers.stop());
      await killed.withstand(ledger, attended, checked);
    });
  await overLedgers(setting, tally, KILLS_PER_LEDGER, run, SIDE_BY_SIDE);
  const { clients, callers } = work;
  return tally.findings({ clients, callers, processes: 2, ledgers_side_by_side: SIDE_BY_SIDE });
}
