import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { Resources } from '../../../bench/resources.ts';
import { type ServiceProcess, startService, temporaryDirectory, waitFor } from '../../../test/harness/process.ts';
import { sendRaw } from '../../../test/harness/raw-request.ts';
import { type Findings, pause, type Setting, streamOf, Tally } from '../../campaign.ts';
import { expectationOf, untilDelivered } from '../../checkers/deliveries/delivered.ts';
import { countRepeats, wrongDeliveries } from '../../checkers/deliveries/judge.ts';
import { type EventBooks, readEventBooks, type Timeline, tellEvents } from '../../checkers/events/event-books.ts';
import { wrongReading } from '../../checkers/events/judge.ts';
import { forgetTexts, type Reader, readByPull, readByStream } from '../../checkers/events/readers.ts';
import { readBooksAt, readTexts } from '../../checkers/transfers/books.ts';
import { timelineOf, untilRelayed } from '../../generators/events/attacked-ledger.ts';
import { makePrograms, type Programs, uuidOf } from '../../generators/events/programs.ts';
import { Load } from '../../generators/load.ts';
import { contradictionsIn, judge, tallyLoad, untilAtWork } from '../../generators/loads.ts';
import { type Ledger, overLedgers } from '../processes/ledgers.ts';
import { type Endpoint, endpoint } from '../processes/receiver/endpoints.ts';
import { Owner } from '../processes/receiver/owner.ts';
import { Receiver } from '../processes/receiver/run-receiver.ts';
import { readSnapshots } from '../processes/snapshots.ts';
import { Pulse } from './pulse.ts';

/** Enough for several groups to be in flight when the primary fails. */
const CLIENTS = 48;

/** Attacks per ledger. After each, the whole books are compared, so they must stay small. */
const ATTACKS_OF_LEDGER = 10;

/** The longest wait for acknowledged transfers before an attack, in milliseconds. */
const LONGEST_BEFORE = 8_000;

/** The number of requests to repeat at the end of a ledger. */
const SENT_AGAIN = 200;

/** The interval between recorded times of an interruption, in milliseconds. */
const BETWEEN_NOTES = 500;

/**
 * A request's deadline passed during its transaction, so the response is `unknown` and only the key leads to the transfer. This
 * is correct and depends on the speed of the machine. It counts as `unnamed`, not as a violation.
 */
const UNNAMED = /a 500 named undefined and made/;

/** The longest time for relays and readers to catch up once there are no requests, in milliseconds. */
const CAUGHT_UP_WITHIN = 60_000;

/** The strict webhook has few types, so that it keeps up with the load by one delivery at a time. */
const WEBHOOKS: readonly Endpoint[] = [
  endpoint('strict', 'demo', { order: 'strict', types: ['transfer.canceled', 'transfer.pending'] }),
  endpoint('parallel', 'demo', { types: ['reversal.*'] }),
];

/** The services and their users. */
type Users = {
  readonly services: readonly ServiceProcess[];
  readonly programs: Programs;
  readonly receiver: Receiver;
  readonly owner: Owner;
  readonly readers: readonly Reader[];
};

/** The target of a siege: the primary's addresses for the services and for this process. */
export type Besieged = { readonly databaseUrl: string; readonly connection: pg.ClientConfig };

/** An attack under load. */
export type Attack<Cluster extends Besieged> = {
  readonly siege: Siege<Cluster>;
  /** Makes transfers before, during and after the attack. */
  readonly pulse: Pulse;
  /** Counts from 1, over all ledgers of a row. */
  readonly number: number;
  /** The name of the attack, such as `failover 3`. */
  readonly where: string;
};

/** The attacks of a row. Each must leave the cluster complete again. */
export type Attacks<Cluster extends Besieged> = {
  readonly start: (resources: Resources) => Promise<Cluster>;
  readonly nameOf: (number: number) => string;
  /** The number of acknowledged transfers before each attack. */
  readonly transfersBefore: number;
  readonly attack: (attack: Attack<Cluster>) => Promise<void>;
};

/** Two service processes on a database cluster, with clients, readers of events, and webhooks. */
export class Siege<Cluster extends Besieged> {
  readonly cluster: Cluster;
  readonly tally = new Tally();
  readonly load: Load;
  readonly random: () => number;
  readonly #users: Users;
  /** When deliveries of webhooks may have been repeated, in milliseconds since 1970. */
  readonly #interruptions: number[] = [];
  #noting: NodeJS.Timeout | undefined;

  private constructor({ seed }: Setting, ledger: number, cluster: Cluster, users: Users) {
    this.cluster = cluster;
    this.#users = users;
    this.random = streamOf(seed, ledger, 1);
    this.load = new Load(CLIENTS, `ledger-${ledger}`, streamOf(seed, ledger, 2));
  }

  /** Attacks one ledger after another, until there are enough attacks or violations. */
  static async layTo<Cluster extends Besieged>(setting: Setting, attacks: Attacks<Cluster>): Promise<Tally> {
    const tally = new Tally();
    await overLedgers(setting, tally, ATTACKS_OF_LEDGER, (ledger) => Siege.#run(setting, tally, ledger, attacks));
    return tally;
  }

  /** Starts one ledger with everything it needs, attacks it, and stops it. */
  static async #run<Cluster extends Besieged>(
    setting: Setting,
    tally: Tally,
    ledger: Ledger,
    attacks: Attacks<Cluster>,
  ): Promise<void> {
    const started = new Resources();
    const end = setting.resources.add('the cluster', () => started.endAll(() => undefined));
    let siege: Siege<Cluster> | undefined;
    try {
      const cluster = await attacks.start(started);
      siege = new Siege(setting, ledger.number, cluster, await startUsers(started, cluster, setting));
      const stopReading = readSnapshots(async () => cluster.connection, siege.tally);
      started.add('the snapshots', stopReading);
      await siege.#makeCards();
      await siege.#withstand(setting, ledger, attacks);
    } finally {
      siege?.endInterruption();
      await siege?.load.pause();
      await end();
      forgetTexts();
      if (siege !== undefined) tally.take(siege.tally);
    }
  }

  /** Makes the attacks on one ledger. Compares everything after each attack and at the end. */
  async #withstand(setting: Setting, { done, attacks: count }: Ledger, attacks: Attacks<Cluster>): Promise<void> {
    for (let number = done + 1; number <= done + count && this.tally.violations.length === 0; number += 1) {
      const where = attacks.nameOf(number);
      this.load.start(...this.urls);
      const pulse = new Pulse(this.urls);
      try {
        await this.#untilLoaded(attacks.transfersBefore);
        await attacks.attack({ siege: this, pulse, number, where });
      } finally {
        await this.load.pause();
        await pulse.stop();
      }
      await this.#check(where);
      setting.progress(number, `${this.tally.count('violations')} violations`);
    }
    await this.#checkEnd(`after ${attacks.nameOf(done + count)}`);
  }

  get service(): ServiceProcess {
    const [first] = this.#users.services;
    if (first === undefined) throw new Error('there is no service');
    return first;
  }

  get urls(): readonly string[] {
    return this.#users.services.map(({ url }) => url);
  }

  /** Makes the cards. Retries, because a busy machine may be too slow. */
  async #makeCards(): Promise<void> {
    for (const card_id of this.load.cards) {
      const raw = { path: '/api/v0.1/core/card', headers: { 'Idempotency-Key': card_id }, body: { card_id } };
      await waitFor(`the card ${card_id}`, async () => (await sendRaw(this.service.url, raw)).status === 201);
    }
  }

  /** Waits for some acknowledged transfers, and then for a random time. */
  async #untilLoaded(transfers: number): Promise<void> {
    const wanted = this.load.made + transfers;
    const started = performance.now();
    while (this.load.made < wanted && performance.now() - started < LONGEST_BEFORE) await pause(10);
    await pause(this.random() * 200);
  }

  /** Marks the start of an interruption. Until its end, deliveries may repeat, because their results may not be stored. */
  beginInterruption(): void {
    const note = () => this.#interruptions.push(Date.now());
    note();
    this.#noting = setInterval(note, BETWEEN_NOTES).unref();
  }

  endInterruption(): void {
    clearInterval(this.#noting);
    this.#interruptions.push(Date.now());
  }

  /** Compares the primary with everything that clients, readers and receivers have received. The load must be paused. */
  async #check(where: string): Promise<void> {
    const { receiver } = this.#users;
    const readings = this.#users.readers.map((reader) => ({ reader, seen: [...reader.seen] }));
    const deliveries = await receiver.read();
    await this.#judgeBooks(where);
    const { timelines, problems } = this.#tell(await this.#readEvents());
    this.tally.violate(where, problems);
    for (const { reader, seen } of readings) this.#judgeReader(where, { ...reader, seen }, timelines, 0);
    this.#judgeDeliveries(where, deliveries, timelines, new Map());
  }

  /** Repeats requests without a final response, waits until everything has arrived, and compares it. */
  async #checkEnd(where: string): Promise<void> {
    const { receiver, owner, readers } = this.#users;
    // A lost transfer can never settle: capturing it always fails as not found.
    if (this.tally.violations.length > 0) {
      return tallyLoad(this.tally, this.load, await readBooksAt(this.cluster.connection, this.load.cards));
    }
    await this.load.settle(this.urls[1] ?? '', SENT_AGAIN);
    const books = await this.#judgeBooks(where, await readTexts(this.service.client));
    tallyLoad(this.tally, this.load, books);
    const due = this.#tell(await untilRelayed(() => this.#readEvents(), this.tally, CAUGHT_UP_WITHIN)).timelines;
    await untilDelivered({ owner, receiver, connection: this.cluster.connection }, this.tally, where, due);
    const leastOf = ({ source, wants }: Reader): number =>
      timelineOf(source.programId, due).filter(({ type }) => wants(type)).length;
    const from = performance.now();
    while (
      readers.some((reader) => reader.seen.length < leastOf(reader)) &&
      performance.now() - from < CAUGHT_UP_WITHIN
    )
      await pause(20);
    await Promise.all(readers.map((reader) => reader.stop()));
    // Later events, such as of a recorded error, may or may not have been read and delivered.
    const events = await this.#readEvents();
    const { timelines, problems } = this.#tell(events);
    this.tally.violate(where, problems);
    for (const reader of readers) this.#judgeReader(where, reader, timelines, leastOf(reader));
    const deliveries = await receiver.read();
    this.#judgeDeliveries(where, deliveries, timelines, due);
    this.tally.add('events', events.events.length);
    for (const reader of readers) this.tally.add('read', reader.seen.length);
    for (const list of deliveries.values()) {
      this.tally.add('deliveries', list.length);
      this.tally.add('delivered_again', countRepeats(list));
    }
  }

  async #judgeBooks(where: string, texts?: ReadonlyMap<string, string>) {
    const books = await readBooksAt(this.cluster.connection, this.load.cards, texts);
    const lost = contradictionsIn(this.load, books).filter((problem) => problem.includes('lost: '));
    this.tally.add('lost', new Set(lost.map((problem) => problem.split(':')[0])).size);
    const judged = new Tally();
    judge(judged, where, this.load, books);
    const unnamed = judged.violations.filter((problem) => UNNAMED.test(problem));
    this.tally.add('unnamed', unnamed.length);
    const wrong = judged.violations.filter((problem) => !unnamed.includes(problem));
    this.tally.violate(
      where,
      wrong.map((problem) => problem.slice(`${where}: `.length)),
    );
    return books;
  }

  #readEvents(): Promise<EventBooks> {
    return readEventBooks(this.cluster.connection);
  }

  #tell(books: EventBooks) {
    const { demo, other } = this.#users.programs;
    return tellEvents(books, [uuidOf(demo), uuidOf(other)]);
  }

  #judgeReader(where: string, reader: Reader, timelines: ReadonlyMap<string, Timeline>, least: number): void {
    const broken = reader.takeProblems().map((problem) => `${reader.name}: ${problem}`);
    const timeline = timelineOf(reader.source.programId, timelines);
    this.tally.violate(where, [...wrongReading(reader, timeline, least), ...broken]);
  }

  #judgeDeliveries(
    where: string,
    deliveries: Awaited<ReturnType<Receiver['read']>>,
    timelines: ReadonlyMap<string, Timeline>,
    due: ReadonlyMap<string, Timeline>,
  ): void {
    for (const webhook of this.#users.owner.webhooks) {
      const timeline = timelineOf(webhook.programId, timelines);
      const circumstances = { kills: this.#interruptions, due: timelineOf(webhook.programId, due) };
      const found = deliveries.get(webhook.name) ?? [];
      this.tally.violate(where, wrongDeliveries(expectationOf(webhook), found, timeline, circumstances));
    }
  }
}

async function startUsers(resources: Resources, { databaseUrl }: Besieged, { seed, main }: Setting): Promise<Users> {
  const { path, remove } = await temporaryDirectory();
  resources.add('the files of the services', remove);
  // Both services read the secrets of webhooks.
  const settings = { DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent', WEBHOOK_KEY: randomBytes(32).toString('base64') };
  const services: ServiceProcess[] = [];
  for (const name of ['first', 'second']) {
    await mkdir(join(path, name));
    const service = await startService({ ...settings, DATA_DIR: join(path, name) }, main);
    resources.add(`the ${name} service`, async () => void (await service.stop()));
    services.push(service);
  }
  const urls = (): readonly string[] => services.map(({ url }) => url);
  await Promise.all(urls().map((url) => untilAtWork(url)));
  const receiver = await Receiver.start(join(path, 'deliveries.jsonl'), seed);
  resources.add('the receiver', () => receiver.stop());
  const [owning] = services;
  if (owning === undefined) throw new Error('there is no service');
  const programs = await makePrograms({ owner: owning });
  const owner = await Owner.start(programs, receiver, () => owning.url, WEBHOOKS);
  const source = { name: 'the first program', programId: programs.demo };
  const readers = [readByPull(source, urls, 0), readByStream(source, urls, 1)];
  resources.add('the readers', async () => void (await Promise.all(readers.map((reader) => reader.stop()))));
  return { services, programs, receiver, owner, readers };
}

/** Adds a violation if a transfer sent after this moment was acknowledged. */
export function requireNoneSince<Cluster extends Besieged>(
  moment: number,
  { siege, pulse, where }: Attack<Cluster>,
  by: string,
): void {
  const { length } = pulse.beats.filter(({ sentAt, status }) => status === 201 && sentAt > moment);
  if (length > 0) siege.tally.violate(where, [`${length} transfers were acknowledged ${by}`]);
}

/**
 * Waits until a transfer is acknowledged after this moment, and ends the interruption. Returns the time in milliseconds. If it
 * exceeds `most`, adds a violation and returns Infinity.
 */
export async function untilWriting<Cluster extends Besieged>(
  moment: number,
  { siege, pulse, where }: Attack<Cluster>,
  most = 120_000,
): Promise<number> {
  const milliseconds = await pulse.firstAfter(moment, most);
  siege.endInterruption();
  if (milliseconds === Number.POSITIVE_INFINITY) siege.tally.violate(where, [`no transfer within ${most} ms`]);
  return milliseconds;
}

/** Returns the figures of a siege for the table. */
export function figuresOf(tally: Tally): Findings['figures'] {
  return { clients: CLIENTS, processes: 2, ...tally.figures() };
}
