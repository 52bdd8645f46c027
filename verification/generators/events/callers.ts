import { DEMO_PROGRAM } from '../../../contract/samples.ts';
import type { TransferService } from '../../../sdk/client.ts';
import { NoResponse, type RawRequest, sendRaw } from '../../../test/harness/raw-request.ts';
import { pause } from '../../campaign.ts';
import { type Acknowledged, markOf } from '../../checkers/events/checker.ts';
import type { Addresses } from './readers.ts';

const CARD = '/api/v0.1/core/card';
const TRANSFER = '/api/v0.1/core/transfer';
const PROGRAM = '/api/v0.1/operator/program';
const SWITCH = '/api/v0.1/operator/switch';

/** The demo program, which the load uses, and the program of the callers. */
export type Programs = { readonly demo: string; readonly other: string };

/** Creates the second program with enough money for all callers. */
export async function makePrograms({ programs, deposits }: TransferService): Promise<Programs> {
  const { program_id: other } = await programs.create({ name: 'The second program', currency: 'USD' });
  await deposits.create(other, { amount: 1_000_000_000 });
  return { demo: DEMO_PROGRAM, other };
}

/** The random part of the time until a scheduled transfer is due or a hold expires, in milliseconds. */
const AHEAD = 1_500;

/** The pause after a failed request, in milliseconds. */
const AFTER_FAILURE = 50;

/** The maximum number of new card programs per caller. Each program gets every shared event. */
const MAX_PROGRAMS = 5;

type Body = Readonly<Record<string, unknown>>;

/** Sends requests of many kinds, one after another. Each has a mark that its event contains. */
export class Caller {
  /** The acknowledged requests, in the order of their responses. */
  readonly acknowledged: Acknowledged[] = [];
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
      await this.#step(this.#newMark());
      await pause(this.#random() * 10);
    }
  }

  async #step(mark: string): Promise<unknown> {
    const card_id = this.#card;
    const chance = this.#random();
    if (card_id === undefined || chance < 0.1) return this.#createCard(mark);
    const metadata = { mark };
    if (chance < 0.35)
      return this.#send('card.updated', mark, `${CARD}/${card_id}`, { holder_reference: mark }, 'PATCH');
    if (chance < 0.65) {
      const amount = 1 + Math.floor(this.#random() * 50);
      return this.#send('transfer.completed', mark, TRANSFER, { amount, card_id, metadata });
    }
    if (chance < 0.8) return this.#hold(mark, { amount: 5, card_id, metadata });
    if (chance < 0.9) {
      const body = { amount: 3, card_id, metadata, scheduled_for: this.#soon() };
      return this.#send('transfer.scheduled', mark, TRANSFER, body);
    }
    if (chance < 0.99) return this.#changeSwitch();
    if (this.#programs >= MAX_PROGRAMS) return undefined;
    this.#programs += 1;
    return this.#send('program.created', mark, PROGRAM, { name: mark, currency: 'USD' });
  }

  async #createCard(mark: string): Promise<void> {
    const card_id = `caller-${this.#number}-${this.#steps}`;
    const made = await this.#send('card.created', mark, CARD, { card_id, holder_reference: mark });
    if (made !== undefined) this.#card = card_id;
  }

  /** Creates a hold, and captures it, cancels it or lets it expire. */
  async #hold(mark: string, body: Body): Promise<void> {
    const hold = { ...body, capture: 'manual', expires_at: this.#soon() };
    const made = await this.#send('transfer.pending', mark, TRANSFER, hold);
    const chance = this.#random();
    if (made === undefined || chance < 0.3) return;
    const path = `${TRANSFER}/${made.transfer_id}`;
    if (chance < 0.7) await this.#send('transfer.completed', mark, `${path}/capture`, { amount: 5 });
    else await this.#send('transfer.canceled', mark, `${path}/cancel`);
  }

  /** Disables and enables unloads, which no caller creates, or enables the whole service, which is already enabled. */
  async #changeSwitch(): Promise<void> {
    const isForAll = this.#random() < 0.5;
    const scope = isForAll ? {} : { program_id: this.#programId, type: 'unload' };
    for (const disabled of isForAll ? [false] : [true, false]) {
      const mark = this.#newMark();
      await this.#send('switch.changed', mark, SWITCH, { ...scope, disabled, reason: mark });
    }
  }

  /** Sends a request once, because it has no idempotency key. Returns the fields of the response if it succeeds. */
  async #send(type: string, mark: string, path: string, body?: Body, method = 'POST'): Promise<Body | undefined> {
    const urls = this.#addresses();
    const url = urls[Math.floor(this.#random() * urls.length)] ?? '';
    try {
      const raw: RawRequest = { method, path, headers: { 'Program-Id': this.#programId }, body };
      const { status, fields } = await sendRaw(url, raw);
      if (status < 300) {
        this.acknowledged.push({ type, mark });
        return fields;
      }
    } catch (error) {
      if (!(error instanceof NoResponse)) throw error;
    }
    await pause(AFTER_FAILURE);
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
