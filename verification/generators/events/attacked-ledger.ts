import { pause, streamOf, Tally } from '../../campaign.ts';
import {
  ALL_BY_NUMBER,
  type EventBooks,
  readEventBooks,
  type Timeline,
  tellEvents,
} from '../../checkers/events/event-books.ts';
import {
  chooseVictims,
  type KillableServices,
  oncePostgresIsBack,
} from '../../environments/processes/killable-services.ts';
import type { Ledger } from '../../environments/processes/ledgers.ts';
import { Load } from '../load.ts';
import { makeCards } from '../loads.ts';
import { Caller } from './callers.ts';
import { type Programs, uuidOf } from './programs.ts';

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

/** The actions of a row around the kills. */
export type Attacks = {
  /** Called before the wait for transfers. `share` is the share of kills already done. */
  readonly prepare?: (share: number) => Promise<void>;
  /** Called during the wait for transfers. */
  readonly beside?: () => Promise<void>;
  readonly check: (where: string) => Promise<void>;
  readonly checkEnd: (where: string) => Promise<void>;
  /** Called after the check that follows each kill. */
  readonly killed: () => void;
};

/** The longest wait for the transfers between two kills, in milliseconds. */
const LONGEST_BETWEEN = 8_000;

/** A ledger whose two services are killed, with its clients and callers. */
export class AttackedLedger {
  readonly tally = new Tally();
  readonly services: KillableServices;
  readonly load: Load;
  readonly callers: readonly Caller[];
  readonly random: () => number;
  /** The times of the kills, in milliseconds since 1970. */
  readonly kills: number[] = [];
  readonly #work: Work;
  readonly #programs: Programs;

  constructor(seed: number, ledger: number, services: KillableServices, programs: Programs, work: Work) {
    this.services = services;
    this.#programs = programs;
    this.#work = work;
    this.random = streamOf(seed, ledger, 1);
    this.load = new Load(work.clients, `ledger-${ledger}`, streamOf(seed, ledger, 2));
    this.callers = Array.from(
      { length: work.callers },
      (_, index) => new Caller(ledger, index, programs.other, () => services.urls, streamOf(seed, ledger, 3, index)),
    );
  }

  async withstand({ done, attacks: kills }: Ledger, attacks: Attacks): Promise<void> {
    const { tally, load, services } = this;
    await makeCards(load, services.owner);
    let goesOn = true;
    load.start(...services.urls);
    const calling = Promise.all(this.callers.map((caller) => caller.run(() => goesOn)));
    try {
      for (let kill = 1; kill <= kills && !tally.isEnough; kill += 1) {
        await attacks.prepare?.((kill - 1) / kills);
        await Promise.all([this.#untilEnough(), attacks.beside?.()]);
        await this.#kill(kill);
        await attacks.check(`kill ${done + kill}`);
        attacks.killed();
      }
    } finally {
      goesOn = false;
      await load.pause();
      await calling;
    }
    if (tally.violations.length > 0) return;
    await load.settle(services.other.url, this.#work.sentAgain);
    await attacks.checkEnd(`after kill ${done + kills}`);
  }

  async #untilEnough(): Promise<void> {
    const wanted = this.load.made + this.#work.transfersBetweenKills;
    const started = performance.now();
    while (this.load.made < wanted && performance.now() - started < LONGEST_BETWEEN) await pause(10);
    await pause(this.random() * 300);
  }

  async #kill(kill: number): Promise<void> {
    const victims = chooseVictims(kill, this.random);
    this.tally.add(`kills_${victims}`);
    const milliseconds = await this.services.kill(victims, this.random, {
      kills: () => this.kills.push(Date.now()),
      expectDeath: (url) => this.load.expectDeath(url),
      moved: () => this.load.redirect(...this.services.urls),
    });
    if (milliseconds === Number.POSITIVE_INFINITY)
      return this.tally.violate('recovery', [`no transfer within 60 s of: ${victims}`]);
    this.tally.time('recovery', milliseconds);
  }

  untilRelayed(withinMilliseconds: number): Promise<EventBooks> {
    return untilRelayed(() => this.readBooks(), this.tally, withinMilliseconds);
  }

  readBooks(): Promise<EventBooks> {
    return oncePostgresIsBack(() => readEventBooks({ connectionString: this.services.databaseUrl }));
  }

  /** Returns the events in the books, and the problems of the books. */
  tell(books: EventBooks) {
    const { demo, other } = this.#programs;
    return tellEvents(books, [uuidOf(demo), uuidOf(other)]);
  }
}

/** Returns the events of a program, or of all programs by number. */
export function timelineOf(programId: string | undefined, timelines: ReadonlyMap<string, Timeline>): Timeline {
  return timelines.get(programId === undefined ? ALL_BY_NUMBER : uuidOf(programId)) ?? [];
}

/** Reads the books until the relays are idle and no transfer will become due. Reports a violation if that takes too long. */
export async function untilRelayed(
  read: () => Promise<EventBooks>,
  tally: Tally,
  withinMilliseconds: number,
): Promise<EventBooks> {
  const from = performance.now();
  for (;;) {
    const books = await read();
    if (books.waiting === 0 && books.due === 0) return books;
    if (performance.now() - from > withinMilliseconds) {
      const { waiting, due } = books;
      tally.violate('relay', [`${waiting} transactions have no positions yet, and ${due} transfers are due`]);
      return books;
    }
    await pause(100);
  }
}
