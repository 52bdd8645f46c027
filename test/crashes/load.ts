import type { Agent } from 'node:http';
import { keptConnections, type RawAnswer, Silence, sendRaw } from '../api/raw-request.ts';
import { type Answer, isKept, type Story, type Terms } from './checker.ts';

type OpenStory = { readonly key: string; readonly terms: Terms; readonly answers: Answer[]; silences: number };

/** One in ten requests is sent twice at once, as by a client whose user clicks twice. */
const DOUBLED = 0.1;

/** Milliseconds before a request is repeated whose answer was lost or a failure. */
const BEFORE_REPEAT = 60;

const CARDS = 8;

/**
 * Clients that move money all the time, repeat what got no answer under the same key, and write down everything that
 * they sent and heard.
 */
export class Load {
  readonly cards = Array.from({ length: CARDS }, (_, index) => `card-of-load-${index}`);
  readonly #stories = new Map<string, OpenStory>();
  readonly #clients: number;
  readonly #name: string;
  #agent: Agent = keptConnections(1);
  #goesOn = false;
  #running: Promise<unknown> = Promise.resolve();
  readonly #unsettled: OpenStory[] = [];
  /** Connections that broke after the service had taken them; a kill does that, a stop must not. */
  brokenConnections = 0;

  constructor(clients: number, name = 'key') {
    this.#clients = clients;
    this.#name = name;
  }

  get stories(): readonly Story[] {
    return [...this.#stories.values()];
  }

  /** Lets the clients go on against the service at these addresses, each client at one of them. */
  start(...baseUrls: readonly string[]): void {
    this.#goesOn = true;
    this.#agent = keptConnections(this.#clients * 2);
    const clients = Array.from({ length: this.#clients }, (_, index) =>
      this.#client(baseUrls[index % baseUrls.length] ?? ''),
    );
    this.#running = Promise.all(clients);
  }

  /** Ends when every client has stopped and nothing is under way. */
  async pause(): Promise<void> {
    this.#goesOn = false;
    await this.#running;
    this.#agent.destroy();
  }

  /** Repeats every request that has no final answer until it has one, and `again` of the others once more. */
  async settle(baseUrl: string, again: number): Promise<void> {
    this.#agent = keptConnections(this.#clients);
    for (let story = this.#unsettled.shift(); story !== undefined; story = this.#unsettled.shift()) {
      await this.#send(baseUrl, story);
    }
    const settled = [...this.#stories.values()].slice(-again);
    for (let at = 0; at < settled.length; at += this.#clients) {
      await Promise.all(settled.slice(at, at + this.#clients).map((story) => this.#attempt(baseUrl, story)));
    }
    this.#agent.destroy();
  }

  async #client(baseUrl: string): Promise<void> {
    while (this.#goesOn) await this.#send(baseUrl, this.#unsettled.shift() ?? this.#newStory());
  }

  /** Sends under one key; the story waits for another turn when that brought no final answer. */
  async #send(baseUrl: string, story: OpenStory): Promise<void> {
    const copies = Math.random() < DOUBLED ? 2 : 1;
    await Promise.all(Array.from({ length: copies }, () => this.#attempt(baseUrl, story)));
    if (story.answers.some(isKept)) return;
    this.#unsettled.push(story);
    await new Promise((wake) => setTimeout(wake, BEFORE_REPEAT));
  }

  async #attempt(baseUrl: string, story: OpenStory): Promise<void> {
    const { type, amount, cardId, destinationCardId } = story.terms;
    const body = {
      amount,
      card_id: cardId,
      type,
      ...(destinationCardId === null ? {} : { destination_card_id: destinationCardId }),
      metadata: { key: story.key },
    };
    try {
      const headers = { 'Idempotency-Key': story.key };
      story.answers.push(toAnswer(await sendRaw(baseUrl, { headers, body }, this.#agent)));
    } catch (error) {
      if (!(error instanceof Silence)) throw error;
      if (error.isRefused) return;
      story.silences += 1;
      if (error.isReused) this.brokenConnections += 1;
    }
  }

  #newStory(): OpenStory {
    const key = `${this.#name}-${this.#stories.size + 1}`;
    const story = { key, terms: this.#newTerms(), answers: [], silences: 0 };
    this.#stories.set(key, story);
    return story;
  }

  /** More loads than the rest, so that there is money to move; some of the rest is more than there is. */
  #newTerms(): Terms {
    const amount = 1 + Math.floor(Math.random() * 100);
    const chance = Math.random();
    const cardId = this.#card(0);
    if (chance < 0.5) return { type: 'load', amount, cardId, destinationCardId: null };
    if (chance < 0.75) return { type: 'unload', amount: amount * 3, cardId, destinationCardId: null };
    const destinationCardId =
      this.cards.find((card) => card !== cardId && Math.random() < 0.5) ?? this.#card(1, cardId);
    return { type: 'card_to_card', amount: amount * 2, cardId, destinationCardId };
  }

  #card(least: number, not?: string): string {
    const others = this.cards.filter((card) => card !== not);
    return others[least + Math.floor(Math.random() * (others.length - least))] ?? 'card-of-load-0';
  }
}

function toAnswer({ status, text, headers }: RawAnswer): Answer {
  const header = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    requestId: header('request-id') ?? '',
    status,
    text,
    moneyMoved: header('money-moved'),
    transferId: header('transfer-id'),
    replayed: header('idempotent-replayed') === 'true',
  };
}
