import { isDeepStrictEqual } from 'node:util';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { type AttemptStatus, hasFailed, isEnded } from '../../../domain/processors/attempt.ts';
import type { Entry, OpenCall, SimulatedProcessor } from '../../environments/memory/processor.ts';
import { nameOf } from '../../environments/memory/world.ts';
import { NOTHING, timeOf } from '../../environments/memory-store/meaning.ts';
import type { StoredRow } from '../../environments/memory-store/parameters.ts';
import type { Written } from '../../environments/memory-store/transaction.ts';
import type { Request } from '../../model/commands.ts';
import { JudgeOfRows } from './judge-of-accounts.ts';

const ANY_END = ['approved', 'declined', 'failed', 'reversed'] as const;

/** The statuses that can follow each status of an attempt. */
const MOVES: Readonly<Record<AttemptStatus, readonly AttemptStatus[]>> = {
  ready: ['sent', 'failed', ...ANY_END],
  sent: ['unknown', 'pending', 'ready', ...ANY_END],
  unknown: ['ready', 'pending', 'reversing', 'attention', ...ANY_END],
  pending: ['attention', ...ANY_END],
  reversing: ['attention', ...ANY_END],
  attention: ['pending', ...ANY_END],
  approved: [],
  declined: [],
  failed: [],
  reversed: [],
};

/** The columns that change when a processor contradicts the outcome of an ended attempt. */
const CONTRADICTED = ['contradicted_at', 'contradiction', 'contradiction_break_id', 'contradiction_settled_at'];

/** Compares attempts and the ledger with the processor's book. That book is the truth about the money. */
export class JudgeOfProcessors extends JudgeOfRows {
  /** The processor, or undefined if no card has one. */
  processor: SimulatedProcessor | undefined;
  /** The attempts, as last committed. */
  readonly #known = new Map<unknown, StoredRow>();
  /** The id of the latest attempt of each transfer. */
  readonly #ofTransfer = new Map<unknown, string>();
  /** The orders that were sent, each as the id of its attempt and the time when it was marked as sent. */
  readonly #sent = new Set<string>();
  /** Attempts that an operator has resolved wrongly. */
  readonly #wronglyResolved = new Set<unknown>();
  /** Whether a breaker was ever open. */
  wasDown = false;

  /** Called when a process sends a request to the processor. */
  onCall({ asker, question, order }: OpenCall, open: readonly OpenCall[]): void {
    const { attemptId, amount, kind, transferId, notAfter } = order;
    const about = `${question} ${attemptId}`;
    const row = this.tables.newest('processor_attempt', fromWireId('pat', attemptId) ?? '');
    if (row === undefined) {
      this.say(`${about} has a key that is not the id of an attempt`);
      return;
    }
    const isSame = row.amount === amount && row.kind === kind && toWireId('tr', String(row.transfer_id)) === transferId;
    if (!isSame) this.say(`${about} differs from the order of its attempt`);
    if (row.sent_at === null) this.say(`${about} was sent before its status "sent" was committed`);
    const other = open.find((one) => one.order.attemptId === attemptId);
    if (other !== undefined)
      this.say(`${about}: ${asker.name} sends a request while ${other.asker.name} waits for an answer`);
    if (question !== 'send') return;
    const key = `${attemptId} ${timeOf(row.sent_at)}`;
    if (row.status === 'ready') this.say(`${about} was sent before its status "sent" was committed`);
    if (this.#sent.has(key)) this.say(`${about} was sent twice`);
    this.#sent.add(key);
    // Allows 5 ms, because the process knows the database's time only to within a few milliseconds.
    if (notAfter === null || notAfter > timeOf(row.not_after) + 5)
      this.say(`${about} may be executed later than stored`);
  }

  /** Called when the processor has moved the money of an order. */
  onExecuted({ order: { transferId } }: Entry): void {
    const book = [...(this.processor?.book.values() ?? [])].flat();
    const moved = book.filter(({ order, state }) => order.transferId === transferId && state === 'executed');
    if (moved.length > 1) this.say(`the processor has moved the money of ${transferId} ${moved.length} times`);
  }

  /** Called after a commit. */
  onCommit(written: Written): void {
    const rows = (table: string): readonly StoredRow[] => written.get(table) ?? NOTHING;
    if (rows('connector_state').some(({ opened_at }) => opened_at !== null)) this.wasDown = true;
    for (const hold of rows('hold')) this.#compareHold(hold);
    for (const attempt of rows('processor_attempt')) this.#compareAttempt(attempt);
    for (const transfer of rows('transfer')) this.#compareTransfer(transfer);
  }

  /** Called before an operator resolves an attempt. */
  noteResolution(attemptId: string, wasExecuted: boolean): void {
    const id = fromWireId('pat', attemptId);
    const notAfter = timeOf(this.#known.get(id)?.not_after);
    const hasMoved = this.processor?.hasMoved(attemptId) === true;
    const mayMove = this.processor?.mayMove(attemptId, notAfter) === true;
    if (wasExecuted ? !hasMoved : hasMoved || mayMove) this.#wronglyResolved.add(id);
  }

  /** Whether a response is correct about the money of a transfer. */
  isTrue(transferId: string, moneyMoved: string | undefined): boolean {
    const attempt = this.#known.get(this.#ofTransfer.get(transferId));
    if (attempt === undefined || moneyMoved === undefined || moneyMoved === 'unknown') return true;
    const { attempt_id, status, late_approval_at } = attempt;
    const isIn = status === 'approved' || late_approval_at !== null;
    const id = toWireId('pat', String(attempt_id));
    // The response may have been true although the order was executed later.
    if (this.#wronglyResolved.has(attempt_id) || this.processor?.lies(id) === true) return true;
    return moneyMoved === 'yes' ? isIn : !isIn && this.processor?.hasMoved(id) !== true;
  }

  #compareHold({ transfer_id, expires_at }: StoredRow): void {
    const transfer = this.books.books.transfers.get(toWireId('tr', String(transfer_id)));
    if (transfer?.isElsewhere === true && expires_at !== null) this.say('the hold of an attempt expires');
  }

  #compareAttempt(row: StoredRow): void {
    const id = toWireId('pat', String(row.attempt_id));
    const transferId = toWireId('tr', String(row.transfer_id));
    const before = this.#known.get(row.attempt_id);
    this.#known.set(row.attempt_id, row);
    const status = row.status as AttemptStatus;
    this.books.model.attempts.set(id, { transfer: transferId, status });
    const from = before?.status as AttemptStatus | undefined;
    if (from === undefined) {
      const other = this.#known.get(this.#ofTransfer.get(transferId));
      if (other !== undefined && !hasFailed(other.status as AttemptStatus))
        this.say(`${transferId} has two attempts at the same time`);
      this.#ofTransfer.set(transferId, String(row.attempt_id));
      if (status !== 'ready') this.say(`${id} begins as ${status}`);
      return;
    }
    if (from !== status && !MOVES[from].includes(status)) this.say(`${id} was ${from} and becomes ${status}`);
    if (from === status && isEnded(status)) this.#compareLate(row, before);
    if (from !== status && isEnded(status)) this.#compareEnd(row, id);
  }

  /** Checks a change of an ended attempt: the processor contradicted the outcome, or moved the money late. */
  #compareLate(row: StoredRow, before: StoredRow | undefined): void {
    if (CONTRADICTED.some((name) => row[name] !== before?.[name])) {
      const noted = Object.fromEntries(CONTRADICTED.map((name) => [name, row[name]]));
      if (!isDeepStrictEqual({ ...before, ...noted }, row)) this.say('a contradiction changed other columns');
      const { kind } = this.tables.newest('processor_break', String(row.contradiction_break_id)) ?? {};
      if (kind !== 'contradiction') this.say('a contradiction has no break');
      return;
    }
    if (before?.late_approval_at !== null || row.late_approval_at === null) {
      this.say('an attempt was changed after it had ended');
      return;
    }
    const found = this.tables.newest('processor_break', String(row.break_id));
    if (found?.kind !== 'late_approval') this.say('a late approval has no break');
    if (this.processor?.hasMoved(toWireId('pat', String(row.attempt_id))) !== true)
      this.say('a late approval was never executed');
    const posted = this.tables.all('posting').filter(({ cause_id }) => cause_id === row.break_id);
    if (posted.length !== 1) this.say(`a late approval was posted ${posted.length} times`);
  }

  /** Checks the outcome of an attempt that has just ended: the processor must have done the same, or must do it later. */
  #compareEnd({ status, not_after, attempt_id, resolved_by }: StoredRow, id: string): void {
    const { processor } = this;
    if (processor === undefined || (resolved_by !== null && this.#wronglyResolved.has(attempt_id))) return;
    const hasMoved = processor.hasMoved(id);
    if (status === 'approved') {
      if (!hasMoved) this.say(`${id} was captured, but was not executed`);
      return;
    }
    // The processor declines this order, but executes it later. That is a late approval.
    if (processor.lies(id)) return;
    if (hasMoved) this.say(`${id} was released, but was executed`);
    if (processor.mayMove(id, timeOf(not_after))) this.say(`${id} was released, but may still be executed`);
  }

  /** Compares a stored transfer with its attempt. */
  #compareTransfer({ transfer_id, status, outcome }: StoredRow): void {
    const id = toWireId('tr', String(transfer_id));
    const attempt = this.#known.get(this.#ofTransfer.get(id));
    if (attempt === undefined) return;
    const isOver = isEnded(attempt.status as AttemptStatus);
    const ended = attempt.status === 'approved' ? 'completed' : 'failed';
    if (status !== (isOver ? ended : 'pending')) this.say(`${id} is ${status}, but its attempt ${attempt.status}`);
    const expected = isOver ? 'final' : attempt.unknown_since === null ? 'open' : 'unknown';
    if (outcome !== expected) this.say(`the outcome of ${id} is ${outcome} instead of ${expected}`);
  }

  /** Whether every attempt has ended or waits for a person. */
  get isSettled(): boolean {
    const isOpen = (row: StoredRow): boolean => !isEnded(row.status as AttemptStatus) && row.status !== 'attention';
    if ([...this.#known.values()].some(isOpen)) return false;
    return this.tables.all('processor_notice').every(({ handled_at }) => handled_at !== null);
  }

  /** When an attempt or a probe is due next, in milliseconds since 1970. */
  get next(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { next_at } of this.#known.values()) if (next_at !== null) next = Math.min(next, timeOf(next_at));
    for (const { probe_at } of this.tables.all('connector_state'))
      if (probe_at !== null) next = Math.min(next, timeOf(probe_at));
    return next;
  }

  /** Checks the final state, when nothing is in progress: the book of the processor must equal the ledger. */
  atRest(): void {
    const { processor } = this;
    if (processor === undefined) return;
    const cleared = new Map<unknown, bigint>();
    for (const row of this.#known.values()) {
      const { attempt_id, status, late_approval_at, kind, amount, card_id } = row;
      const id = toWireId('pat', String(attempt_id));
      const isIn = status === 'approved' || late_approval_at !== null;
      const sign = kind === 'push' ? 1n : -1n;
      if (isIn) cleared.set(card_id, (cleared.get(card_id) ?? 0n) + sign * (amount as bigint));
      if (status === 'attention' || this.#wronglyResolved.has(attempt_id)) continue;
      const hasMoved = processor.hasMoved(id);
      if (hasMoved && !isIn) this.say(`${id} was executed, but its money is not in the ledger: it is ${status}`);
      if (!hasMoved && isIn) this.say(`${id} is in the ledger as executed, but was not: it is ${status}`);
    }
    for (const card of this.tables.all('card')) {
      const { kind, balance } = this.tables.newest('account', String(card.account_id)) ?? {};
      const expected = cleared.get(card.card_id) ?? 0n;
      if (kind === 'clearing' && balance !== expected)
        this.say(`${balance} are cleared for ${card.name}, but ${expected} are approved and not settled`);
    }
  }

  /** The resolutions that an operator can send. With `isWrong` they contradict the processor. */
  findResolvable(isWrong: boolean): readonly Request[] {
    const { processor } = this;
    if (processor === undefined) return [];
    return [...this.#known.values()].flatMap(({ attempt_id, program_id, status, not_after }) => {
      const attempt = toWireId('pat', String(attempt_id));
      const program = nameOf(program_id);
      const hasMoved = processor.hasMoved(attempt);
      const asked = { does: 'resolve', program, attempt, wasExecuted: hasMoved !== isWrong } as const;
      // With reversals, no operator can know the result, because the reversal may still be on its way to the processor.
      const isReversed = processor.profile.traits.reversal !== 'none';
      const isKnown = !isReversed && !processor.mayMove(attempt, timeOf(not_after));
      return isEnded(status as AttemptStatus) || isKnown ? [asked] : [];
    });
  }
}
