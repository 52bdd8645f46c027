import { isStored } from '../../contract/errors/catalogue.ts';
import { toWireId } from '../../domain/identifier.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { TransferType } from '../../domain/transfers/transfer.ts';
import type { CommitObserver } from '../commit/commit-observer.ts';
import { ANY_NEED } from '../commit/contention.ts';
import { GroupCommit, type LaneBounds } from '../commit/group-commit.ts';
import { Blocked, type ChainedWork, type LockMode } from '../commit/group-work.ts';
import { readCards, readCardsOfTransfers } from '../store/card.ts';
import type { Database, Statement, Steps } from '../store/connection/database.ts';
import { readStoredResponses } from '../store/idempotency.ts';
import { lockAccounts, type NamedCard, readAccounts } from '../store/ledger/account.ts';
import { hashOf, type LockedName, shareSwitchAndLockNames, toMissedNames } from '../store/locks.ts';
import { readProgramRules } from '../store/program.ts';
import { readReferences, readTransfersForChange } from '../store/transfers/transfer.ts';
import { Books, type LoadName } from './decide.ts';
import { Memory } from './memory.ts';
import type { CreateRequest, TransferRequest } from './request.ts';
import type { Outcome } from './respond.ts';

/** Commits transfers, and every later change of them, in groups. */
export type TransferLane = Pick<GroupCommit<TransferRequest, Outcome, LoadName>, 'submit' | 'waiting'>;

/** Told of each transfer that was created: the inner UUID of its card program, and its type. */
export type OnCreated = (programId: string, type: TransferType) => void;

/**
 * Opens the lane of a service. Requests of operators have groups of their own: they write to the audit log, whose head is
 * shared by all processes and programs, and other requests must not wait for that.
 */
export function openTransferLane(
  databases: Pick<Database, 'forProgram'>,
  bounds?: LaneBounds,
  observer?: CommitObserver,
  onCreated?: OnCreated,
): TransferLane {
  const programOf = ({ programId }: TransferRequest): string => programId;
  const traceOf = ({ trace }: TransferRequest) => trace;
  const onCommitted = (request: TransferRequest, outcome: Outcome): void => {
    if (isCreation(request) && 'record' in outcome) onCreated?.(request.programId, request.terms.type);
  };
  const work = { stepsOf, programOf, needsOf, transferOf, traceOf, onCommitted };
  const programs = new GroupCommit(databases, { ...work, chained: CHAINED }, bounds, observer);
  const operators = new GroupCommit(databases, work, bounds, observer);
  return {
    get waiting() {
      return programs.waiting + operators.waiting;
    },
    submit: (request, deadline) => (request.operator === null ? programs : operators).submit(request, deadline),
  };
}

function transferOf(request: TransferRequest, outcome: Outcome): string | undefined {
  if (outcome instanceof Refusal) return undefined;
  if (request.command !== 'create') return toWireId('tr', request.transferId);
  return 'subjectId' in outcome ? toWireId('tr', outcome.subjectId) : outcome.record.transfer_id;
}

/** One transaction for a group: loads what all its requests need, decides one after the other, writes once. */
function stepsOf(
  requests: readonly TransferRequest[],
  mode: LockMode,
): Steps<readonly (Outcome | Blocked)[], LoadName> {
  return {
    load: loadFor(requests, mode),
    decide: (loaded, batchId) => {
      const books = new Books(loaded);
      const missed = mode === 'wait' ? undefined : toMissedNames(loaded.lockNames);
      const outcomes = requests.map((request) => findBlocked(request, books, missed) ?? books.decide(request));
      return { result: outcomes, writes: books.writes(batchId), readsOnly: !outcomes.some(showsState) };
    },
  };
}

/** The same for groups in a chain, which hand on what they have decided. */
const CHAINED: ChainedWork<TransferRequest, Outcome, LoadName> = {
  begin: () => {
    const memory = new Memory();
    return (requests) => ({
      load: loadFor(requests, 'unlocked', memory),
      decide: (loaded, batchId) => {
        const books = new Books(loaded, memory);
        const outcomes = requests.map((request) => books.decide(request));
        return { result: outcomes, ...books.chainedWrites(batchId), readsOnly: !outcomes.some(showsState) };
      },
    });
  },
  changeOf: (request) => (isCreation(request) ? undefined : `${request.programId}\n${request.transferId}`),
};

/** Whether an outcome may show a change that was committed before: a success, and a refusal by the state of the ledger. */
function showsState(outcome: Outcome | Blocked): boolean {
  if (outcome instanceof Blocked) return false;
  return !(outcome instanceof Refusal) || isStored(outcome.code);
}

/** The locks and reads that a group needs, except what `memory` knows. */
export function loadFor(
  requests: readonly TransferRequest[],
  mode: LockMode | 'unlocked',
  memory?: Memory,
): Record<LoadName, Statement | null> {
  const creations = requests.filter(isCreation);
  const standing = requests.filter((request) => !isCreation(request));
  const cards = cardsOf(creations, memory);
  const keys = requests.flatMap(({ key }) => key ?? []);
  const references = creations.flatMap(({ programId, terms: { reference } }) =>
    reference === null ? [] : [{ programId, reference }],
  );
  const names = requests.flatMap(namesOf);
  const isKnown = cards.length + standing.length === 0;
  return {
    lockNames: shareSwitchAndLockNames(names, mode === 'skip' ? 'skip' : 'wait'),
    accounts: isKnown ? null : accountsFor(cards, standing, mode),
    rules: readProgramRules(requests.map(({ programId }) => programId)),
    cards: cards.length === 0 ? null : readCards(cards),
    cardsOfTransfers: standing.length === 0 ? null : readCardsOfTransfers(standing),
    transfers: standing.length === 0 ? null : readTransfersForChange(standing),
    responses: keys.length === 0 ? null : readStoredResponses(keys),
    references: references.length === 0 ? null : readReferences(references),
  };
}

function accountsFor(
  cards: readonly NamedCard[],
  standing: readonly Exclude<TransferRequest, CreateRequest>[],
  mode: LockMode | 'unlocked',
): Statement {
  return mode === 'unlocked' ? readAccounts(cards, standing) : lockAccounts(cards, standing, mode);
}

function isCreation(request: TransferRequest): request is CreateRequest {
  return request.command === 'create';
}

/** The names that a request locks: its idempotency key and its reference, if any. */
function namesOf(request: TransferRequest): readonly LockedName[] {
  const { programId, key } = request;
  const names: LockedName[] = [];
  if (key !== null) names.push(key);
  if (isCreation(request) && request.terms.reference !== null) {
    names.push({ programId, kind: 'reference', name: request.terms.reference });
  }
  return names;
}

/**
 * What a request must lock: the funding of its program, its cards, its names. The cards of an existing transfer are known
 * only when it is loaded, so a change may need any card.
 */
function needsOf(request: TransferRequest): readonly string[] {
  const { programId } = request;
  const names = namesOf(request).map(needOfName);
  if (!isCreation(request)) return [programId, ANY_NEED, ...names];
  return [programId, ...cardNames(request.terms).map((name) => `${programId}\n${name}`), ...names];
}

function needOfName(locked: LockedName): string {
  return hashOf(locked).toString();
}

function cardNames(of: { readonly cardName: string; readonly destinationCardName: string | null }): readonly string[] {
  return of.destinationCardName === null ? [of.cardName] : [of.cardName, of.destinationCardName];
}

/** What a request needs and others hold, where the group skips locks (`missed`: names that were not locked). */
function findBlocked(
  request: TransferRequest,
  books: Books,
  missed: ReadonlySet<bigint> | undefined,
): Blocked | undefined {
  if (missed === undefined) return undefined;
  const { programId } = request;
  const name = namesOf(request).find((locked) => missed.has(hashOf(locked)));
  if (name !== undefined) return new Blocked(needOfName(name));
  const about = isCreation(request) ? request.terms : books.standing(request)?.transfer;
  if (about === undefined) return undefined;
  for (const cardName of cardNames(about)) {
    const locked = books.lockedOf(programId, cardName, about.type !== 'card_to_card');
    if (locked === 'card_held') return new Blocked(`${programId}\n${cardName}`);
    if (locked === 'funding_held') return new Blocked(programId);
  }
  return undefined;
}

/** The cards of a group that are not known, each once. Funding takes part unless money only goes from card to card. */
function cardsOf(requests: readonly CreateRequest[], memory: Memory | undefined): readonly NamedCard[] {
  const cards = new Map<string, NamedCard>();
  const add = (programId: string, name: string, withFunding: boolean): void => {
    if (memory?.knows(programId, name, withFunding) === true) return;
    const before = cards.get(`${programId}\n${name}`);
    cards.set(`${programId}\n${name}`, { programId, name, withFunding: withFunding || before?.withFunding === true });
  };
  for (const { programId, terms } of requests) {
    add(programId, terms.cardName, terms.type !== 'card_to_card');
    if (terms.destinationCardName !== null) add(programId, terms.destinationCardName, false);
  }
  return [...cards.values()];
}
