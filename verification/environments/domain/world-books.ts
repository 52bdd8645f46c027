import { type Account, canGive, canTake, type Posting, post } from '../../../domain/ledger/ledger.ts';
import {
  type Calendar,
  type CountedDay,
  type CounterChange,
  type Direction,
  type Usage,
  usageOf,
} from '../../../domain/ledger/limits.ts';
import type { TransferPlan } from '../../../domain/transfers/create-transfer.ts';
import { type Hold, TRANSFER_MOVES, type Transfer, type TransferCommand } from '../../../domain/transfers/transfer.ts';

/** The program of all accounts. */
export const PROGRAM = '00000000-0000-7000-8000-0000000000aa';

export function insist(holds: boolean, invariant: string): void {
  if (!holds) throw new Error(`broken invariant: ${invariant}`);
}

/** The books as the store keeps them. Plans change the rows, and the constraints of the database are checked. */
export class WorldBooks {
  /** Every move that was made, as `from command to`. */
  readonly moves: string[] = [];
  readonly transfers: Transfer[] = [];
  readonly accounts = new Map<string, Account>();
  readonly #holds = new Map<string, Hold>();
  readonly #counters = new Map<string, CountedDay[]>();
  readonly #journal = new Map<string, { readonly sequence: bigint; readonly balance: bigint }>();

  open(kind: Account['kind'], accountId: string, currency: string): void {
    const floor = kind === 'world' ? null : 0n;
    const empty = { balance: 0n, held: 0n, incoming: 0n, sequence: 0n };
    this.accounts.set(accountId, { programId: PROGRAM, accountId, kind, currency, floor, ...empty });
  }

  account(accountId: string): Account {
    const account = this.accounts.get(accountId);
    if (account === undefined) throw new Error(`there is no account ${accountId}`);
    return account;
  }

  holdOf({ transferId }: Transfer): Hold | undefined {
    return this.#holds.get(transferId);
  }

  usage(accountId: string, direction: Direction, calendar: Calendar): Usage {
    return usageOf(this.#counters.get(`${accountId} ${direction}`) ?? [], calendar);
  }

  /** Whether a deposit fits. The service would refuse a larger one. */
  takes(currency: string, amount: bigint): boolean {
    return canTake(this.account(`world ${currency}`), amount) && canGive(this.account(`funding ${currency}`), amount);
  }

  /** Deposits money from outside. */
  bring(currency: string, to: string, amount: bigint): void {
    if (amount === 0n) return;
    const ends = { source: this.account(`world ${currency}`), destination: this.account(to) };
    const { posting, source, destination } = post({ index: 0, purpose: 'deposit', ...ends, amount });
    this.#enter(posting);
    for (const account of [source, destination]) this.accounts.set(account.accountId, account);
  }

  /** Carries out a plan. `before` is the previous state of the transfer, if it existed. */
  write(command: TransferCommand, before: Transfer | undefined, plan: TransferPlan): void {
    const { hold, failure } = plan;
    const transfer = failure === undefined ? plan.transfer : { ...plan.transfer, error: { Code: failure.code } };
    this.#checkMove(command, before, plan);
    this.transfers[before === undefined ? this.transfers.length : this.transfers.indexOf(before)] = transfer;
    for (const posting of plan.postings) this.#enter(posting);
    for (const account of plan.accounts) this.accounts.set(account.accountId, account);
    if (hold === null) this.#holds.delete(transfer.transferId);
    else this.#holds.set(transfer.transferId, hold);
    for (const change of plan.counts) this.#count(change);
  }

  #checkMove(command: TransferCommand, before: Transfer | undefined, { transfer, event }: TransferPlan): void {
    const from = before?.status ?? null;
    const row = TRANSFER_MOVES.find(
      (move) => move.from === from && move.command === command && move.to === transfer.status,
    );
    const move = `${from} ${command} ${transfer.status}`;
    insist(row !== undefined, `the move '${move}' is in the table`);
    const told = command === 'reverse' ? 'reversal.completed' : `transfer.${transfer.status}`;
    insist(event === told, `the move '${move}' has the event '${told}', not '${event}'`);
    this.moves.push(move);
  }

  /** Checks the constraints of limit_counter: one row per day, and no negative counter. */
  #count({ accountId, direction, dayStart, amount, count }: CounterChange): void {
    const days = this.#counters.get(`${accountId} ${direction}`) ?? [];
    const before = days.find((day) => day.dayStart === dayStart) ?? { dayStart, amount: 0n, count: 0n };
    const after = { dayStart, amount: before.amount + amount, count: before.count + count };
    insist(after.amount >= 0n && after.count >= 0n, `the counter of ${accountId} ${direction} is not negative`);
    this.#counters.set(`${accountId} ${direction}`, [...days.filter((day) => day.dayStart !== dayStart), after]);
  }

  /** Checks the unique keys of postings: the postings of each account are numbered without a gap. */
  #enter(posting: Posting): void {
    const line = (accountId: string, amount: bigint, sequence: bigint, balance: bigint): void => {
      const last = this.#journal.get(accountId) ?? { sequence: 0n, balance: 0n };
      insist(sequence === last.sequence + 1n, `posting ${sequence} of ${accountId} follows posting ${last.sequence}`);
      insist(balance === last.balance + amount, `the balance of ${accountId} is the sum of its postings`);
      this.#journal.set(accountId, { sequence, balance });
    };
    line(posting.sourceAccountId, -posting.amount, posting.sourceSequence, posting.sourceBalance);
    line(posting.destinationAccountId, posting.amount, posting.destinationSequence, posting.destinationBalance);
  }

  /** Checks that postings and holds explain the accounts. The comparison with the model checks the amounts. */
  verify(): void {
    const holds = [...this.#holds.values()];
    for (const [name, { balance, held, incoming, sequence }] of this.accounts) {
      const line = this.#journal.get(name) ?? { sequence: 0n, balance: 0n };
      insist(line.sequence === sequence && line.balance === balance, `${name} matches its last posting`);
      const heldFor = (end: 'sourceAccountId' | 'destinationAccountId'): bigint =>
        holds.reduce((sum, hold) => (hold[end] === name ? sum + hold.amount : sum), 0n);
      insist(held === heldFor('sourceAccountId'), `held of ${name} is the sum of its holds`);
      insist(incoming === heldFor('destinationAccountId'), `incoming of ${name} is the sum of the holds for it`);
    }
    for (const { transferId, status } of this.transfers) {
      const isHeld = this.#holds.has(transferId);
      insist(isHeld === (status === 'pending'), `${transferId} has a hold exactly while it is pending`);
    }
  }
}
