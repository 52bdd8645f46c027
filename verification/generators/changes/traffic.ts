import type { Agent } from 'node:http';
import { keptConnections } from '../../../test/harness/raw-request.ts';
import { type Asked, type Record, type Sent, send } from './requests.ts';

/** A card program of the row, and the cards that its transfers use. */
export type Place = {
  readonly programId: string;
  /** Cards that the changers leave alone. */
  readonly steady: readonly string[];
  /** Cards that change continuously. A new card replaces each closed one. */
  readonly changing: string[];
};

/** The programs that the clients of each service use. If crossed, doubled requests go to both services. */
export type Phase = { readonly places: readonly (readonly Place[])[]; readonly isCrossed: boolean };

/** Shares of all transfers: on changing cards, with a hold, and sent twice at the same time. */
const ABOUT_CHANGING = 0.25;
const HELD = 0.15;
const DOUBLED = 0.03;

/** The share of requests that act on an existing transfer. */
const CHANGES = 0.12;

/** The share of holds that expire soon, and their duration in milliseconds. Either service may find them. */
const SHORT_HOLDS = 0.02;
const SHORT_MILLISECONDS = 3_000;

/** The share of transfers with a reference, and the share of these references that were used before. */
const WITH_REFERENCE = 0.1;
const REFERENCE_AGAIN = 0.1;

/** The maximum number of transfers that wait to be captured, canceled or reversed. */
const MAX_WAITING = 500;

type Waiting = {
  readonly place: Place;
  readonly transferId: string;
  readonly amount: number;
  readonly isHeld: boolean;
};

/** Clients of two services that create, capture, cancel and reverse transfers. */
export class Traffic {
  readonly #record: Record;
  readonly #urls: readonly string[];
  readonly #clients: number;
  readonly #random: () => number;
  readonly #waiting: Waiting[] = [];
  #references = 0;
  #keys = 0;
  /** The number of acknowledged transfers. */
  made = 0;

  /** `clients` is the number per service. */
  constructor(record: Record, urls: readonly string[], clients: number, random: () => number) {
    this.#record = record;
    this.#urls = urls;
    this.#clients = clients;
    this.#random = random;
  }

  /** Runs a phase while `goesOn`. */
  async run(phase: Phase, goesOn: () => boolean): Promise<void> {
    const agent = keptConnections(this.#clients * this.#urls.length * 2);
    const clients = this.#urls.flatMap((_, service) =>
      Array.from({ length: this.#clients }, async () => {
        while (goesOn()) await this.#step(service, phase, agent);
      }),
    );
    await Promise.all(clients);
    agent.destroy();
  }

  /** Sends a load with this key to both services at the same time. */
  sendUnder(key: string, place: Place, agent: Agent): Promise<Sent> {
    const asked: Asked = {
      does: 'create',
      type: 'load',
      amount: 1,
      card: pick(place.steady, this.#random),
      destination: null,
      isHeld: false,
      endsIn: null,
      reference: null,
    };
    return this.#send([0, 1], { key, place, asked }, agent);
  }

  async #step(service: number, { places: all, isCrossed }: Phase, agent: Agent): Promise<void> {
    const places = all[service] ?? [];
    this.#keys += 1;
    const key = `key-${this.#keys}`;
    const services = this.#random() < DOUBLED ? [service, isCrossed ? 1 - service : service] : [service];
    const waiting = this.#random() < CHANGES ? this.#take(places) : undefined;
    if (waiting !== undefined) {
      await this.#send(services, { key, place: waiting.place, asked: this.#newChange(waiting) }, agent);
      return;
    }
    const place = pick(places, this.#random);
    const asked = this.#newTransfer(place);
    const { heard } = await this.#send(services, { key, place, asked }, agent);
    const made = heard.find(({ status }) => status === 201);
    if (made === undefined) return;
    this.made += 1;
    if ((!asked.isHeld && this.#random() > 0.2) || this.#waiting.length >= MAX_WAITING) return;
    const { transfer_id: transferId } = JSON.parse(made.text) as { readonly transfer_id: string };
    this.#waiting.push({ place, transferId, amount: asked.amount, isHeld: asked.isHeld });
  }

  #send(
    services: readonly number[],
    { key, place, asked }: { readonly key: string; readonly place: Place; readonly asked: Asked },
    agent: Agent,
  ): Promise<Sent> {
    const urls = services.map((service) => this.#urls[service] ?? '');
    return send(this.#record, urls, { key, programId: place.programId, asked }, agent);
  }

  /** Returns a waiting transfer of these programs. Some stay in the list, so two requests change them at the same time. */
  #take(places: readonly Place[]): Waiting | undefined {
    const at = Math.floor(this.#random() * this.#waiting.length);
    const waiting = this.#waiting[at];
    if (waiting === undefined || !places.includes(waiting.place)) return undefined;
    if (this.#random() > 0.1) this.#waiting.splice(at, 1);
    return waiting;
  }

  #newChange({ transferId, amount, isHeld }: Waiting): Asked {
    const part = 1 + Math.floor(this.#random() * amount);
    if (!isHeld) return { does: 'reverse', transferId, amount: part };
    return this.#random() < 0.6 ? { does: 'capture', transferId, amount: part } : { does: 'cancel', transferId };
  }

  /** Makes mostly loads, so that there is money to move. Some of the other transfers exceed the balance. */
  #newTransfer(place: Place): Extract<Asked, { readonly does: 'create' }> {
    const card = this.#card(place);
    const chance = this.#random();
    const type = chance < 0.55 ? 'load' : chance < 0.8 ? 'unload' : 'card_to_card';
    const isHeld = this.#random() < HELD;
    const other = this.#card(place);
    const destination =
      type !== 'card_to_card'
        ? null
        : other === card
          ? pick(
              place.steady.filter((name) => name !== card),
              this.#random,
            )
          : other;
    return {
      does: 'create',
      type,
      amount: 1 + Math.floor(this.#random() * (type === 'load' ? 50 : 90)),
      card,
      destination,
      isHeld,
      endsIn: isHeld && this.#random() < SHORT_HOLDS ? SHORT_MILLISECONDS : null,
      reference: this.#random() < WITH_REFERENCE ? this.#reference() : null,
    };
  }

  #reference(): string {
    const isAgain = this.#random() < REFERENCE_AGAIN;
    if (!isAgain) this.#references += 1;
    return `reference-${isAgain ? this.#references - Math.floor(this.#random() * 20) : this.#references}`;
  }

  #card({ steady, changing }: Place): string {
    return pick(this.#random() < ABOUT_CHANGING ? changing : steady, this.#random);
  }
}

export function pick<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('the list is empty');
  return item;
}
