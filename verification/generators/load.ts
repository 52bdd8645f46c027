import type { Agent } from 'node:http';
import { DEMO_PROGRAM } from '../../contract/samples.ts';
import { type ServiceProcess, waitFor } from '../../test/harness/process.ts';
import { keptConnections, NoResponse, type RawResponse, sendRaw } from '../../test/harness/raw-request.ts';
import { pause, type Tally } from '../campaign.ts';
import type { Books } from '../checkers/books.ts';
import {
  type Change,
  type Creation,
  isCreation,
  isDone,
  isKept,
  type Operation,
  type Response,
  responsesOf,
} from '../checkers/history.ts';
import { findContradictions } from '../checkers/responses.ts';

type OpenOperation<Asked = Creation | Change> = Operation<Asked> & {
  readonly responses: Response[];
  unanswered: number;
};

/** A card program, and the cards that its transfers use. */
export type ProgramCards = {
  /** The wire id of the program. */
  readonly programId: string;
  /** Cards that nothing else changes. */
  readonly steady: readonly string[];
  /** Cards that change continuously. A new card replaces each closed one. */
  readonly changing: string[];
};

/** The mix of requests. Each share is a number from 0 to 1. */
export type Mix = {
  /** The share of requests that are sent twice at the same time, as if a user had clicked twice. */
  readonly doubled: number;
  /** The share of transfers with a hold, and the share of holds that expire soon. */
  readonly held: number;
  readonly expiring: number;
  /** The share of requests that change an existing transfer, if there is one. */
  readonly changes: number;
  /** The share of acknowledged transfers without a hold that are reversed later. */
  readonly reversible: number;
  /** The share of transfers that can be changed a second time, so that two requests compete. */
  readonly changedAgain: { readonly hold: number; readonly other: number };
  /** The share of transfers on cards that change, and the share of transfers with a reference. */
  readonly changing: number;
  readonly referenced: number;
  /** The largest amount of each type, in minor units. Some transfers exceed the balance. */
  readonly amounts: Readonly<Record<Creation['type'], number>>;
  /** Whether requests are sent again until they have a final response. */
  readonly retries: boolean;
};

/**
 * The default mix. A load is reversed only once, because a reversal of more than the remaining amount is refused, and
 * that response is not stored under its key.
 */
const MIX: Mix = {
  doubled: 0.1,
  held: 0.35,
  expiring: 0,
  changes: 0.4,
  reversible: 1,
  changedAgain: { hold: 0.1, other: 0 },
  changing: 0,
  referenced: 0,
  amounts: { load: 100, unload: 300, card_to_card: 200 },
  retries: true,
};

/** The time until a short hold expires, in milliseconds. */
const EXPIRES_IN = 3_000;

/** The share of references that were used before. */
const REFERENCE_AGAIN = 0.1;

/** The maximum number of transfers that wait to be changed. */
const MAX_WAITING = 200;

/** The pause after a lost response or a failure, in milliseconds. */
const BEFORE_REPEAT = 60;

const CARDS = 8;

const TRANSFER = '/api/v0.1/core/transfer';

/** Clients that move money continuously, and the history of their requests and responses. */
export class Load {
  readonly cards = Array.from({ length: CARDS }, (_, index) => `card-of-load-${index}`);
  readonly #operations: OpenOperation[] = [];
  /** Acknowledged transfers that can be changed. */
  readonly #waiting: { readonly program: ProgramCards; readonly transferId: string; readonly asked: Creation }[] = [];
  readonly #unsettled: OpenOperation[] = [];
  readonly #clients: number;
  readonly #name: string;
  readonly #random: () => number;
  readonly #mix: Mix;
  #agent: Agent = keptConnections(1);
  #goesOn = false;
  #running: Promise<unknown> = Promise.resolve();
  #urls: readonly string[] = [];
  /** The programs that the clients of each address use. */
  #programs: readonly (readonly ProgramCards[])[] = [[{ programId: DEMO_PROGRAM, steady: this.cards, changing: [] }]];
  /** Whether the second copy of a request goes to a different address. */
  #isCrossed = true;
  #references = 0;
  /** The addresses of services that were killed or will be killed soon. */
  readonly #dead = new Set<string>();
  /** The number of kept connections that broke. A kill may break connections, but a stop must not. */
  brokenConnections = 0;
  /** The number of acknowledged transfers. */
  made = 0;
  /** The number of requests to a running service that got no response or no connection. */
  unansweredByTheLiving = 0;
  /** The different causes of `unansweredByTheLiving`. */
  readonly #unansweredCauses = new Set<string>();

  /** `random` returns numbers from 0 (inclusive) to 1 (exclusive). */
  constructor(clients: number, name = 'key', random: () => number = Math.random, mix: Mix = MIX) {
    this.#clients = clients;
    this.#name = name;
    this.#random = random;
    this.#mix = mix;
  }

  get operations(): readonly Operation[] {
    return this.#operations;
  }

  get responses(): readonly Response[] {
    return responsesOf(this.#operations);
  }

  /** The number of requests that may have arrived but got no response. */
  get unanswered(): number {
    return this.#operations.reduce((sum, { unanswered }) => sum + unanswered, 0);
  }

  /** Creates the cards. Retries, because a busy machine may be too slow. */
  async makeCards({ url }: ServiceProcess): Promise<void> {
    for (const card_id of this.cards) {
      const raw = { path: '/api/v0.1/core/card', headers: { 'Idempotency-Key': card_id }, body: { card_id } };
      await waitFor(`the card ${card_id}`, async () => (await sendRaw(url, raw)).status === 201);
    }
  }

  /** Sets the programs that the clients of each address use. */
  use(programs: readonly (readonly ProgramCards[])[], isCrossed: boolean): void {
    this.#programs = programs;
    this.#isCrossed = isCrossed;
  }

  /** Starts the clients. Each client uses one of these addresses. */
  start(...baseUrls: readonly string[]): void {
    this.#goesOn = true;
    this.#agent = keptConnections(this.#clients * 2);
    this.redirect(...baseUrls);
    this.#running = Promise.all(Array.from({ length: this.#clients }, (_, index) => this.#client(index)));
  }

  /** Sends the clients to other addresses from their next request on. */
  redirect(...baseUrls: readonly string[]): void {
    this.#urls = baseUrls;
    // A new process may have the port of a dead one.
    for (const url of baseUrls) this.#dead.delete(url);
  }

  /** Announces that the service at this address will be killed. From then on, missing responses are allowed. */
  expectDeath(baseUrl: string): void {
    this.#dead.add(baseUrl);
  }

  /** Waits for this number of acknowledged transfers, or 8 s, because a service may acknowledge none after a kill. */
  async untilMade(wanted: number): Promise<void> {
    const started = performance.now();
    while (this.made < wanted && performance.now() - started < 8_000) await pause(10);
  }

  /** Stops the clients and waits until no request is in flight. */
  async pause(): Promise<void> {
    this.#goesOn = false;
    await this.#running;
    this.#agent.destroy();
  }

  /** Retries every unsettled request until it has a final response, and repeats the last `again` requests once. */
  async settle(baseUrl: string, again: number): Promise<void> {
    this.#agent = keptConnections(this.#clients);
    for (let open = this.#unsettled.shift(); open !== undefined; open = this.#unsettled.shift()) {
      await this.#send(() => baseUrl, open);
    }
    const settled = this.#operations.slice(-again);
    for (let at = 0; at < settled.length && again > 0; at += this.#clients) {
      await Promise.all(settled.slice(at, at + this.#clients).map((operation) => this.#attempt(baseUrl, operation)));
    }
    this.#agent.destroy();
  }

  /** Sends a load of one minor unit with this key to all addresses at the same time. */
  async sendUnder(key: string, program: ProgramCards): Promise<void> {
    const card = this.#pick(program.steady);
    const terms = { type: 'load', amount: 1, card, destination: null, capture: 'automatic' } as const;
    const operation = this.#add(key, program, { does: 'create', ...terms, reference: null, expiresAt: null });
    await Promise.all(this.#urls.map((url) => this.#attempt(url, operation)));
  }

  async #client(index: number): Promise<void> {
    const urlOf = (copy: number): string =>
      this.#urls[(index + (this.#isCrossed ? copy : 0)) % this.#urls.length] ?? '';
    while (this.#goesOn) {
      const programs = this.#programs[index % this.#programs.length] ?? [];
      await this.#send(urlOf, this.#unsettled.shift() ?? this.#newOperation(programs));
    }
  }

  /** Sends a request once, or twice at the same time. Without a final response it is sent again later. */
  async #send(urlOf: (copy: number) => string, operation: OpenOperation): Promise<void> {
    const copies = this.#random() < this.#mix.doubled ? 2 : 1;
    await Promise.all(Array.from({ length: copies }, (_, copy) => this.#attempt(urlOf(copy), operation)));
    const { responses } = operation;
    if (isCreation(operation) && responses.some(isDone)) this.#offer(operation);
    if (responses.some(isKept) || (!this.#mix.retries && responses.length > 0)) return;
    this.#unsettled.push(operation);
    await pause(BEFORE_REPEAT);
  }

  async #attempt(baseUrl: string, operation: OpenOperation): Promise<void> {
    const { key, programId } = operation;
    const headers = { 'Idempotency-Key': key, 'Program-Id': programId };
    // A service that was dead at the time of the request owes no response, even if it is back before the request fails.
    const wasDead = this.#dead.has(baseUrl);
    try {
      const response = await sendRaw(baseUrl, { headers, ...requestOf(operation) }, this.#agent);
      operation.responses.push(toResponse(response));
    } catch (error) {
      if (!(error instanceof NoResponse)) throw error;
      if (!wasDead && !this.#dead.has(baseUrl)) {
        this.unansweredByTheLiving += 1;
        this.#unansweredCauses.add(causeOf(error));
      }
      if (error.isRefused) return;
      operation.unanswered += 1;
      if (error.isReused) this.brokenConnections += 1;
    }
  }

  #add<Asked extends Creation | Change>(key: string, { programId }: ProgramCards, asked: Asked): OpenOperation<Asked> {
    const operation = { key, programId, asked, sentAt: performance.now(), responses: [], unanswered: 0 };
    this.#operations.push(operation);
    return operation;
  }

  #newOperation(programs: readonly ProgramCards[]): OpenOperation {
    const change = this.#random() < this.#mix.changes ? this.#newChange(programs) : undefined;
    const program = this.#pick(programs);
    const key = `${this.#name}-${this.#operations.length + 1}`;
    return change === undefined
      ? this.#add(key, program, this.#newCreation(program))
      : this.#add(key, change.program, change.asked);
  }

  /** Half are loads, so that there is money to move. */
  #newCreation(program: ProgramCards): Creation {
    const { amounts, held, expiring, referenced } = this.#mix;
    const chance = this.#random();
    const type = chance < 0.5 ? 'load' : chance < 0.75 ? 'unload' : 'card_to_card';
    const card = this.#card(program);
    const isHeld = this.#random() < held;
    return {
      does: 'create',
      type,
      amount: 1 + Math.floor(this.#random() * amounts[type]),
      card,
      destination: type === 'card_to_card' ? this.#card(program, card) : null,
      capture: isHeld ? 'manual' : 'automatic',
      reference: this.#random() < referenced ? this.#reference() : null,
      expiresAt: isHeld && this.#random() < expiring ? new Date(Date.now() + EXPIRES_IN).toISOString() : null,
    };
  }

  #card({ steady, changing }: ProgramCards, not?: string): string {
    const card = this.#pick(this.#random() < this.#mix.changing ? changing : steady);
    return card === not ? this.#pick(steady.filter((name) => name !== not)) : card;
  }

  #reference(): string {
    const isAgain = this.#random() < REFERENCE_AGAIN;
    if (!isAgain) this.#references += 1;
    return `reference-${isAgain ? this.#references - Math.floor(this.#random() * 20) : this.#references}`;
  }

  /** Adds an acknowledged transfer to the list for later changes. */
  #offer({ asked, programId, responses }: Operation<Creation>): void {
    this.made += 1;
    const program = this.#programs.flat().find((each) => each.programId === programId);
    const isWanted = asked.capture === 'manual' || this.#random() < this.#mix.reversible;
    const response = responses.find(isDone);
    if (program === undefined || response === undefined || !isWanted || this.#waiting.length > MAX_WAITING) return;
    const { transfer_id: transferId } = JSON.parse(response.text) as { readonly transfer_id: string };
    this.#waiting.push({ program, transferId, asked });
  }

  /** Changes a waiting transfer of these programs. Some stay in the list, so that two requests change them. */
  #newChange(
    programs: readonly ProgramCards[],
  ): { readonly program: ProgramCards; readonly asked: Change } | undefined {
    const at = Math.floor(this.#random() * this.#waiting.length);
    const waiting = this.#waiting[at];
    if (waiting === undefined || !programs.includes(waiting.program)) return undefined;
    const { program, transferId, asked } = waiting;
    const isHold = asked.capture === 'manual';
    const { hold, other } = this.#mix.changedAgain;
    if (this.#random() >= (isHold ? hold : other)) this.#waiting.splice(at, 1);
    const does = !isHold ? 'reverse' : this.#random() < 0.6 ? 'capture' : 'cancel';
    const amount = does === 'cancel' ? 0 : 1 + Math.floor(this.#random() * asked.amount);
    return { program, asked: { does, transferId, amount } };
  }

  #pick<Item>(items: readonly Item[]): Item {
    return pick(items, this.#random);
  }

  /**
   * Counts contradictions between the books and the responses as violations. A running service must respond to every
   * request.
   */
  judge(tally: Tally, where: string, books: Books): void {
    tally.violate(where, findContradictions(this.operations, books));
    if (this.unansweredByTheLiving > 0) {
      const causes = [...this.#unansweredCauses].join(', ');
      tally.violate(where, [`${this.unansweredByTheLiving} requests to a running service had no response: ${causes}`]);
    }
  }

  /** Adds the figures of the load. */
  count(tally: Tally, { transfers }: Books): void {
    const { responses } = this;
    tally.add('transfers', transfers.length);
    tally.add('reversals', transfers.flatMap(({ reversals }) => reversals).length);
    for (const [what, is] of Object.entries(KINDS_OF_RESPONSES)) tally.add(what, responses.filter(is).length);
    tally.add('unanswered', this.unanswered);
    tally.add('unanswered_by_the_living', this.unansweredByTheLiving);
  }
}

/** The responses that a load counts. */
const KINDS_OF_RESPONSES: Readonly<Record<string, (response: Response) => boolean>> = {
  acknowledged: isDone,
  replayed: ({ replayed }) => replayed,
  refused_409: ({ status }) => status === 409,
  failed_5xx: ({ status }) => status >= 500,
  unknown: ({ moneyMoved }) => moneyMoved === 'unknown',
};

export function pick<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('the list is empty');
  return item;
}

function requestOf({ key, asked }: Operation): { readonly path?: string; readonly body?: object } {
  switch (asked.does) {
    case 'create': {
      const { type, amount, card, destination, capture, reference, expiresAt } = asked;
      const body = {
        amount,
        card_id: card,
        type,
        ...(destination === null ? {} : { destination_card_id: destination }),
        ...(capture === 'manual' ? { capture } : {}),
        ...(expiresAt === null ? {} : { expires_at: expiresAt }),
        ...(reference === null ? {} : { reference }),
        metadata: { key },
      };
      return { body };
    }
    case 'cancel':
      return { path: `${TRANSFER}/${asked.transferId}/cancel` };
    case 'capture':
      return { path: `${TRANSFER}/${asked.transferId}/capture`, body: { amount: asked.amount } };
    case 'reverse':
      return { path: `${TRANSFER}/${asked.transferId}/reverse`, body: { amount: asked.amount, description: key } };
  }
}

function causeOf({ message, idleMilliseconds }: NoResponse): string {
  if (idleMilliseconds === undefined) return message;
  return `${message} on a connection that had been idle for ${Math.round(idleMilliseconds)} ms`;
}

/** Returns the parts of a response that are compared. */
function toResponse({ status, text, headers }: RawResponse): Response {
  const header = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    requestId: header('request-id') ?? '',
    status,
    text,
    moneyMoved: header('money-moved'),
    shouldRetry: header('should-retry'),
    transferId: header('transfer-id'),
    replayed: header('idempotent-replayed') === 'true',
    at: performance.now(),
  };
}

/** Waits until a transfer succeeds. Returns the time in milliseconds, or Infinity after `most` milliseconds. */
export async function untilServing(url: string, most = 60_000): Promise<number> {
  const started = performance.now();
  while (performance.now() - started < most) {
    try {
      const { status } = await sendRaw(url, { body: { amount: 1, card_id: 'card_active' } });
      if (status === 201) return performance.now() - started;
    } catch (error) {
      if (!(error instanceof NoResponse)) throw error;
    }
    await pause(20);
  }
  return Number.POSITIVE_INFINITY;
}
