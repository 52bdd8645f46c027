import { randomBytes, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { type ServiceProcess, type ServiceSettings, startService, waitFor } from '../harness/process.ts';
import type { DatabaseProxy } from '../harness/proxy.ts';
import { GATE_TRIGGERS, Gates } from './gates.ts';
import { Host, Line } from './lines.ts';
import { type Delivery, sendNotice } from './notices.ts';
import { openEmbedded, openWired, type StageDatabase } from './stage-database.ts';
import { type ArrivedOrder, StandIn } from './stand-in.ts';

/** Selects the number of seconds by which the service's clock was moved since an order was sent. */
const AHEAD = `select extract(epoch from service_now() - clock_timestamp() - ahead) as seconds from test_sent
  where 'pat_' || replace(attempt_id::text, '-', '') = $1 and tries = $2`;

/**
 * Selects the status of a transfer's attempt, the seconds until the service checks it next, and the seconds by which
 * the service's clock is ahead.
 */
const NEXT_LOOK = `select status, ceil(extract(epoch from next_at - service_now()))::int as wait,
    round(extract(epoch from service_now() - clock_timestamp()))::int as ahead
  from processor_attempt where 'tr_' || replace(transfer_id::text, '-', '') = $1 order by attempt_id desc limit 1`;

/** Selects a transfer's attempt, as notices name it. */
const OF_TRANSFER = `select connector_id, 'pat_' || replace(attempt_id::text, '-', '') as attempt_id, amount, trim(currency) as currency
  from processor_attempt where 'tr_' || replace(transfer_id::text, '-', '') = $1`;

/** A transfer as the API shows it. */
export type Shown = {
  readonly transfer_id: string;
  readonly status: string;
  readonly outcome: string;
  readonly amount: number;
  readonly error: { readonly Code: string } | null;
};

/** The interval between the checks of a waiting test, in milliseconds. */
const LOOK_MILLISECONDS = 150;

const TRAITS = {
  settle_delay_seconds: 0,
  not_found_final_seconds: 0,
  ready_seconds: 86_400,
  when_down: 'queue',
};

/**
 * The kind of connector that a cell needs. `inquired` answers inquiries. With `reversed`, only a reversal settles an
 * unknown outcome. The connections of `lined` and `stopped` go through a line or a host of the test.
 */
export type Way = 'inquired' | 'reversed' | 'lined' | 'stopped';

/**
 * Connectors that all lead to the stand-in. Cells that run together and use inquiries have separate connectors, so that
 * no cell opens another cell's breaker. A reversal works even if a breaker is open. A service has at most 50
 * connectors.
 */
export const CONNECTORS: Readonly<Record<'embedded' | 'wired', Readonly<Record<Way, number>>>> = {
  embedded: { inquired: 31, reversed: 18, lined: 0, stopped: 0 },
  wired: { inquired: 20, reversed: 10, lined: 12, stopped: 4 },
};

const WRONG_CLOCK = new URL('../harness/wrong-clock.ts', import.meta.url).href;

/** The error of the machine's clock in hours. It changes with every start of the service. */
const WRONG_HOURS = [3, -3] as const;

export type StageOptions = {
  /**
   * Whether the connections to the database and to processors go through the test. If so, the database outlives the
   * service.
   */
  readonly isWired?: boolean;
};

/** A service on a new ledger that can be killed with its database, and a processor that outlives both. */
export class Stage {
  readonly processor: StandIn;
  readonly gates: Gates;
  readonly #database: StageDatabase;
  readonly #secret: string;
  readonly #settings: ServiceSettings;
  readonly #counts: Readonly<Record<Way, number>>;
  readonly #lines: Line[] = [];
  readonly #hosts: Host[] = [];
  readonly #used = { inquired: 0, reversed: 0, lined: 0, stopped: 0 };
  #service: ServiceProcess | undefined;
  #starts = 0;
  #seconds = 0;
  #moves: Promise<unknown> = Promise.resolve();
  #pool: pg.Pool | undefined;
  readonly #others: ServiceProcess[] = [];

  private constructor(database: StageDatabase, { isWired = false }: StageOptions) {
    const file = join(database.directory, 'connectors.json');
    this.#secret = `whsec_${randomBytes(32).toString('base64')}`;
    this.#database = database;
    this.#counts = CONNECTORS[isWired ? 'wired' : 'embedded'];
    // The service must not refuse the requests of this test when the machine is busy. Other tests cover overload.
    const patient = { OVERLOAD_DELAY_MILLISECONDS: '0' };
    this.#settings = { ...database.settings, ...patient, CONNECTORS: file, STAND_IN_SECRET: this.#secret };
    this.processor = new StandIn(this.#secret, (order) => this.#isOver(order));
    this.gates = new Gates(database.url, (text, values) => this.query(text, values));
  }

  static async open(options: StageOptions = {}): Promise<Stage> {
    const stage = new Stage(await (options.isWired === true ? openWired() : openEmbedded()), options);
    await writeFile(stage.#settings.CONNECTORS ?? '', JSON.stringify({ connectors: await stage.#connectors() }));
    await stage.start();
    await stage.query(GATE_TRIGGERS);
    return stage;
  }

  async #connectors(): Promise<readonly object[]> {
    const url = await this.processor.listen();
    const connectors: object[] = [];
    const add = (way: string, urls: readonly string[], traits: object): void => {
      for (const [index, one] of urls.entries()) {
        const common = { connector_id: `${way}_${index}`, url: one, secret_variable: 'STAND_IN_SECRET' };
        connectors.push({ ...common, traits: { ...TRAITS, ...traits } });
      }
    };
    const { inquired, reversed, lined, stopped } = this.#counts;
    const isAsked = { can_resend: true, key_memory_seconds: 864_000 };
    for (let made = 0; made < lined; made += 1) this.#lines.push(new Line(this.processor.port));
    for (let made = 0; made < stopped; made += 1) this.#hosts.push(await Host.start(this.processor.port));
    add('inquired', Array(inquired).fill(url), isAsked);
    add('narrow', [url], { max_in_flight: 2, ready_seconds: 7_200 });
    add('reversed', Array(reversed).fill(url), { has_inquiry: false, reversal: 'advice' });
    add('lined', await Promise.all(this.#lines.map((line) => line.listen())), isAsked);
    const hosts = this.#hosts.map((host) => host.url);
    add('stopped', hosts, isAsked);
    return connectors;
  }

  line(connectorId: string): Line {
    const line = this.#lines[Number(/^lined_(\d+)$/.exec(connectorId)?.[1])];
    if (line === undefined) throw new Error(`${connectorId} has no line`);
    return line;
  }

  host(connectorId: string): Host {
    const host = this.#hosts[Number(/^stopped_(\d+)$/.exec(connectorId)?.[1])];
    if (host === undefined) throw new Error(`${connectorId} has no host`);
    return host;
  }

  /** The proxy between the service and its database. */
  get wire(): DatabaseProxy {
    if (this.#database.proxy === undefined) throw new Error('the stage is not wired');
    return this.#database.proxy;
  }

  nextConnector(way: Way): string {
    const used = this.#used[way];
    this.#used[way] = used + 1;
    return `${way}_${used % this.#counts[way]}`;
  }

  get service(): ServiceProcess {
    if (this.#service === undefined) throw new Error('the service is not running');
    return this.#service;
  }

  async start(): Promise<void> {
    const hours = WRONG_HOURS[this.#starts % WRONG_HOURS.length];
    this.#starts += 1;
    const clock = { NODE_OPTIONS: `--import=${WRONG_CLOCK}`, WRONG_CLOCK_HOURS: String(hours) };
    this.#service = await startService({ ...this.#settings, ...clock });
  }

  /** Starts another service on the same ledger, with the same connectors. */
  async startSecond(): Promise<ServiceProcess> {
    const second = await startService({ ...this.#settings, DATABASE_URL: await this.#database.url() });
    this.#others.push(second);
    return second;
  }

  async endOthers(): Promise<void> {
    for (const other of this.#others.splice(0)) await other.stop();
  }

  /** The service's settings without its connectors. */
  settingsWithoutConnectors(): Record<string, string> {
    const { CONNECTORS: _connectors, ...others } = this.#settings;
    return others;
  }

  async end(): Promise<void> {
    await this.gates.release();
    await this.#leave();
    await this.endOthers();
    await this.#service?.stop();
    for (const line of this.#lines) line.close();
    for (const host of this.#hosts) await host.stop();
    this.processor.close();
    await this.#database.remove();
  }

  async query(text: string, values: readonly unknown[] = []): Promise<readonly Record<string, unknown>[]> {
    this.#pool ??= await this.#openPool();
    return (await this.#pool.query(text, [...values])).rows;
  }

  async #openPool(): Promise<pg.Pool> {
    const pool = new pg.Pool({ connectionString: await this.#database.url(), max: 4 });
    // These connections end when the server is killed.
    pool.on('error', () => undefined);
    return pool;
  }

  /** Ends the test's connections before the server ends. */
  async #leave(): Promise<void> {
    const pool = this.#pool;
    this.#pool = undefined;
    await pool?.end().catch(() => undefined);
  }

  async killService(): Promise<void> {
    await this.service.kill();
    await this.#leave();
    this.#service = undefined;
  }

  async killDatabase(): Promise<void> {
    const isReplaced = await this.#database.kill();
    await this.#leave();
    await waitFor('another server', isReplaced);
    await this.untilReady();
  }

  async isReady(): Promise<boolean> {
    const ready = await fetch(`${this.service.url}/health/ready`).catch(() => undefined);
    return ready?.status === 200;
  }

  async untilReady(): Promise<void> {
    await waitFor('the service to be ready', () => this.isReady());
  }

  /** Repeats a request with one key until it gets a response, because the service may be down or the machine busy. */
  async post(path: string, body: object, key: string = randomUUID()): Promise<Record<string, unknown>> {
    const headers = { 'content-type': 'application/json', 'Idempotency-Key': key };
    let answer: { readonly status: number; readonly record: Record<string, unknown> } | undefined;
    const ask = async (): Promise<boolean> => {
      const options = { method: 'POST', headers, body: JSON.stringify(body) };
      const response = await fetch(`${this.service.url}${path}`, options);
      answer = { status: response.status, record: (await response.json()) as Record<string, unknown> };
      return response.status < 500;
    };
    await waitFor(`an answer to ${path}`, () => ask().catch(() => false));
    const { status = 0, record = {} } = answer ?? {};
    if (status >= 400) throw new Error(`${path}: ${status} ${JSON.stringify(record)}`);
    return record;
  }

  /** Reads with the API, and repeats the request if the service is too busy. */
  async read<Result>(ask: (client: ServiceProcess['client']) => Promise<Result>): Promise<Result> {
    const read: Result[] = [];
    const isRead = async (): Promise<boolean> => read.push(await ask(this.service.client)) > 0;
    await waitFor('an answer', () => isRead().catch(() => false));
    return read[0] as Result;
  }

  /** Creates a card at a connector. The card's token is its id. */
  async createCard(connectorId: string): Promise<string> {
    const card_id = `card_${randomBytes(6).toString('hex')}`;
    await this.post('/api/v0.1/core/card', { card_id, connector_id: connectorId, processor_token: card_id });
    return card_id;
  }

  async createTransfer(cardId: string, type: 'load' | 'unload', key?: string): Promise<string> {
    const body = { type, card_id: cardId, amount: 1000, currency: 'USD' };
    return String((await this.post('/api/v0.1/core/transfer', body, key)).transfer_id);
  }

  async show(transferId: string): Promise<Shown> {
    const response = await fetch(`${this.service.url}/api/v0.1/core/transfer/${transferId}`);
    return (await response.json()) as Shown;
  }

  async moveClock(seconds: number): Promise<void> {
    await this.#moveClockTo(this.#seconds + seconds);
  }

  /** Moves the clock. Calls run in sequence, and none moves the clock back. */
  async #moveClockTo(seconds: number): Promise<void> {
    const move = async (): Promise<void> => {
      if (seconds <= this.#seconds) return;
      const isMoved = async (): Promise<boolean> => {
        await this.service.client.sandbox.moveClock({ seconds_ahead: seconds });
        return true;
      };
      await waitFor('the clock to be moved', () => isMoved().catch(() => false));
      this.#seconds = seconds;
    };
    const moved = this.#moves.then(move);
    this.#moves = moved.catch(() => undefined);
    await moved;
  }

  /**
   * Waits until a transfer has ended. Moves the clock to the service's next check of the transfer, but not while a
   * question is open. So the service's time does not depend on the machine's speed.
   */
  async untilEnded(transferId: string): Promise<Shown> {
    let shown: Shown | undefined;
    await waitFor(`the end of ${transferId}`, async () => {
      await new Promise((wake) => setTimeout(wake, LOOK_MILLISECONDS));
      const isOpen = await this.#bringOn(transferId).catch(() => true);
      if (!isOpen) shown = await this.show(transferId).catch(() => undefined);
      return shown !== undefined && shown.status !== 'pending';
    });
    if (shown === undefined) throw new Error(`${transferId} cannot be shown`);
    return shown;
  }

  /** Moves the clock to the next check of a transfer. Returns whether the transfer may still be open. */
  async #bringOn(transferId: string): Promise<boolean> {
    const [row] = await this.query(NEXT_LOOK, [transferId]);
    if (row === undefined) return true;
    // The service never checks this attempt again.
    if (row.wait === null) return false;
    const isDue = Number(row.wait) <= 0 || this.processor.isAsked(transferId);
    if (!isDue) await this.#moveClockTo(Number(row.ahead) + Number(row.wait));
    return true;
  }

  /** Returns whether an order's time has passed. The clock may have been moved since the order was sent. */
  async #isOver({ attempt_id, repeat, not_after }: ArrivedOrder): Promise<boolean> {
    for (;;) {
      const rows = await this.query(AHEAD, [attempt_id, repeat ? 2 : 1]).catch(() => undefined);
      const seconds = rows?.[0]?.seconds;
      if (seconds !== undefined) return Date.now() + Number(seconds) * 1000 > Date.parse(not_after ?? '');
      await new Promise((wake) => setTimeout(wake, LOOK_MILLISECONDS));
    }
  }

  /** Sends a notice until it is acknowledged, as processors do. */
  async notify(transferId: string, status: string, noticeId: string): Promise<void> {
    const isTaken = async () => (await this.tryToNotify(transferId, { status, notice_id: noticeId })) === 200;
    await waitFor('a notice to be acknowledged', () => isTaken().catch(() => false));
  }

  /** Sends a notice about a transfer once. Returns the response's status, if a response arrives. */
  async tryToNotify(transferId: string, facts: object, delivery: Delivery = 'whole'): Promise<number | undefined> {
    const [attempt] = await this.query(OF_TRANSFER, [transferId]);
    if (attempt === undefined) throw new Error(`${transferId} has no attempt`);
    const { connector_id: connectorId, attempt_id, amount, currency } = attempt;
    const about = { attempt_id, amount: Number(amount), currency, processor_reference: 'by notice' };
    const body = JSON.stringify({ ...about, code: null, retry_after_seconds: null, ...facts });
    const { url } = this.service;
    return sendNotice({ url, connectorId: String(connectorId), secret: this.#secret, body, delivery });
  }

  /** Returns the balance of a card's clearing account in minor units. */
  async clearing(cardId: string): Promise<number> {
    const [row] = await this.query(
      `select account.balance from account join card using (program_id, account_id) where card.name = $1`,
      [cardId],
    );
    return Number(row?.balance);
  }
}
