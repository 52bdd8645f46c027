import type { Agent } from 'node:http';
import { keptConnections, NoResponse, type RawResponse, sendRaw } from '../harness/raw-request.ts';
import { isDone, isKept } from './checker.ts';
import type { Change, ChangeHistory, CreateHistory, ReceivedResponse, Terms } from './history.ts';

type Open = { readonly key: string; readonly responses: ReceivedResponse[]; silences: number };
type OpenStory = Open & { readonly terms: Terms };
type OpenChange = Open & { readonly change: Change };

/** One in ten requests is sent twice at once, as by a client whose user clicks twice. */
const DOUBLED = 0.1;

/** How many of the transfers are held first. */
const HELD = 0.35;

/** How many requests are about a transfer that is there, when there is one. */
const CHANGES = 0.4;

/** One in ten transfers is left among those to be changed: two requests then want to end the same hold. */
const LEFT = 0.1;

/** Transfers that are waiting to be changed at most. */
const WAITING_MOST = 200;

/** Milliseconds before a request is repeated whose response was lost or a failure. */
const BEFORE_REPEAT = 60;

const CARDS = 8;

/**
 * Clients that move money all the time, repeat what got no response under the same key, and write down everything that
 * they sent and heard.
 */
export class Load {
  readonly cards = Array.from({ length: CARDS }, (_, index) => `card-of-load-${index}`);
  readonly #stories = new Map<string, OpenStory>();
  readonly #changes = new Map<string, OpenChange>();
  /** Transfers that were acknowledged: holds, and loads that can be reversed. */
  readonly #waiting: { readonly transferId: string; readonly terms: Terms }[] = [];
  readonly #clients: number;
  readonly #name: string;
  readonly #random: () => number;
  #agent: Agent = keptConnections(1);
  #goesOn = false;
  #running: Promise<unknown> = Promise.resolve();
  readonly #unsettled: (OpenStory | OpenChange)[] = [];
  #urls: readonly string[] = [];
  /** Where a service was that has been killed, or is about to be. */
  readonly #dead = new Set<string>();
  /** Connections that broke after the service had taken them; a kill does that, a stop must not. */
  brokenConnections = 0;
  /** Transfers that were acknowledged. */
  made = 0;
  /** Requests that got no response, or found nobody, although the service that they went to was there. */
  unansweredByTheLiving = 0;
  /** Why they did, each reason once. */
  readonly unansweredCauses = new Set<string>();

  /** `random` gives what is drawn, from 0 up to and without 1. */
  constructor(clients: number, name = 'key', random: () => number = Math.random) {
    this.#clients = clients;
    this.#name = name;
    this.#random = random;
  }

  get stories(): readonly CreateHistory[] {
    return [...this.#stories.values()];
  }

  /** What was to be done with transfers that were there. */
  get changes(): readonly ChangeHistory[] {
    return [...this.#changes.values()];
  }

  /** Lets the clients go on against the service at these addresses, each client at one of them. */
  start(...baseUrls: readonly string[]): void {
    this.#goesOn = true;
    this.#agent = keptConnections(this.#clients * 2);
    this.redirect(...baseUrls);
    this.#running = Promise.all(Array.from({ length: this.#clients }, (_, index) => this.#client(index)));
  }

  /** Sends the clients to other addresses from their next request on. */
  redirect(...baseUrls: readonly string[]): void {
    this.#urls = baseUrls;
    // Another process may have got the port of one that is dead.
    for (const url of baseUrls) this.#dead.delete(url);
  }

  /** Says that the service at this address is about to be killed: from now on it owes nobody a response. */
  expectDeath(baseUrl: string): void {
    this.#dead.add(baseUrl);
  }

  /** Ends when every client has stopped and nothing is under way. */
  async pause(): Promise<void> {
    this.#goesOn = false;
    await this.#running;
    this.#agent.destroy();
  }

  /** Repeats every request that has no final response until it has one, and `again` of the others once more. */
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
   * Sends under one key, twice at once to two services where there are two; the story waits for another turn when that
   * brought no final response.
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
    // Who was asked while it was away owes nothing, also when it is back before that is heard.
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

  /** Lets later requests do something with a transfer that was acknowledged. */
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
    // A load is reversed once: what is more than what is left of it would be a 400, which no key keeps.
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

  /** More loads than the rest, so that there is money to move; some of the rest is more than there is. */
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

/** What of a response is compared. */
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
