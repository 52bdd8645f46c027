import type { Agent } from 'node:http';
import { keptConnections, NoResponse, type RawResponse, sendRaw } from '../../test/harness/raw-request.ts';
import { isDone, isKept } from '../checkers/transfers/checker.ts';
import type { Change, ChangeHistory, CreateHistory, ReceivedResponse, Terms } from '../checkers/transfers/history.ts';

type Open = { readonly key: string; readonly responses: ReceivedResponse[]; silences: number };
type OpenStory = Open & { readonly terms: Terms };
type OpenChange = Open & { readonly change: Change };

/** The share of requests that are sent twice at the same time, as if a user clicked twice. */
const DOUBLED = 0.1;

/** The share of transfers with a hold. */
const HELD = 0.35;

/** The share of requests that change an existing transfer, if there is one. */
const CHANGES = 0.4;

/** The share of holds that stay in the list after a change, so that two requests try to end the same hold. */
const LEFT = 0.1;

/** The maximum number of transfers that wait to be changed. */
const WAITING_MOST = 200;

/** The pause after a lost response or a failure, in milliseconds. */
const BEFORE_REPEAT = 60;

const CARDS = 8;

/**
 * Clients that move money continuously. They retry requests without a final response under the same key, and record all
 * requests and responses.
 */
export class Load {
  readonly cards = Array.from({ length: CARDS }, (_, index) => `card-of-load-${index}`);
  readonly #stories = new Map<string, OpenStory>();
  readonly #changes = new Map<string, OpenChange>();
  /** Acknowledged transfers that can be changed: holds, and loads that can be reversed. */
  readonly #waiting: { readonly transferId: string; readonly terms: Terms }[] = [];
  readonly #clients: number;
  readonly #name: string;
  readonly #random: () => number;
  #agent: Agent = keptConnections(1);
  #goesOn = false;
  #running: Promise<unknown> = Promise.resolve();
  readonly #unsettled: (OpenStory | OpenChange)[] = [];
  #urls: readonly string[] = [];
  /** The addresses of services that were killed or will be killed soon. */
  readonly #dead = new Set<string>();
  /** The number of kept connections that broke. A kill may break them, a stop must not. */
  brokenConnections = 0;
  /** The number of acknowledged transfers. */
  made = 0;
  /** The number of requests to a running service that got no response or no connection. */
  unansweredByTheLiving = 0;
  /** The different causes of `unansweredByTheLiving`. */
  readonly unansweredCauses = new Set<string>();

  /** `random` returns numbers from 0 (inclusive) to 1 (exclusive). */
  constructor(clients: number, name = 'key', random: () => number = Math.random) {
    this.#clients = clients;
    this.#name = name;
    this.#random = random;
  }

  get stories(): readonly CreateHistory[] {
    return [...this.#stories.values()];
  }

  get changes(): readonly ChangeHistory[] {
    return [...this.#changes.values()];
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

  /** Stops the clients and waits until no request is in flight. */
  async pause(): Promise<void> {
    this.#goesOn = false;
    await this.#running;
    this.#agent.destroy();
  }

  /** Retries every unsettled request until it has a final response, and repeats `again` settled requests once. */
  async settle(baseUrl: string, again: number): Promise<void> {
    this.#agent = keptConnections(this.#clients);
    for (let story = this.#unsettled.shift(); story !== undefined; story = this.#unsettled.shift()) {
      await this.#send(() => baseUrl, story);
    }
    const half = Math.ceil(again / 2);
    const settled = [...[...this.#stories.values()].slice(-half), ...[...this.#changes.values()].slice(-half)];
    for (let at = 0; at < settled.length; at += this.#clients) {
      await Promise.all(settled.slice(at, at + this.#clients).map((story) => this.#attempt(baseUrl, story)));
    }
    this.#agent.destroy();
  }

  async #client(index: number): Promise<void> {
    const urlOf = (copy: number): string => this.#urls[(index + copy) % this.#urls.length] ?? '';
    while (this.#goesOn) await this.#send(urlOf, this.#unsettled.shift() ?? this.#newRequest());
  }

  /**
   * Sends a request once, or twice at the same time, to both services if there are two. Without a final response it is sent
   * again later.
   */
  async #send(urlOf: (copy: number) => string, story: OpenStory | OpenChange): Promise<void> {
    const copies = this.#random() < DOUBLED ? 2 : 1;
    await Promise.all(Array.from({ length: copies }, (_, copy) => this.#attempt(urlOf(copy), story)));
    if ('terms' in story) this.#offer(story);
    if (story.responses.some(isKept)) {
      if ('terms' in story && story.responses.some(isDone)) this.made += 1;
      return;
    }
    this.#unsettled.push(story);
    await new Promise((wake) => setTimeout(wake, BEFORE_REPEAT));
  }

  async #attempt(baseUrl: string, story: OpenStory | OpenChange): Promise<void> {
    const headers = { 'Idempotency-Key': story.key };
    // A service that was dead at the time of the request owes no response, even if it is back before the request fails.
    const wasDead = this.#dead.has(baseUrl);
    try {
      const raw = { headers, ...('terms' in story ? creationOf(story) : changeOf(story)) };
      story.responses.push(toReceived(await sendRaw(baseUrl, raw, this.#agent)));
    } catch (error) {
      if (!(error instanceof NoResponse)) throw error;
      if (!wasDead && !this.#dead.has(baseUrl)) {
        this.unansweredByTheLiving += 1;
        this.unansweredCauses.add(causeOf(error));
      }
      if (error.isRefused) return;
      story.silences += 1;
      if (error.isReused) this.brokenConnections += 1;
    }
  }

  /** Adds an acknowledged transfer to the list for later changes. */
  #offer({ terms, responses }: OpenStory): void {
    const response = responses.find(isDone);
    const isOfUse = terms.capture === 'manual' || terms.type === 'load';
    if (response === undefined || !isOfUse || this.#waiting.length > WAITING_MOST) return;
    const { transfer_id: transferId } = JSON.parse(response.text) as { transfer_id: string };
    this.#waiting.push({ transferId, terms });
  }

  #newRequest(): OpenStory | OpenChange {
    const isChange = this.#random() < CHANGES;
    return (isChange ? this.#newChange() : undefined) ?? this.#newStory();
  }

  #newChange(): OpenChange | undefined {
    const at = Math.floor(this.#random() * this.#waiting.length);
    const waiting = this.#waiting[at];
    if (waiting === undefined) return undefined;
    const { transferId, terms } = waiting;
    const isHold = terms.capture === 'manual';
    // A load is reversed once. A reversal of more than the remaining amount gets a 400, which is not stored under its key.
    if (!isHold || this.#random() > LEFT) this.#waiting.splice(at, 1);
    const verb = !isHold ? 'reverse' : this.#random() < 0.6 ? 'capture' : 'cancel';
    const amount = verb === 'cancel' ? 0 : 1 + Math.floor(this.#random() * terms.amount);
    const key = `${this.#name}-change-${this.#changes.size + 1}`;
    const story = { key, change: { verb, transferId, amount }, responses: [], silences: 0 } as const;
    const open: OpenChange = { ...story, responses: [] };
    this.#changes.set(key, open);
    return open;
  }

  #newStory(): OpenStory {
    const key = `${this.#name}-${this.#stories.size + 1}`;
    const story = { key, terms: this.#newTerms(), responses: [], silences: 0 };
    this.#stories.set(key, story);
    return story;
  }

  /** Half are loads, so that there is money to move. Some of the other transfers exceed the balance. */
  #newTerms(): Terms {
    const amount = 1 + Math.floor(this.#random() * 100);
    const chance = this.#random();
    const cardId = this.#card(0);
    const capture = this.#random() < HELD ? 'manual' : 'automatic';
    if (chance < 0.5) return { type: 'load', amount, cardId, destinationCardId: null, capture };
    if (chance < 0.75) return { type: 'unload', amount: amount * 3, cardId, destinationCardId: null, capture };
    const destinationCardId =
      this.cards.find((card) => card !== cardId && this.#random() < 0.5) ?? this.#card(1, cardId);
    return { type: 'card_to_card', amount: amount * 2, cardId, destinationCardId, capture };
  }

  #card(least: number, not?: string): string {
    const others = this.cards.filter((card) => card !== not);
    return others[least + Math.floor(this.#random() * (others.length - least))] ?? 'card-of-load-0';
  }
}

function creationOf({ key, terms }: OpenStory) {
  const { type, amount, cardId, destinationCardId, capture } = terms;
  const body = {
    amount,
    card_id: cardId,
    type,
    ...(destinationCardId === null ? {} : { destination_card_id: destinationCardId }),
    ...(capture === 'manual' ? { capture } : {}),
    metadata: { key },
  };
  return { body };
}

function changeOf({ key, change }: OpenChange) {
  const { verb, transferId, amount } = change;
  const path = `/api/v0.1/core/transfer/${transferId}/${verb}`;
  if (verb === 'cancel') return { path };
  return { path, body: verb === 'capture' ? { amount } : { amount, description: key } };
}

function causeOf({ message, idleMilliseconds }: NoResponse): string {
  if (idleMilliseconds === undefined) return message;
  return `${message} on a connection that had been idle for ${Math.round(idleMilliseconds)} ms`;
}

/** Returns the parts of a response that are compared. */
export function toReceived({ status, text, headers }: RawResponse): ReceivedResponse {
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
  };
}
