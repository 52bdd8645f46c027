import { decideTransfer, type TransferPlan, type TransferView } from '../../domain/create-transfer.ts';
import type { DomainEvent } from '../../domain/event.ts';
import { replay, type StoredAnswer } from '../../domain/idempotency.ts';
import { toWireId } from '../../domain/identifier.ts';
import { type Account, LedgerViolation } from '../../domain/ledger.ts';
import { Refusal } from '../../domain/refusal.ts';
import { completedTransfer, type Transfer } from '../../domain/transfer.ts';
import { lockAccountsOfCards, type NamedCard, toAccount, updateAccounts } from '../store/account.ts';
import { type CardToday, readCards, toCardToday } from '../store/card.ts';
import type { Database, Loaded, Statement, Steps } from '../store/database.ts';
import { insertEvents } from '../store/event.ts';
import { insertAnswers, type KeyInScope, keyText, readAnswers, toAnswers } from '../store/idempotency.ts';
import { hashOf, type LockedName, shareSwitchAndLockNames, toMissedNames } from '../store/locks.ts';
import { mergeWrites } from '../store/merge.ts';
import { type CausedPosting, insertPostings } from '../store/posting.ts';
import { READ_SWITCH, type SwitchReading, toSwitchReading } from '../store/switch.ts';
import { insertCompletedTransfers, readReferences } from '../store/transfer.ts';
import type { Reply } from './call.ts';
import { Blocked, GroupCommit, type LaneBounds, type LockMode } from './group-commit.ts';
import { keepRefusal, keepSuccess, refuseAgain, replyAgain } from './idempotency.ts';
import { toTransferRecord } from './records.ts';
import type { TransferRequest } from './transfer-request.ts';

/** What became of a request: the reply, the refusal, or an old key whose reply is no longer kept. */
export type TransferAnswer = Reply | Refusal | { readonly replayOf: string };

/** Where transfers are committed in groups. */
export type TransferLane = GroupCommit<TransferRequest, TransferAnswer, LoadName>;

/** Path of a transfer, for `Location`; takes the inner UUID. */
export function transferPath(transferId: string): string {
  return `/api/v0.1/core/transfer/${toWireId('tr', transferId)}`;
}

/** Makes the lane of a service. */
export function openTransferLane(database: Database, bounds?: LaneBounds): TransferLane {
  return new GroupCommit(database, { stepsOf, needsOf, madeBy }, bounds);
}

function madeBy(request: TransferRequest, answer: TransferAnswer): string | undefined {
  const isNew = !(answer instanceof Refusal) && 'body' in answer && answer.replayed !== true;
  return isNew ? toWireId('tr', request.transferId) : undefined;
}

/** Statements of the load, in the order they are sent: the locks in their global order, then the reads. */
export type LoadName = 'lockNames' | 'lockAccounts' | 'switch' | 'cards' | 'answers' | 'references';

/** What the keys of create_transfer are scoped to, explain and batch rows included. */
const OPERATION = 'create_transfer';

/** One transaction for a group of requests: loads what all of them need, decides one after the other, writes once. */
function stepsOf(
  requests: readonly TransferRequest[],
  mode: LockMode,
): Steps<readonly (TransferAnswer | Blocked)[], LoadName> {
  return {
    load: loadFor(requests, mode),
    decide: (loaded, batchId) => {
      const books = new Books(loaded);
      const answers = requests.map((request) => books.blocked(request, mode) ?? books.answer(request));
      return { result: answers, writes: books.writes(batchId) };
    },
  };
}

/** The locks and reads that a group needs. */
export function loadFor(requests: readonly TransferRequest[], mode: LockMode): Record<LoadName, Statement | null> {
  const cards = cardsOf(requests);
  const keys = requests.flatMap((request) => keyOf(request) ?? []);
  const references = requests.flatMap(({ programId, terms: { reference } }) =>
    reference === null ? [] : [{ programId, reference }],
  );
  return {
    lockNames: shareSwitchAndLockNames(requests.flatMap(namesOf), mode),
    lockAccounts: lockAccountsOfCards(cards, mode),
    switch: READ_SWITCH,
    cards: readCards(cards),
    answers: keys.length === 0 ? null : readAnswers(keys),
    references: references.length === 0 ? null : readReferences(references),
  };
}

/** The names that a request locks: its idempotency key and its reference, where it has them. */
function namesOf(request: TransferRequest): readonly LockedName[] {
  const { programId, key, terms } = request;
  const names: LockedName[] = [];
  if (key !== null) names.push({ programId, kind: 'idempotency_key', scope: OPERATION, name: key.text });
  if (terms.reference !== null) names.push({ programId, kind: 'reference', scope: '', name: terms.reference });
  return names;
}

/** What a request needs to have to itself: the funding of its program, its cards, its names. */
function needsOf(request: TransferRequest): readonly string[] {
  const { programId, terms } = request;
  const cards = terms.destinationCardName === null ? [terms.cardName] : [terms.cardName, terms.destinationCardName];
  return [programId, ...cards.map((name) => `${programId}\n${name}`), ...namesOf(request).map(needOfName)];
}

function needOfName(locked: LockedName): string {
  return hashOf(locked).toString();
}

/** What a group's transaction has loaded, as it changes from one decision to the next. */
export class Books {
  readonly #switch: SwitchReading;
  readonly #cards: ReadonlyMap<string, CardToday>;
  readonly #accounts: Map<string, Account>;
  readonly #missedNames: ReadonlySet<bigint>;
  readonly #answers: Map<string, StoredAnswer>;
  readonly #references: Map<string, string>;
  readonly #changedAccounts = new Set<string>();
  readonly #transfers: Transfer[] = [];
  readonly #postings: CausedPosting[] = [];
  readonly #newAnswers: (KeyInScope & { readonly answer: StoredAnswer })[] = [];
  readonly #events: DomainEvent[] = [];

  constructor(loaded: Loaded<LoadName>) {
    this.#switch = toSwitchReading(loaded.switch);
    this.#accounts = new Map(loaded.lockAccounts.map(toAccount).map((account) => [account.accountId, account]));
    this.#missedNames = toMissedNames(loaded.lockNames);
    const cards = loaded.cards.map(toCardToday);
    this.#cards = new Map(cards.map((found) => [`${found.card.programId}\n${found.card.name}`, found]));
    this.#answers = toAnswers(loaded.answers);
    this.#references = new Map(
      loaded.references.map((row) => [`${row.program_id}\n${row.reference}`, row.transfer_id as string]),
    );
  }

  /** What a request needs that others hold, when the group was not to wait for it. */
  blocked(request: TransferRequest, mode: LockMode): Blocked | undefined {
    if (mode === 'wait') return undefined;
    const { programId, terms } = request;
    const name = namesOf(request).find((locked) => this.#missedNames.has(hashOf(locked)));
    if (name !== undefined) return new Blocked(needOfName(name));
    for (const cardName of [terms.cardName, terms.destinationCardName]) {
      const found = cardName === null ? undefined : this.#cards.get(`${programId}\n${cardName}`);
      if (found === undefined) continue;
      if (!this.#accounts.has(found.card.accountId)) return new Blocked(`${programId}\n${cardName}`);
      const needsFunding = terms.type !== 'card_to_card';
      if (needsFunding && !this.#accounts.has(found.card.fundingAccountId)) return new Blocked(programId);
    }
    return undefined;
  }

  /** Answers one request and keeps what it changes for the next. */
  answer(request: TransferRequest): TransferAnswer {
    const stored = this.stored(request);
    if (stored !== undefined && request.key !== null) return answerAgain(stored, request.key.fingerprint);
    const plan = decideTransfer(request.terms, this.view(request));
    if (plan instanceof Refusal) {
      this.#keep(request, keepRefusal(request.key?.fingerprint ?? '', plan));
      return plan;
    }
    return this.#carryOut(request, plan);
  }

  /** The first answer to the request's key, when there is one. */
  stored(request: TransferRequest): StoredAnswer | undefined {
    const key = keyOf(request);
    return key === undefined ? undefined : this.#answers.get(keyText(key));
  }

  /** What the rules look at for one request, as the decisions before it have left it. */
  view(request: TransferRequest): TransferView {
    const { programId, terms } = request;
    const card = this.#card(programId, terms.cardName);
    const reference = terms.reference === null ? undefined : this.#references.get(`${programId}\n${terms.reference}`);
    return {
      programId,
      now: this.#switch.now,
      today: card?.today ?? '',
      switches: this.#switch.settings,
      card: card?.card,
      destinationCard: this.#card(programId, terms.destinationCardName)?.card,
      referenceTakenBy: reference === undefined ? undefined : toWireId('tr', reference),
      account: (accountId) => {
        const account = this.#accounts.get(accountId);
        if (account === undefined) throw new LedgerViolation('an account was needed that the group did not lock');
        return account;
      },
    };
  }

  /** The statements that write all that was decided; none when nothing changes. */
  writes(batchId: string): readonly Statement[] {
    const { now } = this.#switch;
    const writes: Statement[] = [];
    if (this.#transfers.length > 0) {
      const accounts = [...this.#changedAccounts].flatMap((accountId) => this.#accounts.get(accountId) ?? []);
      writes.push(
        insertCompletedTransfers(this.#transfers, now),
        insertPostings(this.#postings, now),
        updateAccounts(accounts),
        insertEvents(batchId, this.#events, now),
      );
    }
    if (this.#newAnswers.length > 0) writes.push(insertAnswers(this.#newAnswers, now));
    return writes.length > 0 ? [mergeWrites(writes)] : [];
  }

  #carryOut(request: TransferRequest, plan: TransferPlan): TransferAnswer {
    const { programId, transferId, requestId } = request;
    const birth = { programId, transferId, requestId, now: this.#switch.now };
    const transfer = completedTransfer(birth, request.terms, request.notes, plan);
    const record = toTransferRecord(transfer);
    const body = JSON.stringify(record);
    for (const account of plan.accounts) {
      this.#accounts.set(account.accountId, account);
      this.#changedAccounts.add(account.accountId);
    }
    this.#transfers.push(transfer);
    for (const posting of plan.postings) this.#postings.push({ programId, causeId: transferId, posting });
    this.#events.push({
      type: 'transfer.completed',
      programId,
      subjectId: record.transfer_id,
      payload: body,
    });
    if (transfer.reference !== null) this.#references.set(`${programId}\n${transfer.reference}`, transferId);
    this.#keep(request, keepSuccess(request.key?.fingerprint ?? '', transferId, body));
    return { status: 201, body, location: transferPath(transferId) };
  }

  #keep(request: TransferRequest, answer: StoredAnswer | undefined): void {
    const key = keyOf(request);
    if (key === undefined || answer === undefined) return;
    this.#answers.set(keyText(key), answer);
    this.#newAnswers.push({ ...key, answer });
  }

  #card(programId: string, name: string | null): CardToday | undefined {
    const found = name === null ? undefined : this.#cards.get(`${programId}\n${name}`);
    // A card that was registered between the locks and the reads has no locked account: it comes too late.
    return found !== undefined && this.#accounts.has(found.card.accountId) ? found : undefined;
  }
}

function answerAgain(stored: StoredAnswer, fingerprint: string): TransferAnswer {
  const first = replay(stored, fingerprint);
  if (first instanceof Refusal) return first;
  const refusal = refuseAgain(first);
  if (refusal !== undefined) return refusal;
  if (first.subjectId === null) throw new Error('a kept success names nothing');
  return first.body === null ? { replayOf: first.subjectId } : replyAgain(first.body, transferPath(first.subjectId));
}

function keyOf(request: TransferRequest): KeyInScope | undefined {
  if (request.key === null) return undefined;
  return { programId: request.programId, operation: OPERATION, key: request.key.text };
}

/** The cards of a group, each once; funding takes part unless money only goes from card to card. */
function cardsOf(requests: readonly TransferRequest[]): readonly NamedCard[] {
  const cards = new Map<string, NamedCard>();
  const add = (programId: string, name: string, withFunding: boolean): void => {
    const before = cards.get(`${programId}\n${name}`);
    cards.set(`${programId}\n${name}`, { programId, name, withFunding: withFunding || before?.withFunding === true });
  };
  for (const { programId, terms } of requests) {
    add(programId, terms.cardName, terms.type !== 'card_to_card');
    if (terms.destinationCardName !== null) add(programId, terms.destinationCardName, false);
  }
  return [...cards.values()];
}
