import { isDeepStrictEqual } from 'node:util';
import { MAX_NOTE_CHARACTERS } from '../../../contract/processors/attempts.ts';
import { fromWireId, toWireId } from '../../../domain/identifier.ts';
import { type Account, available, canGive, canTake, type Posted, post } from '../../../domain/ledger/ledger.ts';
import { formatMoney, MAXIMUM_BALANCE } from '../../../domain/ledger/money.ts';
import { type Booking, bookingsOf } from '../../../domain/processors/break.ts';
import { type BatchOrder, batchInWords, batchProblem, withFees } from '../../../domain/processors/settlement.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readOptionalAmount } from '../../calls/fields.ts';
import { loadProgram } from '../../calls/program.ts';
import { readRows } from '../../calls/read-rows.ts';
import { lowFunding } from '../../calls/records/event.ts';
import { toBreakRecord } from '../../calls/records/processor.ts';
import { transact } from '../../commit/transaction.ts';
import { newId } from '../../foundation/ids.ts';
import { withoutSecrets } from '../../foundation/redaction.ts';
import type { Row, Statement } from '../../store/connection/database.ts';
import { insertEvents } from '../../store/events/insert-events.ts';
import { insertPostings, toAccount, updateAccounts } from '../../store/ledger/account.ts';
import {
  type Break,
  type BreakLine,
  closeBreak as closeStatement,
  createLossAccount,
  lockAccountsOfBreak,
  lockBreak,
  readBreak,
  toBreak,
} from '../../store/processors/break.ts';
import {
  lockBatchOrders,
  lockBreaksOfAttempts,
  lockSettlementFile,
  markSettled,
  type SettlementFile,
  settleMissing,
  toBatchOrder,
  toSettlementFile,
  writeBatch,
} from '../../store/processors/settlement-file.ts';
import { readFundingThreshold, toFundingThreshold } from '../../store/program.ts';
import { actorOf, auditOf, withoutHolderValues } from '../audit/audit.ts';

/** A UUID that no break has. It is looked up instead of a malformed id. */
const NO_BREAK = '00000000-0000-0000-0000-000000000000';

const NO_ATTEMPT = NO_BREAK;

type CloseCall = Call<'close_break'>;

/** get_break: returns the break, or throws `break_not_found`. */
export async function getBreak({ database }: Service, { params }: Call<'get_break'>): Promise<Reply<'get_break'>> {
  const breakId = fromWireId('brk', params.break_id) ?? NO_BREAK;
  const { found, now } = requireBreak(params.break_id, await readRows(database, readBreak({ breakId })));
  return { record: toBreakRecord(found, now) };
}

// Invariant: The difference of a break is booked once, and only as listed in its bookings
// Kept by: the lock of the break, held while it is booked
// Tested by: `test/api/processors/breaks.test.ts`

/**
 * close_break: returns the closed break. If the caller names an account, the break's difference is booked against it. If the caller
 * names orders, the line of the break settles them. A break that is already closed keeps its first note, unless this request books
 * its difference or settles its orders.
 */
export async function closeBreak(service: Service, call: CloseCall): Promise<Reply<'close_break'>> {
  const { note, book_against: against, amount: sent } = call.body;
  const breakId = fromWireId('brk', call.params.break_id) ?? NO_BREAK;
  if ((against === undefined) !== (sent === undefined)) {
    const message = "'book_against' and 'amount' belong together: send both, or neither to book nothing.";
    throw schemaRefusal(call, message, against === undefined ? '/book_against' : '/amount');
  }
  if (call.body.attempt_ids !== undefined) return settleOrders(service, call, breakId, call.body.attempt_ids);
  const amount = readOptionalAmount(sent);
  const load = { ...(await loadAccounts(service, call, breakId)), breaks: lockBreak({ breakId }) };
  return transact<Reply<'close_break'>, keyof typeof load>(service.database, call.deadline, load, (loaded, batchId) => {
    const { found, now } = requireBreak(call.params.break_id, loaded.breaks);
    const isBooked = found.bookedAgainst !== null && bookingsOf(found).length === 0;
    if (found.closedAt !== null && (against === undefined || (isBooked && against === found.bookedAgainst))) {
      // A repeated request gets the same value as the first.
      const moneyMoved = against === undefined ? 'no' : 'yes';
      return { result: { record: toBreakRecord(found, now), moneyMoved }, writes: [] };
    }
    const booking = against === undefined ? undefined : chooseBooking(call, found, amount);
    const accounts = loaded.accounts.map(toAccount);
    const posted = booking === undefined ? undefined : book(booking, accounts);
    const closed = { ...found, closedAt: now, closedBy: actorOf(call.caller) };
    const after = booking === undefined ? closed : withBooking(closed, booking);
    const resolution = withoutSecrets(note, MAX_NOTE_CHARACTERS);
    const record = toBreakRecord({ ...after, resolution }, now);
    const subject = { programId: found.programId, subjectId: toWireId('brk', breakId) };
    const audited = { ...subject, details: JSON.stringify(withoutHolderValues(record)) };
    const writes = [
      ...(posted === undefined ? [] : writesOf(call, found, posted, accounts, loaded.threshold, { batchId, now })),
      closeStatement({ ...after, resolution }, booking?.correction ?? 0n),
      ...auditOf(call, audited),
    ];
    return { result: { record, moneyMoved: posted === undefined ? 'no' : 'yes' }, writes };
  });
}

// Invariant: A person can settle orders with a line only if they sum to its amount and no other line has settled them
// Kept by: the locks of the file, the orders and the break, held while they are compared
// Tested by: `test/api/processors/batches.test.ts`

/** Closes the break of a line that no order was found for, and marks the named orders as settled by that line. */
async function settleOrders(
  service: Service,
  call: CloseCall,
  breakId: string,
  sentIds: readonly string[],
): Promise<Reply<'close_break'>> {
  if (call.body.book_against !== undefined) {
    const message = "Send either 'attempt_ids', to settle orders, or 'book_against', to book the difference.";
    throw schemaRefusal(call, message, '/attempt_ids');
  }
  const known = requireBreak(call.params.break_id, await readRows(service.database, readBreak({ breakId }))).found;
  const fileId = fromWireId('stl', lineOf(call, known).file) ?? '';
  const { connectorId } = known;
  const attemptIds = [...new Set(sentIds.map((id) => fromWireId('pat', id) ?? NO_ATTEMPT))].sort();
  // In the order of the job that compares files.
  const load = {
    files: lockSettlementFile({ fileId }),
    others: lockBreaksOfAttempts({ connectorId, attemptIds }),
    orders: lockBatchOrders({ connectorId, attemptIds }),
    breaks: lockBreak({ breakId }),
  };
  return transact<Reply<'close_break'>, keyof typeof load>(service.database, call.deadline, load, (loaded) => {
    const { found, now } = requireBreak(call.params.break_id, loaded.breaks);
    const line = lineOf(call, found);
    if (isDeepStrictEqual(line.attemptIds, attemptIds)) {
      return { result: { record: toBreakRecord(found, now), moneyMoved: 'no' }, writes: [] };
    }
    const [file] = loaded.files.map(toSettlementFile);
    const orders = loaded.orders.map(toBatchOrder);
    const missing = sentIds.find((id) => !orders.some(({ attemptId }) => toWireId('pat', attemptId) === id));
    const reason =
      whyNotSettled(line, file) ??
      (missing === undefined ? undefined : `'${missing}' is not an order of the connector '${connectorId}'.`) ??
      whyNotEqual(line, orders);
    if (reason !== undefined) throw schemaRefusal(call, reason, '/attempt_ids');
    const resolution = withoutSecrets(call.body.note, MAX_NOTE_CHARACTERS);
    const closed = {
      ...found,
      closedAt: now,
      closedBy: actorOf(call.caller),
      resolution,
      lines: [{ ...line, attemptIds }],
    };
    const record = toBreakRecord(closed, now);
    const details = JSON.stringify(withoutHolderValues(record));
    const writes = [
      writeBatch({ fileId, lineNumber: line.number, attemptIds }),
      markSettled({ fileId, acceptedAt: now, sent: withFees(BigInt(line.fee), orders) }),
      settleMissing({ connectorId, attemptIds }),
      closeStatement(closed, 0n),
      ...auditOf(call, { programId: null, subjectId: record.break_id, details }),
    ];
    return { result: { record, moneyMoved: 'no' }, writes };
  });
}

/** The line that a break is about. Throws the refusal if the break is not about a line, or about several. */
function lineOf(call: CloseCall, { kind, lines: [line, ...others] }: Break): BreakLine {
  if (kind === 'missing_in_ledger' && line !== undefined && others.length === 0) return line;
  const message =
    kind === 'missing_in_ledger' && line !== undefined
      ? 'Several lines have caused this break, so orders cannot be settled with it. Close it with a note.'
      : "Only a break 'missing_in_ledger' that a line of a settlement file has caused can settle orders. Omit 'attempt_ids'.";
  throw schemaRefusal(call, message, '/attempt_ids');
}

function whyNotSettled({ file: id, attemptIds }: BreakLine, file: SettlementFile | undefined): string | undefined {
  if (file === undefined || toWireId('stl', file.fileId) !== id)
    return 'The break is about another line now. Read it again.';
  if (file.withdrawnAt !== null) return `The settlement file '${id}' was withdrawn, so it settles no orders.`;
  return attemptIds === null ? undefined : 'The line of this break has already settled other orders.';
}

function whyNotEqual(line: BreakLine, orders: readonly BatchOrder[]): string | undefined {
  const compared = { ...line, amount: BigInt(line.amount) };
  const problem = batchProblem(compared, orders, false);
  return problem === undefined ? undefined : `You named ${batchInWords(compared, orders)}, but ${problem}.`;
}

function withBooking(found: Break, { against, correction }: Booking): Break {
  const { attempt } = found;
  const corrected = attempt === null ? null : { ...attempt, correctedAmount: attempt.correctedAmount + correction };
  return { ...found, bookedAgainst: against, attempt: corrected };
}

function requireBreak(sentId: string, [row]: readonly Row[]): ReturnType<typeof toBreak> {
  if (row !== undefined) return toBreak(row);
  const hint = fromWireId('brk', sentId) === undefined ? ' A break id is brk_ and 32 hex digits.' : '';
  throw new Refusal('break_not_found', `There is no break '${sentId}'.${hint}`);
}

type AccountLoad = { readonly accounts: Statement | null; readonly threshold: Statement | null };

/** Returns the statements that lock and read everything that a booking needs. */
async function loadAccounts(service: Service, call: CloseCall, breakId: string): Promise<AccountLoad> {
  const { book_against: against } = call.body;
  if (against === undefined) return NO_ACCOUNTS;
  const { found } = requireBreak(call.params.break_id, await readRows(service.database, readBreak({ breakId })));
  const { programId, attemptId, currency } = found;
  if (programId === null || attemptId === null || currency === null) return NO_ACCOUNTS;
  const accounts = lockAccountsOfBreak({ programId, attemptId, currency });
  if (against !== 'funding') return { accounts, threshold: null };
  const program = await loadProgram(service, toWireId('prog', programId));
  // The threshold applies only to the funding account in the program's own currency.
  return { accounts, threshold: currency === program.currency ? readFundingThreshold(programId) : null };
}

const NO_ACCOUNTS = { accounts: null, threshold: null } as const;

/** Returns the booking that the caller asks for. Throws the refusal if the break has no such booking or a different amount. */
function chooseBooking(call: CloseCall, found: Break, amount: bigint | null): Booking {
  const { book_against: against } = call.body;
  const bookings = bookingsOf(found);
  const booking = bookings.find((one) => one.against === against);
  if (booking === undefined) throw schemaRefusal(call, whyNot(found, bookings), '/book_against');
  if (amount === booking.amount) return booking;
  const money = (value: bigint): string => formatMoney(value, found.currency ?? '');
  const message =
    `The difference of this break is now ${money(booking.amount)} from ${booking.from} to ${booking.to}, and you sent ` +
    `${money(amount ?? 0n)}. Read the break again.`;
  throw schemaRefusal(call, message, '/amount');
}

function whyNot({ bookedAgainst, kind }: Break, bookings: readonly Booking[]): string {
  const omit = "Omit 'book_against' and 'amount'.";
  const choices = bookings.map((one) => `'${one.against}'`).join(' or ');
  if (choices !== '') return `The difference of this break can only be booked against ${choices}.`;
  if (bookedAgainst !== null)
    return `The difference of this break is already booked against '${bookedAgainst}'. ${omit}`;
  const isAboutMoney = kind === 'late_approval' || kind === 'contradiction' || kind === 'missing_in_file';
  if (!isAboutMoney) return `A break of the kind '${kind}' is not about money that can be booked. ${omit}`;
  return `This break has no difference that can be booked: the books agree with the processor, or the processor's amount is unknown. ${omit}`;
}

function book({ from, to, amount }: Booking, accounts: readonly Account[]): Posted {
  const accountOf = (kind: Booking['from']): Account => {
    const account = accounts.find((one) => one.kind === kind) ?? (kind === 'loss' ? newLoss(accounts) : undefined);
    if (account === undefined) throw new Error(`the ${kind} account of a break does not exist`);
    return account;
  };
  const [source, destination] = [accountOf(from), accountOf(to)];
  const { currency } = source;
  if (!canTake(source, amount)) {
    const message =
      `The ${from} account has ${formatMoney(available(source), currency)} available, and the booking needs ` +
      `${formatMoney(amount, currency)}. Choose another account, or make a deposit first.`;
    throw new Refusal('insufficient_funds', message, { field: '/book_against' });
  }
  if (!canGive(destination, amount)) {
    const message = `The booking would exceed the maximum balance of the ${to} account, ${formatMoney(MAXIMUM_BALANCE, currency)}.`;
    throw new Refusal('limit_exceeded', message, { field: '/book_against' });
  }
  return post({ index: 0, purpose: 'correction', source, destination, amount });
}

/** Returns a loss account without postings, in the currency of the break's other accounts. */
function newLoss([other]: readonly Account[]): Account {
  if (other === undefined) throw new Error('a break has no accounts');
  const { programId, currency } = other;
  const empty = { balance: 0n, held: 0n, incoming: 0n, sequence: 0n, floor: -MAXIMUM_BALANCE };
  return { programId, accountId: newId(), kind: 'loss', currency, ...empty };
}

function writesOf(
  call: CloseCall,
  { programId, breakId, transferId }: Break,
  { posting, source, destination }: Posted,
  accounts: readonly Account[],
  threshold: readonly Row[],
  { batchId, now }: { readonly batchId: string; readonly now: number },
): readonly Statement[] {
  if (programId === null) throw new Error('a booked break has no card program');
  const [before, after] = [accounts, [source, destination]].map((all) => all.find(({ kind }) => kind === 'funding'));
  const cause = transferId === null ? {} : { transferId: toWireId('tr', transferId) };
  const events =
    before === undefined || after === undefined ? [] : lowFunding(before, after, toFundingThreshold(threshold), cause);
  const loss = [source, destination].find(({ kind }) => kind === 'loss');
  const isNew = loss !== undefined && !accounts.some(({ kind }) => kind === 'loss');
  return [
    ...(isNew ? [createLossAccount(loss)] : []),
    insertPostings([{ ...posting, programId, causeId: breakId }], now),
    updateAccounts([source, destination]),
    ...(events.length === 0 ? [] : [insertEvents(batchId, events, now, call)]),
  ];
}
