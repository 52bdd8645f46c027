import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { Belongings } from '../../../bench/belongings.ts';
import { readBooks } from '../../crashes/books.ts';
import { Load } from '../../crashes/load.ts';
import { Caller } from '../events/callers.ts';
import { ALL_BY_NUMBER, type EventBooks, readEventBooks, type Timeline, tellEvents } from '../events/event-books.ts';
import { makePrograms, type Programs, uuidOf } from '../events/programs.ts';
import { chooseVictims, KillableServices, oncePostgresIsBack } from '../killable-services.ts';
import { type Ledger, overLedgers, SIDE_BY_SIDE } from '../ledgers.ts';
import { judge, makeCards } from '../loads.ts';
import { type Findings, pause, type Row, type Setting, streamOf, Tally } from '../row.ts';
import { conductAt } from '../webhooks/endpoints.ts';
import { countRepeats, type Expectation, notAccepted, wantedOf, wrongDeliveries } from '../webhooks/judge.ts';
import type { Deliveries } from '../webhooks/notes.ts';
import { Owner, type Webhook } from '../webhooks/owner.ts';
import { Receiver } from '../webhooks/run-receiver.ts';

/** Clients that move money in the first program, and callers that do all the rest in the second. */
const CLIENTS = 12;
const CALLERS = 6;

/** Kills on one ledger: what its webhooks have got is compared whole after each. */
const KILLS_OF_LEDGER = 10;

/** Transfers from one kill to the next, and the longest wait for them, in milliseconds. */
const BETWEEN_KILLS = 100;
const LONGEST_BETWEEN = 8_000;

/** Requests that are sent once more at the end of a ledger. */
const SENT_AGAIN = 50;

/** For the relays, and for the webhooks, to come to the end when nobody does anything any more, in milliseconds. */
const RELAYED_WITHIN = 30_000;
const DELIVERED_WITHIN = 180_000;

/** Beyond this share of the kills the secrets are rolled. */
const ROLLED_AT = 0.5;

/** How often the receiver is restarted between two kills, and how long it is away at most, in milliseconds. */
const RESTARTED = 0.3;
const MAX_AWAY = 1_000;

/** Requests of a webhook whose outcome is not stored, at most, and so what it gets again after a kill: its concurrency. */
const MAX_IN_FLIGHT = 10;

/** One ledger, from its first start to the last kill. */
class Siege {
  readonly #tally = new Tally();
  readonly #services: KillableServices;
  readonly #receiver: Receiver;
  readonly #owner: Owner;
  readonly #load: Load;
  readonly #random: () => number;
  readonly #programs: Programs;
  readonly #callers: readonly Caller[];
  readonly #kills: number[] = [];
  #isRolled = false;

  private constructor(
    seed: number,
    ledger: number,
    {
      services,
      programs,
      receiver,
      owner,
    }: {
      readonly services: KillableServices;
      readonly programs: Programs;
      readonly receiver: Receiver;
      readonly owner: Owner;
    },
  ) {
    this.#services = services;
    this.#programs = programs;
    this.#receiver = receiver;
    this.#owner = owner;
    this.#random = streamOf(seed, ledger, 1);
    this.#load = new Load(CLIENTS, `ledger-${ledger}`, streamOf(seed, ledger, 2));
    this.#callers = Array.from(
      { length: CALLERS },
      (_, index) => new Caller(ledger, index, programs.other, () => services.urls, streamOf(seed, ledger, 3, index)),
    );
  }

  /** `killed` is called after each kill that has been checked. */
  static async run(setting: Setting, tally: Tally, ledger: Ledger, killed: () => void): Promise<void> {
    const { seed, main } = setting;
    const started = new Belongings();
    let siege: Siege | undefined;
    let services: KillableServices | undefined;
    let receiver: Receiver | undefined;
    const end = setting.belongings.add('the services', async () => {
      await services?.killAll();
      await receiver?.stop();
      // What shows a violation is kept, unless it was made to.
      if (siege !== undefined && siege.#tally.violations.length > 0 && main === undefined)
        siege.#tally.violate(`ledger ${ledger.number}`, [`its files are kept: ${siege.#services.path}`]);
      else await started.endAll(() => undefined);
    });
    try {
      const found = await KillableServices.start(started, main, {}, SETTINGS);
      services = found;
      receiver = await Receiver.start(join(services.path, 'deliveries.jsonl'), seed);
      const programs = await makePrograms(services);
      const owner = await Owner.start(programs, receiver, () => found.owner.url);
      siege = new Siege(seed, ledger.number, { services, programs, receiver, owner });
      await siege.#withstand(ledger, killed);
      await services.stop();
    } finally {
      await end();
      if (siege !== undefined) tally.take(siege.#tally);
    }
  }

  async #withstand({ done, attacks: kills }: Ledger, killed: () => void): Promise<void> {
    await makeCards(this.#load, this.#services.owner);
    let goesOn = true;
    this.#load.start(...this.#services.urls);
    const calling = Promise.all(this.#callers.map((caller) => caller.run(() => goesOn)));
    try {
      for (let kill = 1; kill <= kills && !this.#tally.isEnough; kill += 1) {
        await this.#conduct((kill - 1) / kills);
        await this.#untilEnough();
        await this.#kill(kill);
        await this.#check(`kill ${done + kill}`);
        killed();
      }
    } finally {
      goesOn = false;
      await this.#load.pause();
      await calling;
    }
    if (this.#tally.violations.length > 0) return;
    await this.#load.settle(this.#services.other.url, SENT_AGAIN);
    await this.#checkEnd(`after kill ${done + kills}`);
  }

  /** Lets receivers fail and work again, and owners do what they do then. */
  async #conduct(share: number): Promise<void> {
    const working: string[] = [];
    for (const webhook of this.#owner.webhooks) {
      const conduct = conductAt(webhook, share);
      await this.#receiver.conduct(webhook.name, conduct);
      if (conduct === webhook.conduct) working.push(webhook.name);
    }
    this.#tally.add('enabled', await this.#owner.enable(working));
    if (share < ROLLED_AT || this.#isRolled) return;
    this.#isRolled = true;
    await this.#owner.roll();
  }

  async #untilEnough(): Promise<void> {
    const restarted = this.#random() < RESTARTED ? this.#receiver.restart(pause(this.#random() * MAX_AWAY)) : undefined;
    const wanted = this.#load.made + BETWEEN_KILLS;
    const started = performance.now();
    while (this.#load.made < wanted && performance.now() - started < LONGEST_BETWEEN) await pause(10);
    await pause(this.#random() * 300);
    await restarted;
  }

  async #kill(kill: number): Promise<void> {
    const victims = chooseVictims(kill, this.#random);
    this.#tally.add(`kills_${victims}`);
    const milliseconds = await this.#services.kill(victims, this.#random, {
      kills: () => this.#kills.push(Date.now()),
      expectDeath: (url) => this.#load.expectDeath(url),
      moved: () => this.#load.redirect(...this.#services.urls),
    });
    if (milliseconds === Number.POSITIVE_INFINITY)
      return this.#tally.violate('recovery', [`no transfer within 60 s of: ${victims}`]);
    this.#tally.time('recovery', milliseconds);
  }

  /** Whatever was delivered up to now is in the books now: it was committed when it was sent, and is not lost. */
  async #check(where: string): Promise<void> {
    const deliveries = await this.#receiver.read();
    this.#judge(where, deliveries, await this.#readEventBooks(), new Map());
  }

  /** When nothing happens any more, every webhook gets the rest. */
  async #checkEnd(where: string): Promise<void> {
    await this.#conduct(1);
    const due = this.#tell(await this.#untilRelayed()).timelines;
    await this.#untilDelivered(where, due);
    // Something may have happened since, such as an error that was recorded: it may be delivered, and need not.
    const deliveries = await this.#receiver.read();
    const books = await this.#readEventBooks();
    this.#judge(where, deliveries, books, due);
    for (const { name, isRolled } of this.#owner.webhooks) {
      const last = deliveries.get(name)?.at(-1);
      if (isRolled && this.#isRolled && last?.verified.length !== 2)
        this.#tally.violate(where, [`${name}: the new secret and the old one do not both sign`]);
    }
    this.#count(books, deliveries);
    judge(this.#tally, where, this.#load, await readBooks(this.#services.path, this.#load.cards));
  }

  /** Lets what failed be tried again at once instead of in minutes or hours, and waits until nothing is left. */
  async #untilDelivered(where: string, due: ReadonlyMap<string, Timeline>): Promise<void> {
    const names = this.#owner.webhooks.map(({ name }) => name);
    const from = performance.now();
    for (;;) {
      await this.#owner.enable(names);
      const waiting = await makeDue(this.#services.databaseUrl);
      const records = await this.#owner.records();
      const deliveries = await this.#receiver.read();
      const behind = this.#owner.webhooks.filter((webhook) => {
        const wanted = wantedOf(expectationOf(webhook), this.#timelineOf(webhook, due));
        const { backlog = 1 } = records.get(webhook.name) ?? {};
        return backlog > 0 || notAccepted(deliveries.get(webhook.name) ?? [], wanted).length > 0;
      });
      if (waiting === 0 && behind.length === 0) return this.#tally.time('delivered', performance.now() - from);
      if (performance.now() - from > DELIVERED_WITHIN) {
        const described = behind.map(({ name }) => {
          const { status, position, backlog } = records.get(name) ?? {};
          return `${name} (${status}, at ${position}, ${backlog} events behind)`;
        });
        const problem = `${waiting} deliveries wait, and these are behind: ${described.join(', ')}`;
        return this.#tally.violate(where, [problem]);
      }
      await pause(200);
    }
  }

  /** When the relays have nothing to do, and no transfer will become due. */
  async #untilRelayed(): Promise<EventBooks> {
    const from = performance.now();
    for (;;) {
      const books = await this.#readEventBooks();
      if (books.waiting === 0 && books.due === 0) return books;
      if (performance.now() - from > RELAYED_WITHIN) throw new Error('the relays do not come to the end');
      await pause(100);
    }
  }

  #readEventBooks(): Promise<EventBooks> {
    return oncePostgresIsBack(() => readEventBooks({ connectionString: this.#services.databaseUrl }));
  }

  #tell(books: EventBooks) {
    const { demo, other } = this.#programs;
    return tellEvents(books, [uuidOf(demo), uuidOf(other)]);
  }

  #timelineOf({ programId }: Webhook, timelines: ReadonlyMap<string, Timeline>): Timeline {
    return timelines.get(programId === undefined ? ALL_BY_NUMBER : uuidOf(programId)) ?? [];
  }

  #judge(where: string, deliveries: Deliveries, books: EventBooks, due: ReadonlyMap<string, Timeline>): void {
    const { timelines, problems } = this.#tell(books);
    this.#tally.violate(where, problems);
    for (const webhook of this.#owner.webhooks) {
      const found = deliveries.get(webhook.name) ?? [];
      const circumstances = { kills: this.#kills, due: this.#timelineOf(webhook, due) };
      const timeline = this.#timelineOf(webhook, timelines);
      this.#tally.violate(where, wrongDeliveries(expectationOf(webhook), found, timeline, circumstances));
    }
  }

  #count({ events }: EventBooks, deliveries: Deliveries): void {
    this.#tally.add('events', events.length);
    this.#tally.add('transfers', this.#load.made);
    this.#tally.add('restarts_of_the_receiver', this.#receiver.runs - 1);
    for (const list of deliveries.values()) {
      this.#tally.add('deliveries', list.length);
      this.#tally.add('accepted', list.filter(({ status }) => status === 204).length);
      this.#tally.add('repeats', countRepeats(list));
    }
  }
}

/** Both services read the secrets of webhooks. */
const SETTINGS = { WEBHOOK_KEY: randomBytes(32).toString('base64') };

function expectationOf({ name, order, payload, types, after }: Webhook): Expectation {
  return { name, order, payload, types, after, maxInFlight: MAX_IN_FLIGHT };
}

/** Makes everything due that is to be tried again. Gives how much of it there is. */
async function makeDue(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on('error', () => undefined);
  await client.connect();
  try {
    // Whoever delivers reads a webhook again when its revision was raised.
    await client.query(
      `with retried as (
          update webhook_delivery set next_at = now() where next_at > now() + interval '1 second' returning webhook_id
        ), probed as (
          update webhook_state set next_probe_at = now() where next_probe_at > now() + interval '1 second'
          returning webhook_id
        )
        update webhook set revision = revision + 1
        where webhook_id in (select webhook_id from retried union select webhook_id from probed)`,
    );
    const { rows } = await client.query('select count(*)::integer as count from webhook_delivery');
    return rows[0]?.count;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function run(setting: Setting): Promise<Findings> {
  const tally = new Tally();
  let kills = 0;
  const tell = (): void => setting.progress(++kills, `${tally.count('violations')} violations`);
  await overLedgers(setting, tally, KILLS_OF_LEDGER, (ledger) => Siege.run(setting, tally, ledger, tell), SIDE_BY_SIDE);
  const figures = {
    clients: CLIENTS,
    callers: CALLERS,
    processes: 2,
    ledgers_side_by_side: SIDE_BY_SIDE,
    ...tally.figures(),
  };
  return { figures, violations: tally.violations };
}

/** SIGKILL of either or both of two services and of PostgreSQL, under load, while they deliver events to webhooks. */
export const WEBHOOKS: Row = { name: 'webhooks', unit: 'kills', counts: { small: 4, middle: 40, large: 200 }, run };
