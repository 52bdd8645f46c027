import { hash } from 'node:crypto';
import { type ReadLine, readMoveInLine } from '../../../contract/reading/read-move-in-line.ts';
import { type Card, newAccountOf } from '../../../domain/cards/card.ts';
import type { RefusalCode } from '../../../domain/error-codes.ts';
import type { DomainEvent } from '../../../domain/event.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { type Account, available, canGive, canTake } from '../../../domain/ledger/ledger.ts';
import { formatMoney, MAXIMUM_BALANCE } from '../../../domain/ledger/money.ts';
import { type CountedLine, changeBalance, exceeding, LINE_REFUSALS, withLines } from '../../../domain/move-in.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { begin, countsOf } from '../../../domain/transfers/create-transfer.ts';
import { type Hold, newTransfer, plainTerms, type Transfer } from '../../../domain/transfers/transfer.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { loadProgram } from '../../calls/program.ts';
import { toCardRecord } from '../../calls/records/card.ts';
import { creatorOf, toTransferRecord } from '../../calls/records/transfer.ts';
import { storedKeyOf } from '../../calls/responses/stored-key.ts';
import { ensureFunding } from '../../commit/ensure-funding.ts';
import { transact } from '../../commit/transaction.ts';
import { databaseTime } from '../../foundation/database-clock.ts';
import { idAt } from '../../foundation/ids.ts';
import { type CardDetails, deleteCardMetadata, insertCardMetadata } from '../../store/card.ts';
import type { Decision, Loaded, Statement } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import {
  insertStoredResponses,
  type KeyedResponse,
  type KeyInScope,
  keyInScope,
  readStoredResponses,
  toStoredResponses,
} from '../../store/idempotency.ts';
import { type CounterChangeOf, insertCounters, sumChanges, updateCounters } from '../../store/ledger/limits.ts';
import { shareSwitchAndLockNames } from '../../store/locks.ts';
import {
  type CardOfMoveIn,
  insertCardAccounts,
  insertCards,
  insertMoveInLines,
  kindOf,
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
import {
  insertHolds,
  insertOpenTransfers,
  REFERENCE_TAKER,
  readReferences,
  readTransfersForChange,
  takerId,
} from '../../store/transfers/transfer.ts';
import { auditOf } from '../audit/audit.ts';
import { LockedAccounts, ReleasedHolds } from './locked-accounts.ts';
import { loadMoveIn, requireMoveIn, toMoveInRecord } from './move-ins.ts';

// Invariant: A line of a move-in takes effect once
// Kept by: the lock of the move-in, which counts its lines in the same transaction
// Tested by: `test/crashes/move-in-kills.test.ts`

type AddCall = Call<'add_move_in_lines'>;

/** A line and its number in the file. `at` is its JSON pointer in the request. */
type NumberedLine = { readonly line: ReadLine; readonly number: number; readonly at: string };

type LoadName =
  | ('names' | 'moveIns' | 'stored' | 'accounts' | 'rules' | 'cards')
  | ('references' | 'responses' | 'transfers');

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
  const cards = lines.flatMap(({ line }) => (line.kind === 'card' ? [line] : []));
  for (const currency of new Set(cards.map((line) => line.currency ?? program.currency))) {
    await ensureFunding(service, call, programId, currency);
  }
  const names = [...new Set(lines.map(({ line }) => line.card_id))];
  const references = lines.flatMap(({ line }) => ('reference' in line ? (line.reference ?? []) : []));
  const keys = lines.flatMap(({ line }) => keyOf(programId, line) ?? []);
  const released = lines.flatMap(({ line }) => releasedId(line) ?? []);
  const load: Record<LoadName, Statement | null> = {
    names: shareSwitchAndLockNames(
      [
        ...cards.map((line) => ({ programId, kind: 'card' as const, name: line.card_id })),
        ...references.map((name) => ({ programId, kind: 'reference' as const, name })),
        ...keys,
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
    responses: keys.length === 0 ? null : readStoredResponses(keys),
    transfers:
      released.length === 0 ? null : readTransfersForChange(released.map((transferId) => ({ programId, transferId }))),
  };
  const { moveIn, hasMoved } = await transact<Added, LoadName>(
    service.ofProgram(programId),
    call.deadline,
    load,
    (loaded, batchId) => decide(call, program, lines, loaded, batchId),
  );
  return { record: toMoveInRecord(moveIn), moneyMoved: hasMoved ? 'yes' : 'no' };
}

/** The idempotency key that a line keeps, in the scope of create_transfer. */
function keyOf(programId: string, line: ReadLine): KeyInScope | undefined {
  if (line.kind !== 'transfer' || line.idempotency_key === undefined) return undefined;
  return keyInScope(programId, 'create_transfer', storedKeyOf(line.idempotency_key));
}

/** The inner UUID of the hold that a line releases. Undefined for other lines, and for an id of another form. */
function releasedId(line: ReadLine): string | undefined {
  return line.kind === 'release' ? fromWireId('tr', line.transfer_id) : undefined;
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
  refuseExcess(call, moveIn, books.counted);
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

/**
 * Refuses lines that exceed the stated sums, because an approval of the move-in is for these sums only. For the same reason, refuses
 * lines that lower balances: others could add the same money again, without end.
 */
function refuseExcess(call: AddCall, { statedTotals, totals }: MoveIn, lines: readonly CountedLine[]): void {
  if (statedTotals === null) return;
  if (lines.some(({ kind, amount }) => kind === 'change' && amount < 0n)) {
    const message =
      "A line lowers the balance of a card, but the move-in has 'totals'. Undo it, and create it again without them.";
    throw schemaRefusal(call, message, '/lines');
  }
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
    if (before === undefined || isStored(line, before)) continue;
    const what = {
      card: 'a line for',
      hold: 'a hold on',
      transfer: 'a transfer of',
      change: 'a change of',
      release: 'the release of a hold on',
    };
    const message = `Line ${number} is another one than before: ${what[kindOf(before)]} the card '${before.cardName}' has taken effect. Was the file changed? To move another file in, undo this one first.`;
    throw schemaRefusal(call, message, at);
  }
}

function isStored(line: ReadLine, stored: LineWithCard): boolean {
  if (line.kind !== kindOf(stored) || line.card_id !== stored.cardName) return false;
  switch (line.kind) {
    case 'card':
      return stored.amount === BigInt(line.balance);
    case 'hold':
      return stored.amount === BigInt(line.amount);
    case 'transfer': {
      const keyHash = keyOf(stored.programId, line)?.keyHash ?? null;
      return stored.reference === (line.reference ?? null) && stored.keyHash === keyHash;
    }
    case 'change':
      return stored.amount === BigInt(line.balance) - BigInt(line.balance_before);
    case 'release':
      return stored.transferId === releasedId(line);
  }
}

/** What a request with a key of the old ledger gets. */
const KEY_OF_OLD_LEDGER = {
  fingerprint: hash('sha256', 'a request to the old ledger'),
  meaning: null,
  status: 409,
  subjectId: null,
  body: null,
  code: 'idempotency_key_exists',
  message:
    'This Idempotency-Key was used in the ledger that the card moved in from. Its request may have been carried out there. Look there before you send it with a new key.',
  field: null,
  eventIndex: null,
} as const;

/** Returns the refusal of a line. `field` is a JSON pointer in the line. */
function refuse(
  { number, at }: Pick<NumberedLine, 'number' | 'at'>,
  code: keyof typeof LINE_REFUSALS & RefusalCode,
  message: string,
  field: string,
): Refusal {
  return new Refusal(code, `Line ${number}: ${message}`, { field: `${at}${field}` });
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
  readonly #responses: ReturnType<typeof toStoredResponses>;
  readonly #released: ReleasedHolds;
  readonly #keys: KeyedResponse[] = [];
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
    const { now, rules, switches } = toRulesNow(row);
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
      loaded.references
        .map((found) => REFERENCE_TAKER.read(found))
        .map((taker) => [
          taker.reference,
          taker.movedIn ? `a line of the move-in ${takerId(taker)}` : `the transfer ${takerId(taker)}`,
        ]),
    );
    this.#responses = toStoredResponses(loaded.responses);
    this.#released = new ReleasedHolds(program.programId, { now, rules, switches }, loaded.transfers, this.accounts);
  }

  /** Adds a line. Returns what is stored about it. */
  add(numbered: NumberedLine): Omit<StoredLine, 'programId' | 'moveInId'> {
    const { line, number } = numbered;
    const nothing = { lineNumber: number, kind: null, transferId: null, reference: null, keyHash: null };
    if (line.kind === 'card') return { ...nothing, ...this.#addCard(numbered, line) };
    const details = this.#cards.get(line.card_id);
    if (details === undefined || details.card.status === 'closed' || details.card.connectorId !== null) {
      throw refuse(numbered, 'card_not_found', LINE_REFUSALS.card_not_found(line.card_id), '/card_id');
    }
    const { card } = details;
    this.#refuseEarlier(numbered, details);
    const about = { ...nothing, cardId: card.cardId };
    if (line.kind === 'hold') return { ...about, ...this.#addHold(numbered, line, card) };
    const { kind } = line;
    if (kind === 'change') return { ...about, kind, amount: this.#change(numbered, line, card) };
    if (kind === 'release') return { ...about, kind, ...this.#release(numbered, line, card) };
    return { ...about, kind, reference: line.reference ?? null, keyHash: this.#keep(numbered, line), amount: 0n };
  }

  /** Refuses a line about a card that a newer move-in is about, because move-ins of a card are undone from the newest one on. */
  #refuseEarlier({ number, at }: NumberedLine, { card: { name }, latestMoveIn }: CardOfMoveIn): void {
    if (latestMoveIn === null || latestMoveIn <= this.#moveInId) return;
    const newer = toWireId('mvi', latestMoveIn);
    const message = `Line ${number}: the move-in ${newer}, which is newer than this one, has a line about the card '${name}'. Undo this move-in, and create it again.`;
    throw schemaRefusal(this.#call, message, `${at}/card_id`);
  }

  #addCard(
    { number, at }: NumberedLine,
    line: Extract<ReadLine, { readonly kind: 'card' }>,
  ): Pick<StoredLine, 'cardId' | 'amount'> {
    const name = line.card_id;
    const known = this.#cards.get(name);
    if (known !== undefined && !known.isLeftBehind) {
      throw refuse({ number, at }, 'duplicate_card', LINE_REFUSALS.duplicate_card(name), '/card_id');
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
    const moved = { movedBy: this.#moveInId, latestMoveIn: this.#moveInId, hasMoved: false };
    this.#cards.set(name, { ...details, ...moved, isLeftBehind: false });
    (known === undefined ? this.#created : this.#reopened).push(details);
    const type = known === undefined ? ('card.created' as const) : ('card.updated' as const);
    this.#events.push({ type, programId, subjectId: name, payload: JSON.stringify(toCardRecord(details)) });
    this.counted.push({ kind: 'card', currency, amount });
    return { cardId: card.cardId, amount };
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
    const posted = changeBalance(account, this.accounts.ofProgram('world', card.currency), amount);
    if (posted === undefined) {
      throw refuse({ number, at }, 'limit_exceeded', LINE_REFUSALS.limit_exceeded(card.currency), '/balance');
    }
    this.accounts.post(posted, card);
    return posted.destination;
  }

  /** Changes the balance of a card. Returns by how much. */
  #change(numbered: NumberedLine, line: Extract<ReadLine, { readonly kind: 'change' }>, card: Card): bigint {
    const account = this.accounts.get(card.accountId);
    const { currency } = card;
    const by = BigInt(line.balance) - BigInt(line.balance_before);
    if (account.balance !== BigInt(line.balance_before)) {
      const message = `Line ${numbered.number}: the card '${card.name}' has ${formatMoney(account.balance, currency)}, and not the ${formatMoney(BigInt(line.balance_before), currency)} of 'balance_before'.`;
      throw schemaRefusal(this.#call, message, `${numbered.at}/balance_before`);
    }
    const posted = changeBalance(account, this.accounts.ofProgram('world', currency), by);
    if (posted === undefined && by > 0n) {
      throw refuse(numbered, 'limit_exceeded', LINE_REFUSALS.limit_exceeded(currency), '/balance');
    }
    if (posted === undefined) {
      const message = LINE_REFUSALS.too_little_available(card.name, currency, available(account), -by);
      throw refuse(numbered, 'insufficient_funds', message, '/balance');
    }
    this.accounts.post(posted, card);
    this.counted.push({ kind: 'change', currency, amount: by });
    return by;
  }

  /** Releases a hold on a card, as a cancellation does. */
  #release(
    numbered: NumberedLine,
    line: Extract<ReadLine, { readonly kind: 'release' }>,
    card: Card,
  ): Pick<StoredLine, 'transferId' | 'amount'> {
    const transferId = releasedId(line) ?? '';
    const reference = this.#released.transfer(transferId)?.reference ?? null;
    const amount = this.#released.release(transferId, card);
    if (amount === undefined) {
      const message = `Line ${numbered.number}: the transfer ${line.transfer_id} is not an open hold on the card '${card.name}'.`;
      throw schemaRefusal(this.#call, message, `${numbered.at}/transfer_id`);
    }
    // A canceled transfer frees its reference, for a hold with another amount in a later line.
    if (reference !== null) this.#takenBy.delete(reference);
    this.counted.push({ kind: 'release', currency: card.currency, amount });
    return { transferId, amount };
  }

  /** Keeps the reference and the idempotency key of a finished transfer of the old ledger. Returns the hash of the key. */
  #keep(numbered: NumberedLine, line: Extract<ReadLine, { readonly kind: 'transfer' }>): string | null {
    const { programId } = this.#program;
    const moveIn = `a line of the move-in ${toWireId('mvi', this.#moveInId)}`;
    if (line.reference !== undefined) this.#takeReference(numbered, line.reference, moveIn);
    const key = keyOf(programId, line);
    if (key === undefined) return null;
    const known = this.#responses.get(key.keyHash);
    // A move-in that was undone has stored the key before.
    const isFromMoveIn = known?.code === 'idempotency_key_exists';
    const isTwice = this.#keys.some(({ keyHash }) => keyHash === key.keyHash);
    if (isTwice || (known !== undefined && !isFromMoveIn)) {
      const taker = isTwice ? 'an earlier line' : 'a request to this service';
      const message = LINE_REFUSALS.key_taken(line.idempotency_key ?? '', taker);
      throw schemaRefusal(this.#call, `Line ${numbered.number}: ${message}`, `${numbered.at}/idempotency_key`);
    }
    if (known === undefined) this.#keys.push({ ...key, ...KEY_OF_OLD_LEDGER, requestId: this.#call.requestId });
    return key.keyHash;
  }

  #takeReference(numbered: Pick<NumberedLine, 'number' | 'at'>, reference: string, taker: string): void {
    const before = this.#takenBy.get(reference);
    if (before !== undefined) {
      throw refuse(numbered, 'duplicate_reference', LINE_REFUSALS.duplicate_reference(reference, before), '/reference');
    }
    this.#takenBy.set(reference, taker);
  }

  #addHold(
    { number, at }: NumberedLine,
    line: Extract<ReadLine, { readonly kind: 'hold' }>,
    card: Card,
  ): Pick<StoredLine, 'transferId' | 'amount'> {
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
    return { transferId: transfer.transferId, amount };
  }

  #refuseHold(
    { name, currency }: Card,
    { source, destination }: { readonly source: Account; readonly destination: Account },
    amount: bigint,
    { number, at }: Pick<NumberedLine, 'number' | 'at'>,
  ): void {
    if (!canTake(source, amount)) {
      const message = LINE_REFUSALS.insufficient_funds(name, currency, available(source), amount);
      throw refuse({ number, at }, 'insufficient_funds', message, '/amount');
    }
    if (!canGive(destination, amount)) {
      const message = `the holds of the card program would exceed ${formatMoney(MAXIMUM_BALANCE, currency)}.`;
      throw refuse({ number, at }, 'limit_exceeded', message, '/amount');
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
    if (reference !== null)
      this.#takeReference({ number, at }, reference, `the transfer ${toWireId('tr', transferId)}`);
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
    const events = [...this.#events, ...this.#released.events()];
    const cards = [...this.#created, ...this.#reopened];
    return [
      ...(newAccounts.length === 0 ? [] : [insertCardAccounts({ sent: newAccounts, now })]),
      ...(this.#created.length === 0 ? [] : [insertCards(this.#created)]),
      ...(this.#reopened.length === 0 ? [] : [updateCards(this.#reopened)]),
      ...this.#reopened.map(({ card }) => deleteCardMetadata(card)),
      ...insertCardMetadata(cards),
      // Before the new holds, which can have the references of released ones.
      ...this.#released.writes(),
      ...(this.#transfers.length === 0
        ? []
        : [
            insertOpenTransfers(this.#transfers),
            insertHolds(this.#holds),
            mergeWrites([updateCounters(counts), insertCounters(counts)]),
          ]),
      ...this.accounts.writes(now),
      ...(this.#keys.length === 0 ? [] : [insertStoredResponses(this.#keys, batchId, now)]),
      ...(events.length === 0 ? [] : [insertEvents(batchId, events, now, this.#call)]),
    ];
  }
}
