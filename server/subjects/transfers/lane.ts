import { isStored } from '../../../contract/errors/catalogue.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { TransferType } from '../../../domain/transfers/transfer.ts';
import type { Service } from '../../calls/service.ts';
import type { CommitObserver } from '../../commit/commit-observer.ts';
import { GroupCommit, type LaneBounds } from '../../commit/group-commit.ts';
import { Blocked, type ChainedWork, type LockMode } from '../../commit/group-work.ts';
import type { Database, Loaded, Steps } from '../../store/connection/database.ts';
import { StoreFailure } from '../../store/connection/failure.ts';
import { toMissedNames } from '../../store/locks.ts';
import { CommittedCards } from './committed-cards.ts';
import { Books, type LoadName } from './decide.ts';
import { findBlocked, isCreation, loadFor, needsOf } from './load.ts';
import { Memory } from './memory.ts';
import type { TransferRequest } from './request.ts';
import type { Outcome } from './respond.ts';

/** Commits transfers, and every later change of them, in groups. */
export type TransferLane = Pick<GroupCommit<TransferRequest, Outcome, LoadName>, 'submit' | 'waiting'>;

/** Told of each transfer that was created: the inner UUID of its card program, and its type. */
export type OnCreated = (programId: string, type: TransferType) => void;

/** What a lane is opened with. */
export type LaneOptions = {
  /** Whether every program that may run on the ledger can read compact payloads, so that they are written. */
  readonly compactsPayloads: boolean;
  readonly bounds?: LaneBounds | undefined;
  readonly observer?: CommitObserver | undefined;
  readonly onCreated?: OnCreated | undefined;
};

/**
 * Opens the lane of a service. Requests of operators have groups of their own: they write to the audit log, whose head is
 * shared by all processes and programs, and other requests must not wait for that.
 */
export function openTransferLane(
  databases: Pick<Database, 'forProgram'>,
  { compactsPayloads, bounds, observer, onCreated }: LaneOptions,
): TransferLane {
  const programOf = ({ programId }: TransferRequest): string => programId;
  const traceOf = ({ trace }: TransferRequest) => trace;
  const onCommitted = (request: TransferRequest, outcome: Outcome): void => {
    if (isCreation(request) && 'record' in outcome) onCreated?.(request.programId, request.terms.type);
  };
  const committed = new CommittedCards(bounds?.remembered?.bytes);
  const open: OpenBooks = (loaded, memory) => new Books(loaded, { memory, compactsPayloads });
  const stepsOf = (requests: readonly TransferRequest[], mode: LockMode) =>
    lockedSteps(requests, mode, committed, open);
  const work = { stepsOf, programOf, needsOf, transferOf, traceOf, onCommitted };
  const interruptions = () => databases.forProgram().interruptions;
  const chained = chainedWork(committed, interruptions, open, bounds?.remembered?.accounts);
  const programs = new GroupCommit(databases, { ...work, chained }, bounds, observer);
  const operators = new GroupCommit(databases, work, bounds, observer);
  return {
    get waiting() {
      return programs.waiting + operators.waiting;
    },
    submit: (request, deadline) => (request.operator === null ? programs : operators).submit(request, deadline),
  };
}

function transferOf(request: TransferRequest, outcome: Outcome): string | undefined {
  if (outcome instanceof Refusal || request.command === 'update') return undefined;
  if (request.command !== 'create') return toWireId('tr', request.transferId);
  return 'subjectId' in outcome ? toWireId('tr', outcome.subjectId) : outcome.record.transfer_id;
}

type OpenBooks = (loaded: Loaded<LoadName>, memory?: Memory) => Books;

/** One transaction for a group: loads what all its requests need, decides one after the other, writes once. */
function lockedSteps(
  requests: readonly TransferRequest[],
  mode: LockMode,
  committed: CommittedCards,
  open: OpenBooks,
): Steps<readonly (Outcome | Blocked)[], LoadName> {
  return {
    load: loadFor(requests, mode),
    decide: (loaded, batchId) => {
      const books = open(loaded);
      // They may change here, where no chain remembers it.
      for (const row of [...loaded.cards, ...loaded.cardsOfTransfers]) {
        committed.forget(row.program_id as string, row.name as string);
      }
      const missed = mode === 'wait' ? undefined : toMissedNames(loaded.lockNames);
      const outcomes = requests.map((request) => findBlocked(request, books, missed) ?? books.decide(request));
      return { result: outcomes, writes: books.writes(batchId), readsOnly: !outcomes.some(showsState) };
    },
  };
}

/** The same for groups in a chain, which hand on what they have decided. */
function chainedWork(
  committed: CommittedCards,
  interruptions: () => number,
  open: OpenBooks,
  maxAccounts: number | undefined,
): ChainedWork<TransferRequest, Outcome, LoadName> {
  return {
    begin: () => {
      const memory = new Memory(committed, maxAccounts);
      return (requests) => {
        memory.beginGroup();
        return {
          load: loadFor(requests, 'unlocked', memory),
          decide: (loaded, batchId) => {
            memory.noteServer(interruptions());
            const books = open(loaded, memory);
            const outcomes = requests.map((request) => books.decide(request));
            return { result: outcomes, ...books.chainedWrites(batchId), readsOnly: !outcomes.some(showsState) };
          },
        };
      };
    },
    changeOf: (request) => (isCreation(request) ? undefined : `${request.programId}\n${request.transferId}`),
    // Where a card was changed by somebody else, the other cards are as they were. After anything else, such as a lost
    // connection, the next server may lack what the last one had committed.
    onBreak: (error) => {
      if (!(error instanceof StoreFailure && error.accountsChanged)) committed.clear();
    },
  };
}

/** Whether an outcome may show a change that was committed before: a success, and a refusal by the state of the ledger. */
function showsState(outcome: Outcome | Blocked): boolean {
  if (outcome instanceof Blocked) return false;
  return !(outcome instanceof Refusal) || isStored(outcome.code);
}

/** What handlers of transfers work with. */
export type TransferService = Service & { readonly transfers: TransferLane };
