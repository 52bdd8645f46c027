import type { Card } from '../../../domain/cards/card.ts';
import type { DomainEvent } from '../../../domain/event.ts';
import type { Account, Posted } from '../../../domain/ledger/ledger.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { decideCancel } from '../../../domain/transfers/change-transfer.ts';
import type { TransferPlan } from '../../../domain/transfers/create-transfer.ts';
import type { Transfer } from '../../../domain/transfers/transfer.ts';
import { toTransferRecord } from '../../calls/records/transfer.ts';
import type { Row, Statement } from '../../store/connection/database.ts';
import { type CausedPosting, insertPostings, toAccount, updateAccounts } from '../../store/ledger/account.ts';
import { sumChanges, updateCounters } from '../../store/ledger/limits.ts';
import type { toRulesNow } from '../../store/program.ts';
import { deleteHolds, toTransferWithHold, updateTransfers } from '../../store/transfers/transfer.ts';

/** The locked accounts of a move-in and their postings, while its lines are added or undone one after the other. */
export class LockedAccounts {
  readonly postings: CausedPosting[] = [];
  readonly #accounts: Map<string, Account>;
  /** The ids of the funding and world accounts, by kind and currency. */
  readonly #ofProgram: ReadonlyMap<string, string>;
  readonly #changed = new Set<string>();
  readonly #added = new Set<string>();

  constructor(rows: readonly Row[]) {
    const accounts = rows.map((row) => toAccount(row));
    this.#accounts = new Map(accounts.map((account) => [account.accountId, account]));
    this.#ofProgram = new Map(accounts.map(({ kind, currency, accountId }) => [`${kind} ${currency}`, accountId]));
  }

  has(accountId: string): boolean {
    return this.#accounts.has(accountId);
  }

  get(accountId: string): Account {
    const account = this.#accounts.get(accountId);
    if (account === undefined) throw new Error('a line of a move-in needs an account that was not locked');
    return account;
  }

  /** Returns the program's account of this kind. */
  ofProgram(kind: 'funding' | 'world', currency: string): Account {
    const accountId = this.#ofProgram.get(`${kind} ${currency}`);
    if (accountId === undefined) throw new Error('the funding accounts of a move-in do not exist');
    return this.get(accountId);
  }

  /** Adds the account of a new card. The caller inserts it in its last state. */
  add(account: Account): void {
    this.#accounts.set(account.accountId, account);
    this.#added.add(account.accountId);
  }

  change(account: Account): void {
    this.#accounts.set(account.accountId, account);
    this.#changed.add(account.accountId);
  }

  /** Makes a posting whose cause is a card. */
  post({ posting, source, destination }: Posted, { programId, cardId: causeId }: CardOfPosting): void {
    this.postings.push({ programId, causeId, ...posting });
    this.change(source);
    this.change(destination);
  }

  /** Returns the writes of all postings, and of all changed accounts that were not added. */
  writes(now: number): readonly Statement[] {
    const changed = [...this.#changed]
      .filter((accountId) => !this.#added.has(accountId))
      .map((accountId) => this.get(accountId));
    return [
      ...(this.postings.length === 0 ? [] : [insertPostings(this.postings, now)]),
      ...(changed.length === 0 ? [] : [updateAccounts(changed)]),
    ];
  }
}

type CardOfPosting = { readonly programId: string; readonly cardId: string };

type Reading = Pick<ReturnType<typeof toRulesNow>, 'now' | 'rules' | 'switches'>;

/** Holds that lines of a move-in release, as a cancellation does. */
export class ReleasedHolds {
  readonly #programId: string;
  readonly #reading: Reading;
  readonly #transfers: Map<string, ReturnType<typeof toTransferWithHold>>;
  readonly #accounts: LockedAccounts;
  readonly #canceled: (TransferPlan & { readonly hold: null })[] = [];

  /** `rows` are the transfers of the lines. */
  constructor(programId: string, reading: Reading, rows: readonly Row[], accounts: LockedAccounts) {
    this.#programId = programId;
    this.#reading = reading;
    const transfers = rows.map((row) => toTransferWithHold(row));
    this.#transfers = new Map(transfers.map((one) => [one.transfer.transferId, one]));
    this.#accounts = accounts;
  }

  /** Returns a transfer of the lines, or undefined. */
  transfer(transferId: string): Transfer | undefined {
    return this.#transfers.get(transferId)?.transfer;
  }

  /** Releases the hold of a transfer on a card. Returns its amount, or undefined if it is not an open hold on this card. */
  release(transferId: string, card: Card): bigint | undefined {
    const existing = this.#transfers.get(transferId);
    if (existing === undefined || !isOpenHold(existing.transfer, card)) return undefined;
    this.#transfers.delete(transferId);
    const { now, rules, switches } = this.#reading;
    const plan = decideCancel(
      // A hold that has expired is released here, too, instead of by the job.
      { ...existing, transfer: { ...existing.transfer, expiresAt: null } },
      {
        ...{ programId: this.#programId, now, rules, switches, card, destinationCard: undefined },
        account: (accountId) => this.#accounts.get(accountId),
        usage: unused,
        connectorState: unused,
        referenceTakenBy: undefined,
      },
    );
    if (plan instanceof Refusal) throw plan;
    for (const account of plan.accounts) this.#accounts.change(account);
    const { expiresAt, amount } = existing.transfer;
    this.#canceled.push({ ...plan, hold: null, transfer: { ...plan.transfer, expiresAt } });
    return amount;
  }

  events(): readonly DomainEvent[] {
    return this.#canceled.map(({ event: type, transfer }) => {
      const record = toTransferRecord(transfer);
      return { type, programId: this.#programId, subjectId: record.transfer_id, payload: JSON.stringify(record) };
    });
  }

  writes(): readonly Statement[] {
    if (this.#canceled.length === 0) return [];
    const transfers = this.#canceled.map(({ transfer }) => transfer);
    const counts = this.#canceled.flatMap((plan) =>
      plan.counts.map((change) => ({ programId: this.#programId, ...change })),
    );
    return [updateTransfers(transfers), deleteHolds(transfers), updateCounters(sumChanges(counts))];
  }
}

/** Only holds on cards of this ledger: a processor must be asked about its own. */
function isOpenHold({ status, type, cardId, capture }: Transfer, card: Card): boolean {
  return (
    status === 'pending' &&
    type === 'unload' &&
    capture === 'manual' &&
    cardId === card.cardId &&
    card.connectorId === null
  );
}

/** The rules of a cancellation read no usage and no connectors. */
function unused(): never {
  throw new Error('releasing a hold reads no usage and no connectors');
}
