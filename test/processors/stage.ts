import { randomBytes, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { killPostgres } from '../crashes/killing.ts';
import { ledgerDirectory } from '../harness/ledger-directory.ts';
import { embeddedServerOf, type ServiceProcess, startService, waitFor } from '../harness/process.ts';
import { type ArrivedOrder, StandIn } from './stand-in.ts';

/** A place where the service waits, because the test holds a lock that a trigger takes there. */
export const GATES = { claim: 1, mark: 2, record: 3, inquired: 4, reversed: 5 } as const;

export type Gate = keyof typeof GATES;

const GATE_SPACE = 7300;

/**
 * What the lane or the job is about to write, by the status of the attempt before and after it; the lock is that of the gate and
 * the connector. It also notes how far the clock was ahead when an order was sent.
 */
const GATE_TRIGGER = `
  create table test_sent (attempt_id uuid, tries int, ahead interval, primary key (attempt_id, tries));
  create function test_gate() returns trigger language plpgsql security definer as $$
  begin
    if old.status = 'ready' and new.status = 'sent' then
      insert into test_sent values (new.attempt_id, new.tries, new.sent_at - clock_timestamp())
        on conflict (attempt_id, tries) do update set ahead = excluded.ahead;
    end if;
    perform pg_advisory_xact_lock_shared(${GATE_SPACE} + case
      when old.status = 'ready' and new.status = 'ready' then ${GATES.claim}
      when old.status = 'ready' and new.status = 'sent' then ${GATES.mark}
      when old.status = 'sent' then ${GATES.record}
      when old.status = 'unknown' and new.looks = old.looks and new.status = 'unknown' then 0
      when old.status = 'unknown' then ${GATES.inquired}
      when old.status = 'reversing' and new.looks = old.looks and new.status = 'reversing' then 0
      else ${GATES.reversed}
    end, hashtext(new.connector_id) & x'7fffffff'::int);
    return new;
  end $$;
  create trigger test_gate before update on processor_attempt for each row execute function test_gate()`;

/** How far the clock is ahead now, and was when an order was sent. */
const AHEAD = `select extract(epoch from service_now() - clock_timestamp() - ahead) as seconds from test_sent
  where 'pat_' || replace(attempt_id::text, '-', '') = $1 and tries = $2`;

/** When the attempt of a transfer is looked at next, by the clock of the service, and how far that is ahead. */
const NEXT_LOOK = `select status, ceil(extract(epoch from next_at - service_now()))::int as wait,
    round(extract(epoch from service_now() - clock_timestamp()))::int as ahead
  from processor_attempt where 'tr_' || replace(transfer_id::text, '-', '') = $1 order by attempt_id desc limit 1`;

/** A transfer as the API shows it. */
export type Shown = {
  readonly transfer_id: string;
  readonly status: string;
  readonly outcome: string;
  readonly amount: number;
  readonly error: { readonly Code: string } | null;
};

/** How often a waiting test looks, in milliseconds. */
const LOOK_MILLISECONDS = 150;

const TRAITS = {
  settle_delay_seconds: 0,
  not_found_final_seconds: 0,
  ready_seconds: 86_400,
  when_down: 'queue',
};

/**
 * Connectors that all lead to the stand-in. Cells beside each other that can be asked have one of their own, so that no breaker
 * opens for another one; a reversal needs none that is closed. A service has at most 50.
 */
const COUNTS = { inquired: 31, reversed: 18 } as const;

/** A service on a ledger of its own that can be killed with its database, and a processor that outlives both. */
export class Stage {
  readonly processor = new StandIn((order) => this.#isOver(order));
  readonly #directory: Awaited<ReturnType<typeof ledgerDirectory>>;
  readonly #settings: Record<string, string>;
  /** A program in place of the service. */
  readonly #main: string | undefined;
  #service: ServiceProcess | undefined;
  #seconds = 0;
  readonly #used = { inquired: 0, reversed: 0 };
  #moves: Promise<unknown> = Promise.resolve();
  #pool: pg.Pool | undefined;
  readonly #holders: pg.Client[] = [];
  readonly #others: ServiceProcess[] = [];

  private constructor(
    directory: Awaited<ReturnType<typeof ledgerDirectory>>,
    settings: Record<string, string>,
    main?: string,
  ) {
    this.#directory = directory;
    this.#main = main;
    this.#settings = settings;
  }

  static async open(main?: string): Promise<Stage> {
    const directory = await ledgerDirectory();
    const file = join(directory.path, 'connectors.json');
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const stage = new Stage(directory, { DATA_DIR: directory.path, CONNECTORS: file, STAND_IN_SECRET: secret }, main);
    const url = await stage.processor.listen();
    const named = (prefix: string, count: number, traits: object) =>
      Array.from({ length: count }, (_, index) => ({
        connector_id: `${prefix}_${index}`,
        url,
        secret_variable: 'STAND_IN_SECRET',
        traits: { ...TRAITS, ...traits },
      }));
    const connectors = [
      ...named('inquired', COUNTS.inquired, { can_resend: true, key_memory_seconds: 864_000 }),
      ...named('narrow', 1, { max_in_flight: 2 }),
      ...named('reversed', COUNTS.reversed, { has_inquiry: false, reversal: 'advice' }),
    ];
    await writeFile(file, JSON.stringify({ connectors }));
    await stage.start();
    await stage.query(GATE_TRIGGER);
    return stage;
  }

  /** The next one of the connectors that can be asked, or of the others. */
  nextConnector(way: keyof typeof COUNTS): string {
    const used = this.#used[way];
    this.#used[way] = used + 1;
    return `${way}_${used % COUNTS[way]}`;
  }

  get service(): ServiceProcess {
    if (this.#service === undefined) throw new Error('the service does not run');
    return this.#service;
  }

  async start(): Promise<void> {
    this.#service = await startService(this.#settings, this.#main);
  }

  /** Another service on the same ledger, with the same connectors. */
  async startSecond(): Promise<ServiceProcess> {
    const { DATA_DIR = '', ...settings } = this.#settings;
    const { databaseUrl } = await embeddedServerOf(DATA_DIR);
    const second = await startService({ ...settings, DATABASE_URL: databaseUrl }, this.#main);
    this.#others.push(second);
    return second;
  }

  /** The settings of the service without its connectors. */
  settingsWithoutConnectors(): Record<string, string> {
    const { CONNECTORS: _connectors, ...others } = this.#settings;
    return others;
  }

  async end(): Promise<void> {
    await this.release();
    await this.#leave();
    for (const other of this.#others) await other.stop();
    await this.#service?.stop();
    this.processor.close();
    await this.#directory.remove();
  }

  async query(text: string, values: readonly unknown[] = []): Promise<readonly Record<string, unknown>[]> {
    this.#pool ??= await this.#openPool();
    return (await this.#pool.query(text, [...values])).rows;
  }

  async #openPool(): Promise<pg.Pool> {
    const { databaseUrl } = await embeddedServerOf(this.#directory.path);
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 });
    // Its connections end with the server where that is killed.
    pool.on('error', () => undefined);
    return pool;
  }

  /** Ends the connections of the test before the server goes. */
  async #leave(): Promise<void> {
    const pool = this.#pool;
    this.#pool = undefined;
    await pool?.end().catch(() => undefined);
  }

  /** Lets the service wait at a gate with the attempts of a connector until {@link release}. */
  async close(gate: Gate, connectorId: string): Promise<void> {
    const { databaseUrl } = await embeddedServerOf(this.#directory.path);
    const holder = new pg.Client(databaseUrl);
    holder.on('error', () => undefined);
    await holder.connect();
    this.#holders.push(holder);
    await holder.query(`select pg_advisory_lock($1, hashtext($2) & x'7fffffff'::int)`, [
      GATE_SPACE + GATES[gate],
      connectorId,
    ]);
  }

  /** Waits until so many connections of services wait at a gate that is closed, or at any after a question. */
  async untilWaiting(gate?: Gate, connectorId?: string, connections = 1): Promise<void> {
    const waiting = `select from pg_locks where locktype = 'advisory' and not granted
      and classid::int between $1 and $2 and ($3::text is null or objid::int = hashtext($3) & x'7fffffff'::int)`;
    const [first, last] = gate === undefined ? [GATES.record, GATES.reversed] : [GATES[gate], GATES[gate]];
    const values = [GATE_SPACE + first, GATE_SPACE + last, connectorId ?? null];
    await waitFor(`the gate ${gate ?? ''}`, async () => (await this.query(waiting, values)).length >= connections);
  }

  /** Opens all gates. */
  async release(): Promise<void> {
    for (const holder of this.#holders.splice(0)) await holder.end().catch(() => undefined);
  }

  async killService(): Promise<void> {
    await this.service.kill();
    await this.#leave();
    this.#service = undefined;
  }

  async killDatabase(): Promise<void> {
    const killed = await killPostgres(this.#directory.path, true);
    await this.#leave();
    await this.untilReady(killed);
  }

  async untilReady(killed?: number): Promise<void> {
    await waitFor('the service to be ready', async () => {
      const ready = await fetch(`${this.service.url}/health/ready`).catch(() => undefined);
      const server = await embeddedServerOf(this.#directory.path).catch(() => undefined);
      return ready?.status === 200 && server !== undefined && server.processId !== killed;
    });
  }

  async post(path: string, body: object): Promise<Record<string, unknown>> {
    const headers = { 'content-type': 'application/json', 'Idempotency-Key': randomUUID() };
    const response = await fetch(`${this.service.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const answer = (await response.json()) as Record<string, unknown>;
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  /** A card at a connector; its token is its id. */
  async createCard(connectorId: string): Promise<string> {
    const card_id = `card_${randomBytes(6).toString('hex')}`;
    await this.post('/api/v0.1/core/card', { card_id, connector_id: connectorId, processor_token: card_id });
    return card_id;
  }

  async createTransfer(cardId: string, type: 'load' | 'unload'): Promise<string> {
    const body = { type, card_id: cardId, amount: 1000, currency: 'USD' };
    return String((await this.post('/api/v0.1/core/transfer', body)).transfer_id);
  }

  async show(transferId: string): Promise<Shown> {
    const response = await fetch(`${this.service.url}/api/v0.1/core/transfer/${transferId}`);
    return (await response.json()) as Shown;
  }

  async moveClock(seconds: number): Promise<void> {
    await this.#moveClockTo(this.#seconds + seconds);
  }

  /** Moves are made one after the other, and none back. */
  async #moveClockTo(seconds: number): Promise<void> {
    const move = async (): Promise<void> => {
      if (seconds <= this.#seconds) return;
      await this.service.client.sandbox.moveClock({ seconds_ahead: seconds });
      this.#seconds = seconds;
    };
    const moved = this.#moves.then(move);
    this.#moves = moved.catch(() => undefined);
    await moved;
  }

  /**
   * Waits until a transfer has ended. The clock is moved to where it is looked at next, unless it is asked about just now: no
   * more time passes on a slow machine.
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

  /** Moves the clock to where a transfer is looked at next; returns whether it may still be open. */
  async #bringOn(transferId: string): Promise<boolean> {
    const [row] = await this.query(NEXT_LOOK, [transferId]);
    if (row === undefined) return true;
    // Neither is ever looked at again.
    if (row.wait === null) return false;
    const isDue = Number(row.wait) <= 0 || this.processor.isAsked(transferId);
    if (!isDue) await this.#moveClockTo(Number(row.ahead) + Number(row.wait));
    return true;
  }

  /** Whether the time of an order is over, on a clock that has been moved since it was sent. */
  async #isOver({ attempt_id, repeat, not_after }: ArrivedOrder): Promise<boolean> {
    for (;;) {
      const rows = await this.query(AHEAD, [attempt_id, repeat ? 2 : 1]).catch(() => undefined);
      const seconds = rows?.[0]?.seconds;
      if (seconds !== undefined) return Date.now() + Number(seconds) * 1000 > Date.parse(not_after ?? '');
      await new Promise((wake) => setTimeout(wake, LOOK_MILLISECONDS));
    }
  }

  /** Stores a notice as the service does when it has received it. */
  async notify(transferId: string, status: string, noticeId: string): Promise<void> {
    await this.query(
      `insert into processor_notice (connector_id, notice_id, program_id, attempt_id, body, received_at)
        select connector_id, $2, program_id, attempt_id, jsonb_build_object('attempt_id', 'pat_' || replace(attempt_id::text, '-', ''),
          'status', $3::text, 'amount', amount, 'currency', trim(currency), 'processor_reference', 'by notice', 'code', null,
          'retry_after_seconds', null), service_now()
        from processor_attempt where 'tr_' || replace(transfer_id::text, '-', '') = $1
        on conflict do nothing`,
      [transferId, noticeId, status],
    );
  }

  /** What the clearing account of a card says, in minor units. */
  async clearing(cardId: string): Promise<number> {
    const [row] = await this.query(
      `select account.balance from account join card using (program_id, account_id) where card.name = $1`,
      [cardId],
    );
    return Number(row?.balance);
  }
}
