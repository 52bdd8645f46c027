import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { Resources } from '../../bench/resources.ts';
import { temporaryDirectory } from '../../test/harness/process.ts';
import { type Findings, pause, type Setting, streamOf, Tally } from '../campaign.ts';
import { readBooksAt, readTexts } from '../checkers/books.ts';
import { findContradictions } from '../checkers/responses.ts';
import { Consumers } from '../environments/processes/consumers.ts';
import { type Ledger, overLedgers, readSnapshots } from '../environments/processes/ledgers.ts';
import { Receiver } from '../environments/processes/receiver.ts';
import { Services } from '../environments/processes/services.ts';
import { makePrograms } from '../generators/events/callers.ts';
import { Reader } from '../generators/events/readers.ts';
import { type Endpoint, endpoint, Webhooks } from '../generators/events/webhooks.ts';
import { Load, untilServing } from '../generators/load.ts';
import { Pulse } from '../generators/pulse.ts';
import type { Nemesis, Target } from '../nemeses/nemesis.ts';

/** The number of clients, enough for several groups to be in flight when the primary fails. */
const CLIENTS = 48;

/** The number of attacks per ledger. After each attack, the whole ledger is compared, so it must stay small. */
const ATTACKS_PER_LEDGER = 10;

/** The number of acknowledged transfers before an attack. */
const TRANSFERS_BEFORE = 300;

/** The longest time until transfers succeed after a fault, in milliseconds. */
const WRITING_WITHIN = 120_000;

/** The time after the repair in which requests are still counted, in milliseconds. */
const AFTERWARDS = 500;

/** The number of requests to repeat at the end of a ledger. */
const SENT_AGAIN = 200;

/** The interval between recorded times of an interruption, in milliseconds. */
const BETWEEN_NOTES = 500;

/**
 * Matches the finding for a request whose deadline passed during its transaction. Its response is `unknown`, and only the key
 * finds the transfer. That is correct, and depends on the speed of the machine, so it counts as `unnamed` and not as a violation.
 */
const UNNAMED = /a 500 named undefined but made/;

/** The longest time for relays and readers to catch up once there are no requests, in milliseconds. */
const CAUGHT_UP_WITHIN = 60_000;

/** The strict webhook has few types, so that it keeps up with the load although it sends one event at a time. */
const WEBHOOKS: readonly Endpoint[] = [
  endpoint('strict', 'demo', { order: 'strict', types: ['transfer.canceled', 'transfer.pending'] }),
  endpoint('parallel', 'demo', { types: ['reversal.*'] }),
];

/** The services and their users. */
type Users = { readonly services: Services; readonly consumers: Consumers };

/** A database cluster: the primary's addresses for the services and for this process. */
export type Cluster = { readonly databaseUrl: string; readonly connection: pg.ClientConfig };

/** A campaign on a cluster. Times are in milliseconds. */
export type Plan<Environment extends Cluster> = {
  readonly start: (resources: Resources) => Promise<Environment>;
  /** The nemeses, which attack in turn. */
  readonly nemeses: readonly Nemesis<Environment>[];
  /** The maximum p99 of each measured time, by its name. */
  readonly bounds?: Readonly<Record<string, number>>;
  readonly writingWithin?: number;
  /** If transfers were impossible for less than this time, no request may fail. */
  readonly waitsFor?: number;
  /** Further figures. */
  readonly figures?: Findings['figures'];
};

/** Attacks one ledger after another, until there are enough attacks or violations. */
export async function attackCluster<Environment extends Cluster>(
  setting: Setting,
  plan: Plan<Environment>,
): Promise<Findings> {
  const tally = new Tally();
  await overLedgers(setting, tally, ATTACKS_PER_LEDGER, (ledger) => AttackedCluster.run(setting, tally, ledger, plan));
  for (const [figure, most] of Object.entries(plan.bounds ?? {})) tally.bound(setting, figure, most);
  return tally.findings({ ...plan.figures, clients: CLIENTS, processes: 2 });
}

/** Two service processes on a database cluster, with clients, readers of events, and webhooks. */
class AttackedCluster<Environment extends Cluster> {
  readonly #cluster: Environment;
  readonly #tally: Tally;
  readonly #load: Load;
  readonly #random: () => number;
  readonly #users: Users;
  #noting: NodeJS.Timeout | undefined;

  private constructor({ seed }: Setting, ledger: number, cluster: Environment, users: Users, tally: Tally) {
    this.#tally = tally;
    this.#cluster = cluster;
    this.#users = users;
    this.#random = streamOf(seed, ledger, 1);
    this.#load = new Load(CLIENTS, `ledger-${ledger}`, streamOf(seed, ledger, 2));
  }

  /** Starts one ledger with everything it needs, attacks it, and stops it. */
  static async run<Environment extends Cluster>(
    setting: Setting,
    tally: Tally,
    ledger: Ledger,
    plan: Plan<Environment>,
  ): Promise<void> {
    const started = new Resources();
    const end = setting.resources.add('the cluster', () => started.endAll(() => undefined));
    let attacked: AttackedCluster<Environment> | undefined;
    try {
      const cluster = await plan.start(started);
      const found = new Tally();
      const users = await startUsers(started, cluster, setting, found);
      attacked = new AttackedCluster(setting, ledger.number, cluster, users, found);
      started.add(
        'the snapshots',
        readSnapshots(async () => cluster.connection, found),
      );
      await attacked.#load.makeCards(users.services.process(0));
      await attacked.#withstand(setting, ledger, plan);
    } finally {
      await attacked?.stopLoad();
      await end();
      if (attacked !== undefined) tally.take(attacked.#tally);
    }
  }

  async stopLoad(): Promise<void> {
    this.#endInterruption();
    await this.#load.pause();
  }

  /** Makes the attacks on one ledger. Compares everything after each attack and at the end. */
  async #withstand(setting: Setting, { done, attacks }: Ledger, plan: Plan<Environment>): Promise<void> {
    let where = '';
    for (let number = done + 1; number <= done + attacks && this.#tally.violations.length === 0; number += 1) {
      const nemesis = plan.nemeses[number % plan.nemeses.length];
      if (nemesis === undefined) throw new Error('there is no nemesis');
      where = `${nemesis.name} ${number}`;
      this.#load.start(...this.#urls);
      const pulse = new Pulse(this.#urls);
      try {
        await this.#untilLoaded();
        await this.#attack(nemesis, pulse, plan, where);
      } finally {
        await this.#load.pause();
        await pulse.stop();
      }
      await this.#check(where);
      setting.progress(number, `${this.#tally.count('violations')} violations`);
    }
    await this.#checkEnd(`after ${where}`);
  }

  async #attack(nemesis: Nemesis<Environment>, pulse: Pulse, plan: Plan<Environment>, where: string): Promise<void> {
    const { name, lasts: [least, most] = [0, 0], acknowledged } = nemesis;
    const tally = this.#tally;
    const target: Target<Environment> = { environment: this.#cluster, random: this.#random, tally, urls: this.#urls };
    tally.add(name);
    await nemesis.prepare?.(target, performance.now());
    if (acknowledged !== 'some') this.#beginInterruption();
    const begunAt = performance.now();
    await nemesis.inject(target, begunAt);
    const injectedAt = performance.now();
    await nemesis.during?.(target, begunAt);
    await pause(least + this.#random() * (most - least));
    await pulse.untilSentAfter(injectedAt);
    const during = pulse.acknowledgedSince(injectedAt);
    tally.add(`acknowledged_during_${name}`, during);
    if (acknowledged === 'none' && during > 0) tally.violate(where, [`${during} transfers were acknowledged`]);
    if (acknowledged === 'some' && during === 0) tally.violate(where, ['no transfer was acknowledged']);
    const healedAt = performance.now();
    await nemesis.heal?.(target, healedAt);
    const within = plan.writingWithin ?? WRITING_WITHIN;
    const writing = await pulse.firstAfter(healedAt, within);
    this.#endInterruption();
    if (writing > within) tally.violate(where, [`no transfer within ${within} ms`]);
    tally.time(`writing_again_after_${name}`, writing);
    await nemesis.repair?.(target, healedAt);
    await pause(AFTERWARDS);
    this.#judgeRequests(pulse, begunAt, plan, where, name);
  }

  /** Counts the requests since the beginning of an attack, and how many of them failed. */
  #judgeRequests(pulse: Pulse, from: number, { waitsFor = 0 }: Plan<Environment>, where: string, name: string): void {
    const silence = pulse.longestSilence(from);
    this.#tally.time(`pause_of_${name}`, silence);
    const requests = pulse.beats.filter(({ answeredAt }) => answeredAt > from);
    const failed = requests.filter(({ status }) => status !== 201);
    this.#tally.add(`requests_in_${name}`, requests.length);
    this.#tally.add(`failed_in_${name}`, failed.length);
    if (silence >= waitsFor || failed.length === 0) return;
    const statuses = [...new Set(failed.map(({ status }) => status))].join(', ');
    this.#tally.violate(where, [
      `${failed.length} of ${requests.length} requests failed (${statuses}) but could have waited`,
    ]);
  }

  get #urls(): readonly string[] {
    return this.#users.services.urls;
  }

  /** Waits for some acknowledged transfers, and then for a random time. */
  async #untilLoaded(): Promise<void> {
    await this.#load.untilMade(this.#load.made + TRANSFERS_BEFORE);
    await pause(this.#random() * 200);
  }

  /**
   * Marks the start of an interruption. Until the interruption ends, deliveries may repeat, because their results may not be
   * stored.
   */
  #beginInterruption(): void {
    const note = () => this.#users.consumers.kills.push(Date.now());
    note();
    this.#noting = setInterval(note, BETWEEN_NOTES).unref();
  }

  #endInterruption(): void {
    clearInterval(this.#noting);
    this.#users.consumers.kills.push(Date.now());
  }

  /** Compares the primary with everything that clients, readers and receivers have received. The load must be paused. */
  async #check(where: string): Promise<void> {
    await this.#judgeBooks(where);
    await this.#users.consumers.check(where);
  }

  /** Repeats requests without a final response, waits until everything has arrived, and compares it. */
  async #checkEnd(where: string): Promise<void> {
    // Stops here after a violation, because a lost transfer can never settle: capturing it always fails as not found.
    if (this.#tally.violations.length > 0) {
      return this.#load.count(this.#tally, await readBooksAt(this.#cluster.connection, this.#load.cards));
    }
    await this.#load.settle(this.#urls[1] ?? '', SENT_AGAIN);
    const books = await this.#judgeBooks(where, await readTexts(this.#users.services.process(0).client));
    this.#load.count(this.#tally, books);
    await this.#users.consumers.checkEnd(where, this.#urls);
  }

  async #judgeBooks(where: string, texts?: ReadonlyMap<string, string>) {
    const books = await readBooksAt(this.#cluster.connection, this.#load.cards, texts);
    const lost = findContradictions(this.#load.operations, books).filter((problem) => problem.includes('lost: '));
    this.#tally.add('lost', new Set(lost.map((problem) => problem.split(':')[0])).size);
    const judged = new Tally();
    this.#load.judge(judged, where, books);
    const unnamed = judged.violations.filter((problem) => UNNAMED.test(problem));
    this.#tally.add('unnamed', unnamed.length);
    const wrong = judged.violations.filter((problem) => !unnamed.includes(problem));
    for (const problem of wrong) this.#tally.violate(where, [problem.slice(`${where}: `.length)]);
    return books;
  }
}

async function startUsers(
  resources: Resources,
  cluster: Cluster,
  { seed, main }: Setting,
  tally: Tally,
): Promise<Users> {
  const { path, remove } = await temporaryDirectory();
  resources.add('the files of the services', remove);
  // Both services read the webhook secrets.
  const settings = { DATABASE_URL: cluster.databaseUrl, WEBHOOK_KEY: randomBytes(32).toString('base64') };
  const services = new Services(main);
  for (const name of ['first', 'second']) {
    await mkdir(join(path, name));
    const service = await services.add({ ...settings, DATA_DIR: join(path, name) });
    resources.add(`the ${name} service`, async () => void (await service.stop()));
  }
  await Promise.all(services.urls.map((url) => untilServing(url)));
  const receiver = await Receiver.start(streamOf(seed, 4));
  resources.add('the receiver', () => receiver.stop());
  const { url, client } = services.process(0);
  const programs = await makePrograms(client);
  const webhooks = await Webhooks.create(WEBHOOKS, programs, receiver, () => url);
  const source = { name: 'the first program', programId: programs.demo, meetsOldPrimaries: true };
  const readers = [
    new Reader('pull', source, () => services.urls, 0),
    new Reader('stream', source, () => services.urls, 1),
  ];
  // Reads the connection each time, because another database is the primary after a failover.
  const connection = () => cluster.connection;
  const of = { tally, connection, programs, readers, webhooks };
  const consumers = new Consumers({ ...of, caughtUpWithin: CAUGHT_UP_WITHIN });
  resources.add('the consumers', () => consumers.stop());
  return { services, consumers };
}
