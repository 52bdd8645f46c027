import { type ReadLine, readMoveInLine } from '../../../contract/reading/read-move-in-line.ts';
import { type Card, newAccountOf } from '../../../domain/cards/card.ts';
import type { DomainEvent } from '../../../domain/event.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { type Account, available, canGive, canTake } from '../../../domain/ledger/ledger.ts';
import { formatMoney, MAXIMUM_BALANCE } from '../../../domain/ledger/money.ts';
import { type CountedLine, exceeding, LINE_REFUSALS, openingBalance, withLines } from '../../../domain/move-in.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { begin, countsOf } from '../../../domain/transfers/create-transfer.ts';
import { type Hold, newTransfer, plainTerms, type Transfer } from '../../../domain/transfers/transfer.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { loadProgram } from '../../calls/program.ts';
import { toCardRecord } from '../../calls/records/card.ts';
import { creatorOf, toTransferRecord } from '../../calls/records/transfer.ts';
import { ensureFunding } from '../../commit/ensure-funding.ts';
import { transact } from '../../commit/transaction.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import { idAt } from '../../foundation/ids.ts';
import { type CardDetails, deleteCardMetadata, insertCardMetadata } from '../../store/card.ts';
import type { Decision, Loaded, Statement } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { type CounterChangeOf, insertCounters, sumChanges, updateCounters } from '../../store/ledger/limits.ts';
import { shareSwitchAndLockNames } from '../../store/locks.ts';
import {
  type CardOfMoveIn,
  insertCardAccounts,
  insertCards,
  insertMoveInLines,
  type LineWithCard,
  lockAccountsOfMoveIn,
  lockMoveIn,
  type MoveIn,
  readCardsOfMoveIn,
  readMoveInLines,
  type StoredLine,
  toCardOfMoveIn,
  toLineWithCard,
  updateCards,
  updateMoveIn,
} from '../../store/move-in.ts';
import { type Program, readProgramRules, toRulesNow } from '../../store/program.ts';
import { mergeWrites } from '../../store/sql.ts';
import { insertHolds, insertOpenTransfers, REFERENCE_TAKER, readReferences } from '../../store/transfers/transfer.ts';
import { auditOf } from '../audit/audit.ts';
import { LockedAccounts } from './locked-accounts.ts';
import { loadMoveIn, requireMoveIn, toMoveInRecord } from './move-ins.ts';

// Invariant: A line of a move-in takes effect once
// Kept by: the lock of the move-in, which counts its lines in the same transaction
// Tested by: `test/crashes/move-in-kills.test.ts`

type AddCall = Call<'add_move_in_lines'>;

/** A line and its number in the file. `at` is its JSON pointer in the request. */
type NumberedLine = { readonly line: ReadLine; readonly number: number; readonly at: string };

type LoadName = 'names' | 'moveIns' | 'stored' | 'accounts' | 'rules' | 'cards' | 'references';

type Added = { readonly moveIn: MoveIn; readonly hasMoved: boolean };

/**
 * add_move_in_lines: returns the move-in after these lines. All of them take effect, or none. Lines that have taken effect before
 * change nothing.
 */
export async function addMoveInLines(service: Service, call: AddCall): Promise<Reply<'add_move_in_lines'>> {
  const now = databaseTime();
  const { first_line: first, lines: sent } = call.body;
  const lines = sent.map((line, index): NumberedLine => {
    const reading = readMoveInLine(line, now);
    const place = { number: first + index, at: `/lines/${index}` };
    if (!('problem' in reading)) return { line: reading, ...place };
    const { message, field, code } = reading.problem;
    const text = `Line ${place.number}: ${message}`;
    if (code === 'card_number_refused') throw new Refusal(code, text, { field: `${place.at}${field}` });
    throw schemaRefusal(call, text, `${place.at}${field}`);
  });
  const { moveInId, programId } = await loadMoveIn(service, call);
  const program = await loadProgram(service, toWireId('prog', programId));
  for (const currency of new Set(lines.flatMap(({ line }) => currencyOf(line, program)))) {
    await ensureFunding(service, call, programId, currency);
  }
  const names = [...new Set(lines.map(({ line }) => line.card_id))];
  const created = lines.flatMap(({ line }) => (line.kind === 'card' ? [line.card_id] : []));
  const references = lines.flatMap(({ line }) => (line.kind === 'hold' ? (line.reference ?? []) : []));
  const load: Record<LoadName, Statement | null> = {
    names: shareSwitchAndLockNames(
      [
        ...created.map((name) => ({ programId, kind: 'card' as const, name })),
        ...references.map((name) => ({ programId, kind: 'reference' as const, name })),
      ],
      'wait',
    ),
    moveIns: lockMoveIn({ programId, moveInId }),
    stored: readMoveInLines({ programId, moveInId, first, last: first + lines.length - 1 }),
    accounts: lockAccountsOfMoveIn({ programId, names }),
    rules: readProgramRules([programId], false),
    cards: readCardsOfMoveIn({ programId, names }),
    references:
      references.length === 0 ? null : readReferences(references.map((reference) => ({ programId, reference }))),
  };
  const { moveIn, hasMoved } = await transact<Added, LoadName>(
    service.ofProgram(programId),
    call.deadline,
    load,
    (loaded, batchId) => decide(call, program, lines, loaded, batchId),
  );
  return { record: toMoveInRecord(moveIn), moneyMoved: hasMoved ? 'yes' : 'no' };
}

function currencyOf(line: ReadLine, program: Program): readonly string[] {
  return line.kind === 'card' ? [line.currency ?? program.currency] : [];
}

function decide(
  call: AddCall,
  program: Program,
  lines: readonly NumberedLine[],
  loaded: Loaded<LoadName>,
  batchId: string,
): Decision<Added> {
  const before = requireMoveIn(call, loaded.moveIns[0]);
  refusePlace(call, before, lines.at(-1)?.number ?? 0);
  refuseOtherLines(call, lines, loaded.stored.map(toLineWithCard));
  const added = lines.filter(({ number }) => number > before.linesReceived);
  if (added.length === 0) return { result: { moveIn: before, hasMoved: false }, writes: [], readsOnly: true };
  const books = new Books(call, program, before.moveInId, loaded);
  const stored = added.map(
    (line): StoredLine => ({ programId: before.programId, moveInId: before.moveInId, ...books.add(line) }),
  );
  const linesReceived = before.linesReceived + added.length;
  const isWhole = linesReceived === before.lineCount;
  const moveIn: MoveIn = {
    ...before,
    linesReceived,
    totals: withLines(before.totals, books.counted, 1),
    status: isWhole ? 'moved' : before.status,
    movedAt: isWhole ? books.now : null,
  };
  refuseExcess(call, moveIn);
  const { programId } = before;
  const details = JSON.stringify({ first_line: before.linesReceived + 1, lines_received: linesReceived });
  const audited = auditOf(call, { programId, subjectId: toWireId('mvi', before.moveInId), details });
  return {
    result: { moveIn, hasMoved: books.accounts.postings.length > 0 },
    writes: [...books.writes(batchId), insertMoveInLines(stored), updateMoveIn(moveIn), ...audited],
  };
}

/** Refuses lines for an undone move-in, and lines that leave a gap or that are beyond the end of the file. */
function refusePlace(call: AddCall, { status, linesReceived, lineCount }: MoveIn, last: number): void {
  const { first_line: first } = call.body;
  if (status === 'undoing' || status === 'undone') {
    const message = `The move-in '${call.params.move_in_id}' was undone. Create it again.`;
    throw new Refusal('move_in_undone', message);
  }
  if (first > linesReceived + 1) {
    const message = `The next line of the file is ${linesReceived + 1}, and you sent lines from ${first} on.`;
    throw schemaRefusal(call, message, '/first_line');
  }
  if (last > lineCount) {
    const message = `The file has ${lineCount} lines, as its line_count says, and you sent lines up to ${last}.`;
    throw schemaRefusal(call, message, '/lines');
  }
}

/** Refuses lines that exceed the stated sums, because an approval of the move-in is for these sums only. */
function refuseExcess(call: AddCall, { statedTotals, totals }: MoveIn): void {
  if (statedTotals === null) return;
  const currency = exceeding(statedTotals, totals);
  if (currency === undefined) return;
  const message = `With these lines, the cards or holds in ${currency} would exceed the sums that 'totals' of the move-in states.`;
  throw schemaRefusal(call, message, '/lines');
}

/** Refuses lines that differ from those that have taken effect under their numbers, because the file was changed. */
function refuseOtherLines(call: AddCall, lines: readonly NumberedLine[], stored: readonly LineWithCard[]): void {
  const known = new Map(stored.map((line) => [line.lineNumber, line]));
  for (const { line, number, at } of lines) {
    const before = known.get(number);
    if (before === undefined) continue;
    const amount = BigInt(line.kind === 'card' ? line.balance : line.amount);
    const isHold = before.transferId !== null;
    if (before.cardName === line.card_id && before.amount === amount && isHold === (line.kind === 'hold')) continue;
    const message = `Line ${number} is another one than before: a ${isHold ? 'hold on' : 'line for'} the card '${before.cardName}' has taken effect. Was the file changed? To move another file in, undo this one first.`;
    throw schemaRefusal(call, message, at);
  }
}

/** The books of a card program while the lines of a request are added, one after the other. */
class Books {
  readonly now: number;
  readonly counted: CountedLine[] = [];
  readonly #call: AddCall;
  readonly #program: Program;
  readonly #rules: ReturnType<typeof toRulesNow>['rules'];
  readonly accounts: LockedAccounts;
  readonly #moveInId: string;
  readonly #cards: Map<string, CardOfMoveIn>;
  readonly #takenBy: Map<string, string>;
  readonly #created: CardDetails[] = [];
  readonly #reopened: CardDetails[] = [];
  readonly #createdAccounts = new Map<string, string>();
  readonly #transfers: Transfer[] = [];
  readonly #holds: Hold[] = [];
  readonly #counts: CounterChangeOf[] = [];
  readonly #events: DomainEvent[] = [];

  constructor(call: AddCall, program: Program, moveInId: string, loaded: Loaded<LoadName>) {
    const [row] = loaded.rules;
    if (row === undefined) throw new Error('the card program of a move-in does not exist');
    const { now, rules } = toRulesNow(row);
    this.now = now;
    this.#call = call;
    this.#program = program;
    this.#rules = rules;
    this.accounts = new LockedAccounts(loaded.accounts);
    this.#moveInId = moveInId;
    // A card that was created after the accounts were locked counts as missing.
    const cards = loaded.cards.map((found) => toCardOfMoveIn(found));
    this.#cards = new Map(
      cards.filter(({ card }) => this.accounts.has(card.accountId)).map((one) => [one.card.name, one]),
    );
    this.#takenBy = new Map(
      loaded.references.map((found) => REFERENCE_TAKER.read(found)).map((taker) => [taker.reference, taker.transferId]),
    );
  }

  /** Adds a line. Returns what is stored about it. */
  add(numbered: NumberedLine): Omit<StoredLine, 'programId' | 'moveInId'> {
    return numbered.line.kind === 'card'
      ? this.#addCard(numbered, numbered.line)
      : this.#addHold(numbered, numbered.line);
  }

  #addCard(
    { number, at }: NumberedLine,
    line: Extract<ReadLine, { readonly kind: 'card' }>,
  ): Omit<StoredLine, 'programId' | 'moveInId'> {
    const name = line.card_id;
    const known = this.#cards.get(name);
    if (known !== undefined && !known.isLeftBehind) {
      const message = `Line ${number}: ${LINE_REFUSALS.duplicate_card(name)}`;
      throw new Refusal('duplicate_card', message, { field: `${at}/card_id` });
    }
    const { programId } = this.#program;
    const currency = line.currency ?? this.#program.currency;
    if (known !== undefined && known.card.currency !== currency) {
      const message = `Line ${number}: the card '${name}' was moved in with ${known.card.currency} before, and cannot change its currency. Choose another id for it.`;
      throw schemaRefusal(this.#call, message, `${at}/currency`);
    }
    const card: Card = {
      programId,
      cardId: known?.card.cardId ?? idAt(this.now, 0),
      name,
      status: line.status ?? 'active',
      currency,
      accountId: known?.card.accountId ?? idAt(this.now, 1),
      fundingAccountId: this.accounts.ofProgram('funding', currency).accountId,
      expiresOn: line.expires_on ?? null,
      limits: null,
      connectorId: null,
    };
    const amount = BigInt(line.balance);
    const account = this.#open(card, amount, known === undefined ? undefined : this.accounts.get(card.accountId), {
      number,
      at,
    });
    const details: CardDetails = {
      card,
      today: this.#rules.today,
      account,
      holderReference: line.holder_reference ?? null,
      lastFour: line.last_four ?? null,
      metadata: line.metadata ?? {},
      createdAt: known?.createdAt ?? new Date(this.now),
      updatedAt: new Date(this.now),
    };
    this.#cards.set(name, { ...details, isLeftBehind: false, movedBy: this.#moveInId, hasMoved: false });
    (known === undefined ? this.#created : this.#reopened).push(details);
    const type = known === undefined ? ('card.created' as const) : ('card.updated' as const);
    this.#events.push({ type, programId, subjectId: name, payload: JSON.stringify(toCardRecord(details)) });
    this.counted.push({ kind: 'card', currency, amount });
    return { lineNumber: number, cardId: card.cardId, transferId: null, amount };
  }

  /** Gives the card's account its opening balance. Returns the account. `known` is the account of a card that moves in again. */
  #open(
    card: Card,
    amount: bigint,
    known: Account | undefined,
    { number, at }: Pick<NumberedLine, 'number' | 'at'>,
  ): Account {
    const account = known ?? newAccountOf(card);
    if (known === undefined) {
      this.#createdAccounts.set(account.accountId, card.cardId);
      this.accounts.add(account);
    }
    if (amount === 0n) return account;
    const posted = openingBalance(this.accounts.ofProgram('world', card.currency), account, amount);
    if (posted === undefined) {
      const message = `Line ${number}: ${LINE_REFUSALS.limit_exceeded(card.currency)}`;
      throw new Refusal('limit_exceeded', message, { field: `${at}/balance` });
    }
    this.accounts.post(posted, card);
    return posted.destination;
  }

  #addHold(
    { number, at }: NumberedLine,
    line: Extract<ReadLine, { readonly kind: 'hold' }>,
  ): Omit<StoredLine, 'programId' | 'moveInId'> {
    const found = this.#cards.get(line.card_id);
    if (found?.movedBy !== this.#moveInId) {
      const message = `Line ${number}: ${LINE_REFUSALS.card_not_found(line.card_id)}`;
      throw new Refusal('card_not_found', message, { field: `${at}/card_id` });
    }
    const { card } = found;
    const amount = BigInt(line.amount);
    const ends = { source: this.accounts.get(card.accountId), destination: this.accounts.get(card.fundingAccountId) };
    this.#refuseHold(card, ends, amount, { number, at });
    const transfer = this.#toTransfer(card, line, amount, { number, at });
    const plan = begin(
      transfer,
      { card, ends },
      countsOf(transfer, { card, destinationCard: undefined }, { rules: this.#rules }),
    );
    if (plan.hold === null) throw new Error('a hold of a move-in holds nothing');
    const { programId } = card;
    for (const account of plan.accounts) this.accounts.change(account);
    this.#transfers.push(transfer);
    this.#holds.push(plan.hold);
    this.#counts.push(...plan.counts.map((change) => ({ programId, ...change })));
    const record = toTransferRecord(transfer);
    this.#events.push({
      type: plan.event,
      programId,
      subjectId: record.transfer_id,
      payload: JSON.stringify(record),
    });
    this.counted.push({ kind: 'hold', currency: card.currency, amount });
    return { lineNumber: number, cardId: card.cardId, transferId: transfer.transferId, amount };
  }

  #refuseHold(
    { name, currency }: Card,
    { source, destination }: { readonly source: Account; readonly destination: Account },
    amount: bigint,
    { number, at }: Pick<NumberedLine, 'number' | 'at'>,
  ): void {
    if (!canTake(source, amount)) {
      const message = `Line ${number}: ${LINE_REFUSALS.insufficient_funds(name, currency, available(source), amount)}`;
      throw new Refusal('insufficient_funds', message, { field: `${at}/amount` });
    }
    if (!canGive(destination, amount)) {
      const message = `Line ${number}: the holds of the card program would exceed ${formatMoney(MAXIMUM_BALANCE, currency)}.`;
      throw new Refusal('limit_exceeded', message, { field: `${at}/amount` });
    }
  }

  #toTransfer(
    card: Card,
    line: Extract<ReadLine, { readonly kind: 'hold' }>,
    amount: bigint,
    { number, at }: Pick<NumberedLine, 'number' | 'at'>,
  ): Transfer {
    const { now } = this;
    const { reference = null } = line;
    const transferId = idAt(now);
    if (reference !== null) {
      const taker = this.#takenBy.get(reference);
      if (taker !== undefined) {
        const message = `Line ${number}: ${LINE_REFUSALS.duplicate_reference(reference, `the transfer ${toWireId('tr', taker)}`)}`;
        throw new Refusal('duplicate_reference', message, { field: `${at}/reference` });
      }
      this.#takenBy.set(reference, transferId);
    }
    const creation = {
      ...{ programId: card.programId, transferId, requestId: this.#call.requestId, idempotencyKey: null },
      createdBy: creatorOf(this.#call.caller),
      now,
    };
    const terms = {
      ...plainTerms('unload', amount, card.name),
      ...{ currency: card.currency, reference, capture: 'manual' as const },
      expiresAt: Date.parse(line.expires_at),
    };
    return newTransfer(
      creation,
      terms,
      { description: line.description ?? null },
      { card, destinationCard: undefined },
    );
  }

  /** Returns the writes of all lines. */
  writes(batchId: string): readonly Statement[] {
    const { now } = this;
    const newAccounts = [...this.#createdAccounts].map(([accountId, ownerId]) => ({
      ...this.accounts.get(accountId),
      ownerId,
    }));
    const counts = sumChanges(this.#counts);
    const cards = [...this.#created, ...this.#reopened];
    return [
      ...(newAccounts.length === 0 ? [] : [insertCardAccounts({ sent: newAccounts, now })]),
      ...(this.#created.length === 0 ? [] : [insertCards(this.#created)]),
      ...(this.#reopened.length === 0 ? [] : [updateCards(this.#reopened)]),
      ...this.#reopened.map(({ card }) => deleteCardMetadata(card)),
      ...insertCardMetadata(cards),
      ...(this.#transfers.length === 0
        ? []
        : [
            insertOpenTransfers(this.#transfers),
            insertHolds(this.#holds),
            mergeWrites([updateCounters(counts), insertCounters(counts)]),
          ]),
      ...this.accounts.writes(now),
      insertEvents(batchId, this.#events, now, this.#call),
    ];
  }
}
