import { NoResponse, type RawResponse, sendRaw } from '../../../test/harness/raw-request.ts';
import { pause } from '../../campaign.ts';
import { type Fact, markOf } from '../../checkers/events/judge.ts';
import type { Addresses } from '../../checkers/events/readers.ts';

const CARD = '/api/v0.1/core/card';
const TRANSFER = '/api/v0.1/core/transfer';
const PROGRAM = '/api/v0.1/operator/program';
const SWITCH = '/api/v0.1/operator/switch';

/** The random part of the time until a scheduled transfer is due or a hold expires, in milliseconds. */
const AHEAD = 1_500;

/** The pause before a retry, in milliseconds. */
const BEFORE_REPEAT = 50;

/** The maximum number of new card programs per caller. Each program gets every shared event. */
const MAX_PROGRAMS = 5;

type Body = Readonly<Record<string, unknown>>;

/** Sends requests of many kinds, one after the other, and records the acknowledged ones as facts. */
export class Caller {
  readonly facts: Fact[] = [];
  readonly #ledger: number;
  readonly #number: number;
  readonly #programId: string;
  readonly #addresses: Addresses;
  readonly #random: () => number;
  #steps = 0;
  #programs = 0;
  #card: string | undefined;

  /** `programId` is the caller's card program. */
  constructor(ledger: number, number: number, programId: string, addresses: Addresses, random: () => number) {
    this.#ledger = ledger;
    this.#number = number;
    this.#programId = programId;
    this.#addresses = addresses;
    this.#random = random;
  }

  async run(goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      await this.#step();
      await pause(this.#random() * 10);
    }
  }

  async #step(): Promise<void> {
    const chance = this.#random();
    if (this.#card === undefined || chance < 0.1) return this.#createCard();
    if (chance < 0.35) return this.#updateCard(this.#card);
    if (chance < 0.65) return this.#transfer(this.#card);
    if (chance < 0.8) return this.#hold(this.#card);
    if (chance < 0.9) return this.#schedule(this.#card);
    if (chance < 0.99) return this.#changeSwitch();
    return this.#createProgram();
  }

  async #createCard(): Promise<void> {
    const mark = this.#newMark();
    const card_id = `caller-${this.#number}-${this.#steps}`;
    const made = await this.#send('card.created', mark, { path: CARD, body: { card_id, holder_reference: mark } });
    if (made !== undefined) this.#card = card_id;
  }

  async #updateCard(card: string): Promise<void> {
    const mark = this.#newMark();
    const body = { holder_reference: mark };
    await this.#send('card.updated', mark, { method: 'PATCH', path: `${CARD}/${card}`, body });
  }

  async #transfer(card_id: string): Promise<void> {
    const mark = this.#newMark();
    const body = { amount: 1 + Math.floor(this.#random() * 50), card_id, metadata: { mark } };
    await this.#send('transfer.completed', mark, { path: TRANSFER, body });
  }

  /** Creates a hold, and captures it, cancels it or lets it expire. */
  async #hold(card_id: string): Promise<void> {
    const mark = this.#newMark();
    const expires_at = this.#soon();
    const body = { amount: 5, card_id, capture: 'manual', expires_at, metadata: { mark } };
    const made = await this.#send('transfer.pending', mark, { path: TRANSFER, body });
    const chance = this.#random();
    if (made === undefined || chance < 0.3) return;
    const path = `${TRANSFER}/${made.fields.transfer_id}`;
    if (chance < 0.7) await this.#send('transfer.completed', mark, { path: `${path}/capture`, body: { amount: 5 } });
    else await this.#send('transfer.canceled', mark, { path: `${path}/cancel` });
  }

  async #schedule(card_id: string): Promise<void> {
    const mark = this.#newMark();
    const body = { amount: 3, card_id, scheduled_for: this.#soon(), metadata: { mark } };
    await this.#send('transfer.scheduled', mark, { path: TRANSFER, body });
  }

  /** Disables and enables unloads, which no caller makes. Or enables the whole service, which is already enabled. */
  async #changeSwitch(): Promise<void> {
    const isForAll = this.#random() < 0.5;
    const scope = isForAll ? {} : { program_id: this.#programId, type: 'unload' };
    for (const disabled of isForAll ? [false] : [true, false]) {
      const mark = this.#newMark();
      await this.#send('switch.changed', mark, { path: SWITCH, body: { ...scope, disabled, reason: mark } });
    }
  }

  async #createProgram(): Promise<void> {
    if (this.#programs >= MAX_PROGRAMS) return;
    this.#programs += 1;
    const mark = this.#newMark();
    await this.#send('program.created', mark, { path: PROGRAM, body: { name: mark, currency: 'USD' } });
  }

  /** Sends a request once, because it has no idempotency key. Returns the response if it succeeds. */
  async #send(
    type: string,
    mark: string,
    raw: { readonly method?: string; readonly path: string; readonly body?: Body },
  ): Promise<RawResponse | undefined> {
    const urls = this.#addresses();
    const url = urls[Math.floor(this.#random() * urls.length)] ?? '';
    try {
      const response = await sendRaw(url, { headers: { 'Program-Id': this.#programId }, ...raw });
      if (response.status < 300) {
        this.facts.push({ type, mark });
        return response;
      }
    } catch (error) {
      if (!(error instanceof NoResponse)) throw error;
    }
    await pause(BEFORE_REPEAT);
    return undefined;
  }

  #newMark(): string {
    this.#steps += 1;
    return markOf(this.#ledger, this.#number, this.#steps);
  }

  #soon(): string {
    return new Date(Date.now() + 300 + this.#random() * AHEAD).toISOString();
  }
}
