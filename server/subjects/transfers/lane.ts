import { isStored } from '../../../contract/errors/catalogue.ts';
import type { TransferRecord } from '../../../contract/transfers.ts';
import { toWireId } from '../../../domain/identifier.ts';
import type { OperatorLimits } from '../../../domain/people/operator-limits.ts';
import { Refusal } from '../../../domain/refusal.ts';
import type { TransferType } from '../../../domain/transfers/transfer.ts';
import type { ConnectorState } from '../../../domain/transfers/transfer-view.ts';
import { OperationFailure, type Service } from '../../calls/call.ts';
import { GroupCommit, type LaneBounds } from '../../commit/group-commit.ts';
import { Blocked, type ChainedWork, type CommitObserver, type LockMode } from '../../commit/group-work.ts';
import { transact } from '../../commit/transaction.ts';
import type { Database, Loaded, Steps } from '../../store/connection/database.ts';
import { StoreFailure } from '../../store/connection/failure.ts';
import { toMissedNames } from '../../store/locks.ts';
import { CommittedCards } from './committed-cards.ts';
import { Books, type LoadName } from './decide.ts';
import { findBlocked, isCreation, loadFor, needsOf } from './load.ts';
import { Memory } from './memory.ts';
import { AwaitsExpiry, submitAfterExpiry } from './references.ts';
import type { TransferRequest } from './request.ts';
import type { Outcome } from './respond.ts';

/** Commits new transfers, and all later changes of transfers, in groups. */
export type TransferLane = Pick<GroupCommit<TransferRequest, Outcome, LoadName>, 'submit' | 'waiting'>;

type Decision = Outcome | AwaitsExpiry;

/** Called for each created transfer, with the inner UUID of its card program and its type. */
export type OnCreated = (programId: string, type: TransferType) => void;

export type LaneOptions = {
  /**
   * Whether to write compact payloads. Every version of the service that may run on the ledger must be able to read them.
   */
  readonly compactsPayloads: boolean;
  readonly bounds?: LaneBounds | undefined;
  readonly observer?: CommitObserver | undefined;
  readonly onCreated?: OnCreated | undefined;
  /** Returns the state of a connector. If omitted, there are no processors. */
  readonly connectorState?: ((connectorId: string) => ConnectorState) | undefined;
  readonly operatorLimits?: OperatorLimits | undefined;
  /** Called with each transfer that begins to wait for a processor, and with each processor's answer. */
  readonly onProcessor?: ((transfer: TransferRecord) => void) | undefined;
};

/**
 * Opens the lane of a service. Operators' requests are committed in separate groups, so that other requests do not have to wait
 * for them. Operators' requests write to the audit log, and all processes and programs share the lock on its head.
 */
export function openTransferLane(
  databases: Pick<Database, 'forProgram'>,
  { compactsPayloads, bounds, observer, onCreated, connectorState, operatorLimits, onProcessor }: LaneOptions,
): TransferLane {
  const programOf = ({ programId }: TransferRequest): string => programId;
  const traceOf = ({ trace }: TransferRequest) => trace;
  const onCommitted = (request: TransferRequest, outcome: Decision): void => {
    if (outcome instanceof Refusal || !('record' in outcome)) return;
    if (isCreation(request)) onCreated?.(request.programId, request.terms.type);
    const { record } = outcome;
    const isWaiting = 'card_id' in record && record.capture === 'automatic' && record.status === 'pending';
    if ('card_id' in record && (isWaiting || request.command === 'report')) onProcessor?.(record);
  };
  const committed = new CommittedCards(bounds?.remembered?.bytes);
  const open: OpenBooks = (loaded, memory) =>
    new Books(loaded, { memory, compactsPayloads, connectorState, operatorLimits });
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
    submit: (request, deadline) =>
      submitAfterExpiry(request, deadline, (one, end) =>
        (one.operator === null ? programs : operators).submit(one, end),
      ),
  };
}

/** Opens a lane for trials. It decides each request as the real lane would now, but separately and without writing anything. */
export function openTrialLane(
  database: Database,
  options: Required<Pick<LaneOptions, 'connectorState'>> & Pick<LaneOptions, 'operatorLimits'>,
): TransferLane {
  return {
    waiting: 0,
    submit: async (request, deadline) => {
      const decide = (loaded: Loaded<LoadName>) => ({
        result: new Books(loaded, { compactsPayloads: false, ...options }).decide(request),
        writes: [],
        readsOnly: true,
      });
      const outcome = await transact<Decision, LoadName>(database, deadline, loadFor([request], 'wait'), decide);
      if (!(outcome instanceof AwaitsExpiry)) return outcome;
      // Within a second, a job will expire the hold that has the reference.
      throw new OperationFailure('a hold with the reference is about to expire', { busy: true, moneyMoved: 'no' });
    },
  };
}

function transferOf(request: TransferRequest, outcome: Decision): string | undefined {
  if (outcome instanceof Refusal || outcome instanceof AwaitsExpiry || request.command === 'update') return undefined;
  if (request.command !== 'create') return toWireId('tr', request.transferId);
  return 'subjectId' in outcome ? toWireId('tr', outcome.subjectId) : outcome.record.transfer_id;
}

type OpenBooks = (loaded: Loaded<LoadName>, memory?: Memory) => Books;

/**
 * Returns the steps of a transaction that loads the state, decides a group's requests one after the other, and writes all changes.
 */
function lockedSteps(
  requests: readonly TransferRequest[],
  mode: LockMode,
  committed: CommittedCards,
  open: OpenBooks,
): Steps<readonly (Decision | Blocked)[], LoadName> {
  return {
    load: loadFor(requests, mode),
    decide: (loaded, batchId) => {
      const books = open(loaded);
      // The group may change these cards, so their packed states are no longer valid.
      for (const row of [...loaded.cards, ...loaded.cardsOfTransfers]) {
        committed.forget(row.program_id as string, row.name as string);
      }
      const missed = mode === 'wait' ? undefined : toMissedNames(loaded.lockNames);
      const outcomes = requests.map((request) => findBlocked(request, books, missed) ?? books.decide(request));
      return { result: outcomes, writes: books.writes(batchId), readsOnly: !outcomes.some(showsState) };
    },
  };
}

/** Returns the same work for a chain. It locks no accounts, and each group keeps its results in memory for the next. */
function chainedWork(
  committed: CommittedCards,
  interruptions: () => number,
  open: OpenBooks,
  maxAccounts: number | undefined,
): ChainedWork<TransferRequest, Decision, LoadName> {
  return {
    begin: () => {
      const memory = new Memory(committed, maxAccounts);
      return (requests) => {
        const before = interruptions();
        return {
          load: loadFor(requests, 'unlocked', memory),
          decide: (loaded, batchId) => {
            memory.noteServer(before);
            memory.noteServer(interruptions());
            const books = open(loaded, memory);
            const outcomes = requests.map((request) => books.decide(request));
            return { result: outcomes, ...books.chainedWrites(batchId), readsOnly: !outcomes.some(showsState) };
          },
        };
      };
    },
    changeOf: (request) => (isCreation(request) ? undefined : `${request.programId}\n${request.transferId}`),
    // If another transaction changed only accounts, the other remembered cards are still valid. After any other failure, such as a
    // lost connection, the server may be a different one, without the last commits.
    onBreak: (error) => {
      if (!(error instanceof StoreFailure && error.accountsChanged)) committed.clear();
    },
  };
}

/**
 * Returns whether an outcome may reveal an earlier commit. Successes may, and so may refusals that depend on the ledger's state.
 */
function showsState(outcome: Decision | Blocked): boolean {
  if (outcome instanceof Blocked || outcome instanceof AwaitsExpiry) return false;
  return !(outcome instanceof Refusal) || isStored(outcome.code);
}

export type TransferService = Service & { readonly transfers: TransferLane };
