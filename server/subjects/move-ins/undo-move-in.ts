import { MAX_MOVE_IN_LINES } from '../../../contract/move-ins.ts';
import { MAX_NOTE_CHARACTERS } from '../../../contract/processors/attempts.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { formatMoney } from '../../../domain/ledger/money.ts';
import { type CountedLine, changeBalance, withLines } from '../../../domain/move-in.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, OperationFailure, type Reply, type Service } from '../../calls/call.ts';
import { readRows, surveyRows } from '../../calls/read-rows.ts';
import { toCardRecord } from '../../calls/records/card.ts';
import { transact } from '../../commit/transaction.ts';
import { withoutSecrets } from '../../foundation/redaction.ts';
import type { CardDetails } from '../../store/card.ts';
import type { Decision, Loaded, Statement } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { shareSwitchAndLockNames } from '../../store/locks.ts';
import {
  type CardOfMoveIn,
  findUsedLine,
  kindOf,
  type LineWithCard,
  lockAccountsOfMoveIn,
  lockMoveIn,
  type MoveIn,
  markLinesUndone,
  readCardsOfMoveIn,
  readMoveInLines,
  toCardOfMoveIn,
  toLineWithCard,
  toUsedLine,
  updateCards,
  updateMoveIn,
} from '../../store/move-in.ts';
import { readProgramRules, toRulesNow } from '../../store/program.ts';
import { readTransfersForChange } from '../../store/transfers/transfer.ts';
import { actorOf, auditOf } from '../audit/audit.ts';
import { LockedAccounts, ReleasedHolds } from './locked-accounts.ts';
import { loadMoveIn, requireMoveIn, toMoveInRecord } from './move-ins.ts';

type UndoCall = Call<'undo_move_in'>;

/** Limits the comparison of all cards before an undo begins. It took three seconds for a million cards on two cores. */
const SURVEY_MILLISECONDS = 20_000;

type LoadName = 'names' | 'moveIns' | 'accounts' | 'rules' | 'cards' | 'transfers';

/** The move-in after a portion of its lines was undone. `isOutdated`: another request has changed it since its lines were read. */
type Undone = { readonly moveIn: MoveIn; readonly hasMoved: boolean; readonly isOutdated: boolean };

/**
 * undo_move_in: undoes the last lines that are not undone yet, at most {@link MAX_MOVE_IN_LINES}. Refuses to begin if money of a
 * card has moved since the move-in.
 */
export async function undoMoveIn(service: Service, call: UndoCall): Promise<Reply<'undo_move_in'>> {
  const { database } = service;
  for (;;) {
    const known = await loadMoveIn(service, call);
    if (known.status === 'undone') return { record: toMoveInRecord(known), moneyMoved: 'no' };
    const { moveInId, programId } = known;
    if (known.status !== 'undoing') {
      const found = await surveyRows(database, findUsedLine({ programId, moveInId }), SURVEY_MILLISECONDS);
      if (found === undefined) {
        throw new OperationFailure('the cards of a move-in could not be compared in time', { moneyMoved: 'no' });
      }
      if (found[0] !== undefined) throw refuseUsed(toUsedLine(found[0]));
    }
    const last = known.linesReceived - known.linesUndone;
    const first = Math.max(1, last - MAX_MOVE_IN_LINES + 1);
    const lines = (await readRows(database, readMoveInLines({ programId, moveInId, first, last }))).map(toLineWithCard);
    const names = [...new Set(lines.map(({ cardName }) => cardName))];
    const transfers = lines.flatMap(({ transferId }) => (transferId === null ? [] : [{ programId, transferId }]));
    const { moveIn, hasMoved, isOutdated } = await transact<Undone, LoadName>(
      service.ofProgram(programId),
      call.deadline,
      {
        names: shareSwitchAndLockNames([], 'wait'),
        moveIns: lockMoveIn({ programId, moveInId }),
        accounts: lockAccountsOfMoveIn({ programId, names }),
        rules: readProgramRules([programId], false),
        cards: readCardsOfMoveIn({ programId, names }),
        transfers: transfers.length === 0 ? null : readTransfersForChange(transfers),
      },
      (loaded, batchId) => decide(call, known, lines, loaded, batchId),
    );
    if (!isOutdated) return { record: toMoveInRecord(moveIn), moneyMoved: hasMoved ? 'yes' : 'no' };
  }
}

function refuseUsed(used: {
  readonly lineNumber: number;
  readonly cardName: string;
  readonly amount: bigint;
  readonly balance: bigint;
  readonly currency: string;
  readonly isClosed: boolean;
  readonly laterMoveIn: string | null;
}): Refusal {
  const { lineNumber, cardName, amount, balance, currency, isClosed, laterMoveIn } = used;
  if (laterMoveIn !== null) {
    const later = toWireId('mvi', laterMoveIn);
    return new Refusal(
      'move_in_used',
      `The move-in ${later} has changed the card '${cardName}' of line ${lineNumber} since. Undo that one first.`,
    );
  }
  if (isClosed) {
    const message = `The card '${cardName}' of line ${lineNumber} was closed since, so its balance cannot change back. Continue without undoing this move-in.`;
    return new Refusal('move_in_used', message);
  }
  const message =
    balance === amount
      ? `The card '${cardName}' of line ${lineNumber} has transfers that are not from the move-in. Reverse or cancel them first.`
      : `The card '${cardName}' of line ${lineNumber} has ${formatMoney(balance, currency)}, and had ${formatMoney(amount, currency)} when it moved in. Reverse or cancel its transfers first.`;
  return new Refusal('move_in_used', message);
}

function decide(
  call: UndoCall,
  known: MoveIn,
  lines: readonly LineWithCard[],
  loaded: Loaded<LoadName>,
  batchId: string,
): Decision<Undone> {
  const before = requireMoveIn(call, loaded.moveIns[0]);
  if (before.linesUndone !== known.linesUndone || before.linesReceived !== known.linesReceived) {
    return { result: { moveIn: before, hasMoved: false, isOutdated: true }, writes: [], readsOnly: true };
  }
  const books = new Books(before, loaded);
  for (const line of lines) books.undo(line);
  const linesUndone = before.linesUndone + lines.length;
  const { now } = books;
  const moveIn: MoveIn = {
    ...before,
    linesUndone,
    status: linesUndone === before.linesReceived ? 'undone' : 'undoing',
    totals: withLines(before.totals, books.counted, -1),
    undoneAt: before.undoneAt ?? now,
    undoneBy: before.undoneBy ?? actorOf(call.caller),
    undoNote: before.undoNote ?? withoutSecrets(call.body.note, MAX_NOTE_CHARACTERS),
  };
  const record = toMoveInRecord(moveIn);
  const { programId } = before;
  const details = JSON.stringify({ lines_undone: linesUndone, status: moveIn.status, note: moveIn.undoNote });
  const audited = auditOf(call, { programId, subjectId: record.move_in_id, details });
  const last = before.linesReceived - before.linesUndone;
  const { moveInId } = before;
  const marked =
    lines.length === 0 ? [] : [markLinesUndone({ programId, moveInId, first: last - lines.length + 1, last })];
  return {
    result: { moveIn, hasMoved: books.accounts.postings.length > 0, isOutdated: false },
    writes: [...books.writes(call, batchId), ...marked, updateMoveIn(moveIn), ...audited],
  };
}

/** The books of a card program while lines are undone, one after the other, from the last one on. */
class Books {
  readonly now: number;
  readonly counted: CountedLine[] = [];
  readonly accounts: LockedAccounts;
  readonly #programId: string;
  readonly #moveInId: string;
  readonly #reading: ReturnType<typeof toRulesNow>;
  readonly #cards: ReadonlyMap<string, CardOfMoveIn>;
  readonly #released: ReleasedHolds;
  readonly #closed: CardDetails[] = [];

  constructor({ programId, moveInId }: MoveIn, loaded: Loaded<LoadName>) {
    const [row] = loaded.rules;
    if (row === undefined) throw new Error('the card program of a move-in does not exist');
    this.#programId = programId;
    this.#moveInId = moveInId;
    this.#reading = toRulesNow(row);
    this.now = this.#reading.now;
    this.accounts = new LockedAccounts(loaded.accounts);
    this.#cards = new Map(loaded.cards.map((found) => toCardOfMoveIn(found)).map((one) => [one.card.cardId, one]));
    this.#released = new ReleasedHolds(programId, this.#reading, loaded.transfers, this.accounts);
  }

  /**
   * Undoes a line: cancels its hold, takes its balance or its change back, or frees its reference. A released hold stays released, and
   * an idempotency key stays kept.
   */
  undo(line: LineWithCard): void {
    const details = this.#cards.get(line.cardId);
    if (details === undefined) throw new Error('the card of a line does not exist');
    const kind = kindOf(line);
    if (kind === 'card') this.#close(details, line);
    else if (kind === 'hold') this.#cancel(line.transferId ?? '', details, line);
    else if (kind === 'change') this.#changeBack(details, line);
    this.counted.push({ kind, currency: details.card.currency, amount: line.amount });
  }

  #cancel(transferId: string, details: CardOfMoveIn, line: LineWithCard): void {
    const transfer = this.#released.transfer(transferId);
    if (transfer === undefined) throw new Error('the transfer of a line does not exist');
    if (transfer.capturedAmount > transfer.reversedAmount) throw this.#refuse(details, line);
    // A hold that was canceled or has expired holds nothing.
    this.#released.release(transferId, details.card);
  }

  /** Takes the change of a balance back. */
  #changeBack(details: CardOfMoveIn, line: LineWithCard): void {
    const { card, hasMoved, movedBy } = details;
    const account = this.accounts.get(card.accountId);
    const posted = changeBalance(account, this.accounts.ofProgram('world', account.currency), -line.amount);
    // On the way to the end of its own move-in, a closed card has its opening balance again for a moment.
    const isClosed = card.status === 'closed' && movedBy !== this.#moveInId;
    if (hasMoved || isClosed || posted === undefined) throw this.#refuse(details, line, isClosed);
    this.accounts.post(posted, card);
  }

  #refuse({ card }: CardOfMoveIn, { lineNumber, cardName }: LineWithCard, isClosed = false): Refusal {
    const { balance, currency } = this.accounts.get(card.accountId);
    return refuseUsed({ lineNumber, cardName, amount: balance, balance, currency, isClosed, laterMoveIn: null });
  }

  #close({ card, hasMoved, ...shown }: CardOfMoveIn, { lineNumber, cardName, amount }: LineWithCard): void {
    const account = this.accounts.get(card.accountId);
    const { balance, currency } = account;
    const isUsed = balance !== amount || hasMoved || account.held !== 0n || account.incoming !== 0n;
    if (isUsed) {
      throw refuseUsed({ lineNumber, cardName, amount, balance, currency, isClosed: false, laterMoveIn: null });
    }
    const posted = changeBalance(account, this.accounts.ofProgram('world', currency), -balance);
    if (posted !== undefined) this.accounts.post(posted, card);
    this.#closed.push({
      ...shown,
      card: { ...card, status: 'closed' },
      account: this.accounts.get(card.accountId),
      updatedAt: new Date(this.now),
    });
  }

  /** Returns the writes of all lines. */
  writes(call: UndoCall, batchId: string): readonly Statement[] {
    const { now } = this;
    const programId = this.#programId;
    const events = [
      ...this.#released.events(),
      ...this.#closed.map((details) => ({
        type: 'card.updated' as const,
        programId,
        subjectId: details.card.name,
        payload: JSON.stringify(toCardRecord(details)),
      })),
    ];
    return [
      ...this.#released.writes(),
      ...(this.#closed.length === 0 ? [] : [updateCards(this.#closed)]),
      ...this.accounts.writes(now),
      ...(events.length === 0 ? [] : [insertEvents(batchId, events, now, call)]),
    ];
  }
}
