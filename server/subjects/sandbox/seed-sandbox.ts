import { DEMO_CARDS, type DemoCard } from '../../../contract/sandbox/demo-cards.ts';
import { type Card, newAccountOf } from '../../../domain/cards/card.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { type Account, post } from '../../../domain/ledger/ledger.ts';
import { MAXIMUM_BALANCE } from '../../../domain/ledger/money.ts';
import { DEMO_PROGRAM_ID } from '../../../domain/sandbox.ts';
import { NO_API_KEY, newTransfer, plainTerms, type Transfer } from '../../../domain/transfers/transfer.ts';
import { transact } from '../../commit/transaction.ts';
import { idAt } from '../../foundation/ids.ts';
import { insertCard } from '../../store/card.ts';
import type { Database, Statement } from '../../store/connection/database.ts';
import {
  type CausedPosting,
  createCardAccount,
  createFundingAccounts,
  insertPostings,
  updateAccounts,
} from '../../store/ledger/account.ts';
import { insertFundingMovement } from '../../store/ledger/funding.ts';
import { lockNames } from '../../store/locks.ts';
import { insertProgram, readProgram } from '../../store/program.ts';
import { READ_SWITCH, toSwitchReading } from '../../store/switch.ts';
import { insertCompletedTransfers } from '../../store/transfers/transfer.ts';
import { auditOther } from '../audit/audit.ts';

/** Initial funding of the demo program, in minor units: a billion dollars, a million euros. */
const FUNDING: Readonly<Record<string, bigint>> = { USD: 100_000_000_000n, EUR: 100_000_000n, GBP: 0n };

/** Creates the demo program with its funding and cards in one transaction, unless it exists. */
export async function seedSandbox(database: Database, deadline: number): Promise<void> {
  const programId = DEMO_PROGRAM_ID;
  const load = {
    lockName: lockNames([{ programId, kind: 'card', name: 'seed' }]),
    program: readProgram(programId),
    clock: READ_SWITCH,
  };
  await transact(database, deadline, load, (loaded) => {
    if (loaded.program.length > 0) return { result: undefined, writes: [], readsOnly: true };
    const { now } = toSwitchReading(loaded.clock);
    const note = { actor: 'sandbox', programId, subjectId: toWireId('prog', programId), details: '{}' };
    return {
      result: undefined,
      writes: [...new Seed(programId, now).statements(), auditOther('seed_sandbox', note)],
    };
  });
}

class Seed {
  readonly #programId: string;
  readonly #now: number;
  readonly #accounts = new Map<string, Account>();
  readonly #created: Statement[] = [];
  readonly #postings: CausedPosting[] = [];
  readonly #transfers: Transfer[] = [];
  #ids = 0;

  constructor(programId: string, now: number) {
    this.#programId = programId;
    this.#now = now;
  }

  statements(): readonly Statement[] {
    const program = {
      programId: this.#programId,
      name: 'Demo program',
      currency: 'USD',
      timeZone: 'UTC',
      fundingLowThreshold: null,
      metadata: {},
    };
    this.#created.push(insertProgram(program, new Date(this.#now)));
    for (const [currency, amount] of Object.entries(FUNDING)) this.#openFunding(currency, amount);
    for (const seeded of DEMO_CARDS) this.#openCard(seeded);
    return [
      ...this.#created,
      insertCompletedTransfers(this.#transfers, this.#now),
      insertPostings(this.#postings, this.#now),
      updateAccounts([...this.#accounts.values()]),
    ];
  }

  /** Returns ids in ascending order, so that the seeded items are listed in the order of their creation. */
  #newId(): string {
    this.#ids += 1;
    return idAt(this.#now, this.#ids);
  }

  #openFunding(currency: string, amount: bigint): void {
    const accountIds = { funding: this.#newId(), world: this.#newId() };
    this.#created.push(createFundingAccounts(this.#programId, currency, accountIds));
    this.#open(`funding ${currency}`, { accountId: accountIds.funding, kind: 'funding', currency, floor: 0n });
    this.#open(`world ${currency}`, { accountId: accountIds.world, kind: 'world', currency, floor: null });
    if (amount > 0n) this.#deposit(`funding ${currency}`, amount, currency);
  }

  #openCard(seeded: DemoCard): void {
    const { name, status, currency, balance } = seeded;
    const card: Card = {
      programId: this.#programId,
      cardId: this.#newId(),
      name,
      status,
      currency,
      accountId: this.#newId(),
      fundingAccountId: this.#account(`funding ${currency}`).accountId,
      expiresOn: seeded.expiresOn ?? null,
      limits: seeded.limits ?? null,
      connectorId: seeded.processor?.connectorId ?? null,
    };
    const createdAt = new Date(this.#now);
    this.#created.push(
      createCardAccount(card, newAccountOf(card)),
      insertCard(
        { card, holderReference: null, lastFour: null, metadata: {}, createdAt, updatedAt: createdAt },
        seeded.processor?.token ?? null,
      ),
    );
    this.#accounts.set(name, newAccountOf(card));
    // Not even the largest transfer can fill a card to the maximum balance. A deposit can.
    if (balance === MAXIMUM_BALANCE) this.#deposit(name, balance, currency);
    else if (balance > 0n) this.#load(card, balance);
  }

  #load(card: Card, amount: bigint): void {
    const creation = {
      programId: this.#programId,
      transferId: this.#newId(),
      requestId: this.#newId(),
      idempotencyKey: null,
      createdBy: NO_API_KEY,
      now: this.#now,
    };
    const terms = plainTerms('load', amount, card.name);
    const notes = { description: 'Opening balance of the sandbox', metadata: {} };
    this.#transfers.push(newTransfer(creation, terms, notes, { card, destinationCard: undefined }));
    this.#post(creation.transferId, 'load', `funding ${card.currency}`, card.name, amount);
  }

  #deposit(destination: string, amount: bigint, currency: string): void {
    const movement = {
      programId: this.#programId,
      movementId: this.#newId(),
      kind: 'deposit' as const,
      amount,
      currency,
      description: 'Opening balance of the sandbox',
      reference: null,
      metadata: {},
      actor: 'sandbox',
    };
    this.#created.push(...insertFundingMovement(movement, this.#now));
    this.#post(movement.movementId, 'deposit', `world ${currency}`, destination, amount);
  }

  #post(causeId: string, purpose: 'load' | 'deposit', from: string, to: string, amount: bigint): void {
    const posted = post({ index: 0, purpose, source: this.#account(from), destination: this.#account(to), amount });
    this.#accounts.set(from, posted.source);
    this.#accounts.set(to, posted.destination);
    this.#postings.push({ programId: this.#programId, causeId, ...posted.posting });
  }

  #open(name: string, account: Pick<Account, 'accountId' | 'kind' | 'currency' | 'floor'>): void {
    this.#accounts.set(name, {
      ...account,
      programId: this.#programId,
      balance: 0n,
      held: 0n,
      incoming: 0n,
      sequence: 0n,
    });
  }

  #account(name: string): Account {
    const account = this.#accounts.get(name);
    if (account === undefined) throw new Error(`the seed has no account ${name}`);
    return account;
  }
}
