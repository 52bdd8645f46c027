import { ANY_NEED } from '../../commit/contention.ts';
import { Blocked, type LockMode } from '../../commit/group-work.ts';
import { readCards, readCardsOfTransfers, readCardsWithAccounts } from '../../store/card.ts';
import { readErasuresOfTransfers } from '../../store/cards/card-erasure.ts';
import type { Statement } from '../../store/connection/database.ts';
import { readStoredResponses } from '../../store/idempotency.ts';
import { lockAccounts, type NamedCard, readAccounts } from '../../store/ledger/account.ts';
import { hashOf, type LockedName, nameOfOperator, shareSwitchAndLockNames } from '../../store/locks.ts';
import { readCountedMovements } from '../../store/person.ts';
import { readAttemptsForReport } from '../../store/processors/attempt.ts';
import { readProgramRules } from '../../store/program.ts';
import { readReferences, readTransfersForChange } from '../../store/transfers/transfer.ts';
import type { Books, LoadName } from './decide.ts';
import type { Memory } from './memory.ts';
import type { CreateRequest, TransferRequest } from './request.ts';

// Invariant: The last event of a transfer or a card program shows its stored state, and the times of its events never go back
// Kept by: code that writes an event locks everything that the event shows, or guards its version: this file,
//   `server/subjects/programs/manage-programs.ts`
// Tested by: `test/store/chain/guards.test.ts`, `verification/environments/memory`

/** Returns the locks and reads that a group needs. Cards in `memory` are not read again. */
export function loadFor(
  requests: readonly TransferRequest[],
  mode: LockMode | 'unlocked',
  memory?: Memory,
): Record<LoadName, Statement | null> {
  const creations = requests.filter(isCreation);
  const changes = requests.filter((request) => !isCreation(request));
  const updates = changes.filter(({ command }) => command === 'update');
  const cards = cardsOf(creations, memory);
  const reports = requests.filter((request) => request.command === 'report');
  const keys = requests.flatMap(({ key }) => key ?? []);
  const references = creations.flatMap(({ programId, terms: { reference } }) =>
    reference === null ? [] : [{ programId, reference }],
  );
  const counted = requests.flatMap((request) => countedActorOf(request) ?? []);
  const names = requests.flatMap(namesOf);
  const programIds = requests.map(({ programId }) => programId);
  const isKnown = cards.length + changes.length === 0;
  // Accounts to be locked need a separate statement, because they must be locked in order, before anything else is read.
  const isOneRead = mode === 'unlocked' && changes.length === 0;
  return {
    lockNames: shareSwitchAndLockNames(names, mode === 'skip' ? 'skip' : 'wait'),
    accounts: isKnown || isOneRead ? null : accountsFor(cards, changes, mode),
    cardsWithAccounts: cards.length > 0 && isOneRead ? readCardsWithAccounts(cards) : null,
    // Counters of a funding account are used only if the account is read as well. Otherwise they are in memory, next to the
    // account.
    rules: readProgramRules(programIds, !isKnown),
    cards: cards.length === 0 || isOneRead ? null : readCards(cards),
    cardsOfTransfers: changes.length === 0 ? null : readCardsOfTransfers(changes),
    transfers: changes.length === 0 ? null : readTransfersForChange(changes),
    attempts: reports.length === 0 ? null : readAttemptsForReport(reports, mode !== 'unlocked'),
    erasures: updates.length === 0 ? null : readErasuresOfTransfers(updates),
    responses: keys.length === 0 ? null : readStoredResponses(keys),
    references: references.length === 0 ? null : readReferences(references),
    countedMovements: counted.length === 0 ? null : readCountedMovements({ actors: [...new Set(counted)] }),
  };
}

function accountsFor(
  cards: readonly NamedCard[],
  changes: readonly Exclude<TransferRequest, CreateRequest>[],
  mode: LockMode | 'unlocked',
): Statement {
  return mode === 'unlocked' ? readAccounts(cards, changes) : lockAccounts(cards, changes, mode);
}

export function isCreation(request: TransferRequest): request is CreateRequest {
  return request.command === 'create';
}

function namesOf(request: TransferRequest): readonly LockedName[] {
  const { programId, key } = request;
  const names: LockedName[] = [];
  if (key !== null) names.push(key);
  if (isCreation(request) && request.terms.reference !== null) {
    names.push({ programId, kind: 'reference', name: request.terms.reference });
  }
  const counted = countedActorOf(request);
  if (counted !== undefined) names.push(nameOfOperator(counted));
  return names;
}

function countedActorOf(request: TransferRequest): string | undefined {
  return request.command === 'reverse' ? request.countedActor : undefined;
}

/**
 * Returns everything that a request must lock: the funding of its program, its cards and its names. For an existing transfer, the
 * cards are unknown until it is loaded, so such a change may need any card.
 */
export function needsOf(request: TransferRequest): readonly string[] {
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

/**
 * Returns the first lock that a request needs but another transaction holds. `missed` are the names that were skipped.
 */
export function findBlocked(
  request: TransferRequest,
  books: Books,
  missed: ReadonlySet<bigint> | undefined,
): Blocked | undefined {
  if (missed === undefined) return undefined;
  const { programId } = request;
  const name = namesOf(request).find((locked) => missed.has(hashOf(locked)));
  if (name !== undefined) return new Blocked(needOfName(name));
  const about = isCreation(request) ? request.terms : books.existing(request)?.transfer;
  if (about === undefined) return undefined;
  for (const cardName of cardNames(about)) {
    const locked = books.lockedOf(programId, cardName, about.type !== 'card_to_card');
    if (locked === 'card_held') return new Blocked(`${programId}\n${cardName}`);
    if (locked === 'funding_held') return new Blocked(programId);
  }
  return undefined;
}

/** Returns the cards that are not in memory, each once. Only card-to-card transfers need no funding account. */
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
