import { deepEqual, equal, ok } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { isEnded } from '../../domain/processors/attempt.ts';
import { waitFor } from '../harness/process.ts';
import type { Stage } from './stage.ts';
import type { Question, Script } from './stand-in.ts';

/** The types of transfers with a card at a processor: money onto the card, or from it. */
export const TYPES = ['load', 'unload'] as const;

/**
 * The outcome of a transfer: its status, and how often its order was executed, even if it was reversed. `late` means that the
 * order was executed after the transfer had failed. The service then records a break and posts the amount.
 */
export type End = 'completed, executed 1' | 'failed, executed 0' | 'failed, executed 1' | 'failed, executed 1 late';

/** The results of a trial, as numbers of transfers. */
export type Counts = {
  readonly executed: number;
  /** Transfers that were executed or created more than once. */
  readonly doubled: number;
  /** Transfers that moved money on only one side. */
  readonly lost: number;
};

const BALANCED = { balanced: true, differing_holds: 0, differing_accounts: [] };

type Made = { readonly transferId: string; readonly cardId: string; readonly type: (typeof TYPES)[number] };

/** Facts about a transfer that has ended. */
type Facts = {
  readonly outcome: string;
  readonly end: string;
  readonly executions: number;
  /** The moved amount in the processor's book and in the ledger. */
  readonly moved: { readonly there: number; readonly here: number };
};

/** Finds an open break about a contradiction by the processor. */
const CONTRADICTED = `select from processor_break where kind = 'contradiction' and closed_at is null
  and 'tr_' || replace(transfer_id::text, '-', '') = $1`;

/** Finds a break about a late execution, and its posting. */
const LATE = `select from processor_attempt join processor_break using (break_id)
  join posting on posting.cause_id = break_id
  where 'tr_' || replace(processor_attempt.transfer_id::text, '-', '') = $1 and processor_break.kind = 'late_approval'
    and late_approval_at is not null`;

const STATUSES = `select status from processor_attempt where 'tr_' || replace(transfer_id::text, '-', '') = $1`;

const TRANSFERS_OF_CARD = `select from transfer join card using (program_id, card_id) where card.name = $1`;

/** The transfers of a cell, and the processor's script for them. */
export class Trial {
  readonly stage: Stage;
  readonly connectorId: string;
  /** A promise that the processor's scripts can wait for. */
  readonly hold: ReturnType<typeof hold> = hold();
  readonly #cards: string[] = [];
  readonly #transfers: Made[] = [];
  #underWay: Promise<unknown> = Promise.resolve();
  #counts: Counts = { executed: 0, doubled: 0, lost: 0 };

  constructor(stage: Stage, connectorId: string) {
    this.stage = stage;
    this.connectorId = connectorId;
  }

  get transferIds(): readonly string[] {
    return this.#transfers.map(({ transferId }) => transferId);
  }

  get cardIds(): readonly string[] {
    return this.#cards;
  }

  get counts(): Counts {
    return this.#counts;
  }

  /** Creates the cards, sets the script for their orders, and creates the transfers. */
  async begin(script?: Script): Promise<void> {
    await this.prepare(script);
    await this.create();
  }

  async prepare(script?: Script): Promise<void> {
    for (const _ of TYPES) {
      const cardId = await this.stage.createCard(this.connectorId);
      if (script !== undefined) this.stage.processor.on(cardId, script);
      this.#cards.push(cardId);
    }
  }

  async create(): Promise<void> {
    for (const [index, type] of TYPES.entries()) {
      const cardId = this.#cards[index] ?? '';
      this.#transfers.push({ transferId: await this.stage.createTransfer(cardId, type), cardId, type });
    }
  }

  /**
   * Begins to create the transfers. For each one, sends this many concurrent requests with one key, and repeats each
   * request until its response arrives.
   */
  createMeanwhile(times = 1): void {
    const made = TYPES.map(async (type, index) => {
      const cardId = this.#cards[index] ?? '';
      const key = randomUUID();
      const asked = Array.from({ length: times }, () => this.stage.createTransfer(cardId, type, key));
      const [transferId = '', ...others] = await Promise.all(asked);
      for (const other of others) equal(other, transferId, 'one key, one transfer');
      this.#transfers.push({ transferId, cardId, type });
    });
    this.goOn(Promise.all(made));
  }

  /** Adds work that must continue while the service is down. */
  goOn(work: Promise<unknown>): void {
    work.catch(() => undefined);
    this.#underWay = Promise.all([this.#underWay, work]);
    this.#underWay.catch(() => undefined);
  }

  /** Resolves when all work added by `goOn` is done. */
  async whenDone(): Promise<void> {
    await this.#underWay;
  }

  /** Waits until both transfers have led to this question. */
  async untilAsked(question: Question, times = 1): Promise<void> {
    const { processor } = this.stage;
    const isAsked = (id: string): boolean => processor.about(id, question).length >= times;
    await waitFor(`the question ${question}`, async () => this.transferIds.every(isAsked));
  }

  /** Waits until the attempts of both transfers meet an SQL condition. */
  async untilAttempts(condition: string): Promise<void> {
    const text = `select from processor_attempt
      where 'tr_' || replace(transfer_id::text, '-', '') = any ($1) and (${condition})`;
    const count = this.#transfers.length;
    const areReached = async () => (await this.stage.query(text, [this.transferIds])).length === count;
    await waitFor(`attempts with ${condition}`, areReached);
  }

  async untilEnded(): Promise<void> {
    for (const id of this.transferIds) await this.stage.untilEnded(id);
  }

  /** Waits until all transfers have ended, and compares the books of both sides. */
  async check(ends: readonly End[]): Promise<void> {
    const { stage } = this;
    await this.untilAllIsHeard();
    const balances = new Map<string, number>();
    const all = [];
    for (const made of this.#transfers) all.push({ made, facts: await this.#count(made) });
    for (const { made, facts } of all) {
      await this.#judge(made, facts, ends);
      const { type, cardId } = made;
      const { there } = facts.moved;
      balances.set(cardId, (balances.get(cardId) ?? 0) + (type === 'load' ? there : -there));
    }
    for (const [cardId, balance] of balances) {
      equal(await stage.clearing(cardId), balance, 'approved and not settled');
      const known = this.#transfers.filter((made) => made.cardId === cardId).length;
      const made = (await stage.query(TRANSFERS_OF_CARD, [cardId])).length;
      if (made !== known) this.#counts = { ...this.#counts, doubled: this.#counts.doubled + 1 };
      equal(made, known, 'transfers that the test created');
    }
    const { balanced, differing_holds, differing_accounts } = await stage.read((client) => client.trialBalance.get());
    deepEqual({ balanced, differing_holds, differing_accounts }, BALANCED);
  }

  /** Waits until all transfers have ended and every notice is handled. */
  async untilAllIsHeard(): Promise<void> {
    await this.untilEnded();
    const waiting = 'select from processor_notice where handled_at is null and connector_id = $1';
    const isHeard = async () => (await this.stage.query(waiting, [this.connectorId])).length === 0;
    await waitFor('the notices to be handled', () => isHeard().catch(() => false));
  }

  async #count({ transferId }: Made): Promise<Facts> {
    const { status, outcome, amount } = await this.stage.untilEnded(transferId);
    const { processor } = this.stage;
    const executions = processor.executions(transferId);
    const isLate = (await this.stage.query(LATE, [transferId])).length === 1;
    const here = status === 'completed' || isLate ? amount : 0;
    const there = processor.moved(transferId);
    this.#counts = {
      executed: this.#counts.executed + (executions > 0 ? 1 : 0),
      doubled: this.#counts.doubled + (executions > 1 ? 1 : 0),
      lost: this.#counts.lost + (here === there ? 0 : 1),
    };
    const end = `${status}, executed ${executions}${isLate ? ' late' : ''}`;
    return { outcome, end, executions, moved: { there, here } };
  }

  async #judge({ transferId, type }: Made, facts: Facts, ends: readonly End[]): Promise<void> {
    const { stage } = this;
    const { end, executions, moved, outcome } = facts;
    ok(executions <= 1, `executed ${executions} times`);
    equal(moved.there, moved.here, 'the book of the processor');
    // If the processor refused an order as too late, the transfer may have failed in any cell, because the clock moves
    // for all cells.
    const isRefused = end === 'failed, executed 0' && stage.processor.hasRefused(transferId);
    ok(isRefused || ends.some((one) => one === end), `the end of a transfer of type ${type}: ${end}`);
    equal(outcome, 'final');
    const statuses = (await stage.query(STATUSES, [transferId])).map(({ status }) => status as 'sent');
    ok(statuses.every(isEnded), `the status of the attempt: ${statuses.join(', ')}`);
    const sends = stage.processor.about(transferId, 'send');
    ok(new Set(sends.map((order) => order.attempt_id)).size <= 1, 'one key');
    ok(sends.filter((order) => !order.repeat).length <= 1, 'sent again only as a repeat');
    const { money } = await stage.read((client) => client.transfers.timeline(transferId));
    const isContradicted = (await stage.query(CONTRADICTED, [transferId])).length > 0;
    const known = moved.here === 0 ? 'no' : end.endsWith('late') ? 'moved_late' : 'yes';
    equal(money.moved, isContradicted ? 'unknown' : known, money.sentence);
  }
}

/** Returns a promise that resolves when `release` is called. */
export function hold(): { readonly held: Promise<void>; readonly release: () => void } {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { held, release };
}
