import type { LoggedEvent, Transaction } from './history.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The sign of a reversal's effect on the funds. Transfers between cards do not change them. */
const BACK: Readonly<Record<string, number>> = { load: 1, unload: -1 };

/**
 * Recomputes the available funds of a program from its events in commit order, and the places where funding.low must
 * occur.
 */
export class FundingReplay {
  readonly problems: string[] = [];
  crossings = 0;
  readonly #programId: string;
  readonly #accountId: string;
  #available = 0;
  #threshold: number | null = null;
  /** The loads and unloads with a hold, by id. */
  readonly #holds = new Map<string, Fields>();
  readonly #types = new Map<string, unknown>();

  constructor(programId: string, accountId: string) {
    this.#programId = programId;
    this.#accountId = accountId;
  }

  /** Applies the events of a transaction and compares the result with the account that the transaction wrote. */
  run({ position, events, accounts }: Transaction): void {
    const own = events.map(parsed).filter(({ data }) => data.program_id === this.#programId);
    own.forEach(({ type, data }, at) => {
      if (type === 'funding.low') return;
      const expected = this.#carryOut(type, data);
      const next = own[at + 1];
      const found = next?.type === 'funding.low' ? next.data : undefined;
      if (JSON.stringify(found) !== JSON.stringify(expected)) {
        const said = `${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`;
        this.problems.push(`at ${position}, after ${type}: ${said}`);
      }
      if (expected !== undefined) this.crossings += 1;
    });
    const written = accounts.findLast(({ accountId }) => accountId === this.#accountId);
    if (written === undefined) return;
    const available = Number(written.balance - written.held);
    if (available !== this.#available) this.problems.push(`at ${position}: ${available} instead of ${this.#available}`);
  }

  /** Applies an event, and returns the data of the funding.low that must follow it. */
  #carryOut(type: string, data: Fields): Fields | undefined {
    const [before, thresholdBefore] = [this.#available, this.#threshold];
    if (type.startsWith('program.')) this.#threshold = data.funding_low_threshold as number | null;
    else this.#available += this.#changeOf(type, data);
    const threshold = this.#threshold;
    const wasLow = thresholdBefore !== null && before < thresholdBefore;
    if (threshold === null || wasLow || this.#available >= threshold || type === 'program.created') return undefined;
    return {
      program_id: this.#programId,
      currency: 'USD',
      available: this.#available,
      threshold,
      transfer_id: data.transfer_id ?? null,
      movement_id: data.movement_id ?? null,
    };
  }

  #changeOf(type: string, data: Fields): number {
    const amount = Number(data.amount);
    const transferId = String(data.transfer_id);
    if (type === 'funding.deposited') return amount;
    if (type === 'funding.withdrawn') return -amount;
    if (type === 'reversal.completed') return amount * (BACK[String(this.#types.get(transferId))] ?? 0);
    if (!type.startsWith('transfer.') || type === 'transfer.updated') return 0;
    this.#types.set(transferId, data.type);
    if (data.type === 'card_to_card') return 0;
    const isLoad = data.type === 'load';
    if (type === 'transfer.pending') {
      this.#holds.set(transferId, data);
      return isLoad ? -amount : 0;
    }
    const released = this.#holds.delete(transferId) && isLoad ? amount : 0;
    const captured = Number(data.captured_amount);
    return released + (isLoad ? -captured : captured);
  }
}

function parsed({ type, payload }: LoggedEvent): { readonly type: string; readonly data: Fields } {
  return { type, data: JSON.parse(payload) };
}
