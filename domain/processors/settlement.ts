import { toWireId } from '../identifier.ts';
import { formatMoney } from '../ledger/money.ts';
import { type Attempt, type InBooks, isContradicted, isEnded, movedInBooks } from './attempt.ts';
import type { OrderKind } from './order.ts';

const HOUR = 3_600_000;

/** The statement of a settlement line about an order: it was carried out (`settled`), or undone afterwards (`reversed`). */
export const LINE_STATUSES = ['settled', 'reversed'] as const;

export type LineStatus = (typeof LINE_STATUSES)[number];

/**
 * The result of comparing a line with the books:
 *
 * - `matched`: the books say the same;
 * - `reported`: the books had no outcome of the attempt, or a different one, so the line counts as the processor's answer;
 * - `differs`: the line has a different amount, currency or direction;
 * - `duplicate`: an earlier line has settled the attempt;
 * - `missing_in_ledger`: the books have no such attempt, or the attempts with its reference do not add up to the line.
 */
export const LINE_OUTCOMES = ['matched', 'reported', 'differs', 'duplicate', 'missing_in_ledger'] as const;

export type LineOutcome = (typeof LINE_OUTCOMES)[number];

/** A line of a settlement file. */
export type SettlementLine = {
  readonly kind: OrderKind;
  /** Minor units. */
  readonly amount: bigint;
  readonly currency: string;
  readonly status: LineStatus;
};

/** The outcome of a line, with the processor's answer or amount that follows from it. */
export type Finding =
  | { readonly outcome: 'matched' | 'duplicate' | 'missing_in_ledger' }
  | { readonly outcome: 'reported'; readonly answer: 'approved' | 'reversed' }
  /** `stated`: what the processor has moved, according to the line, in minor units. Null if that cannot be compared. */
  | { readonly outcome: 'differs'; readonly stated: bigint | null };

// Invariant: A line of a settlement file has one outcome, and every outcome except `matched` is a break or a processor's answer
// Kept by: `findingOf`
// Tested by: `domain/processors/settlement.test.ts`, `test/api/processors/settlement.test.ts`

/**
 * Compares a line with the attempt that it names. `isSettled` says whether an earlier line has settled the attempt, in a file that
 * was not withdrawn. `first` is the outcome of the first comparison, if it was stored because it changes the books. The books may
 * agree now only because of that comparison.
 */
export function findingOf(
  line: SettlementLine,
  attempt: Attempt | undefined,
  isSettled: boolean,
  first: LineOutcome | null = null,
): Finding {
  if (attempt === undefined) return { outcome: 'missing_in_ledger' };
  if (line.currency !== attempt.currency) return { outcome: 'differs', stated: null };
  const isAgain = line.status === 'settled' && isSettled;
  if (isAgain) return line.kind === attempt.kind ? { outcome: 'duplicate' } : { outcome: 'differs', stated: null };
  const isAsOrdered = line.kind === attempt.kind && line.amount === attempt.amount;
  const stated = statedIn(line, attempt, isAsOrdered);
  // An open contradiction is settled by an answer that agrees with the books.
  const isKnown = isEnded(attempt.status) && !isContradicted(attempt) && stated === movedInBooks(attempt);
  if (isKnown && first === null) return { outcome: 'matched' };
  if (!isAsOrdered) return { outcome: 'differs', stated };
  return { outcome: 'reported', answer: line.status === 'settled' ? 'approved' : 'reversed' };
}

/** The amount that the processor has moved in the attempt's direction, according to a line. Negative in the other direction. */
function statedIn({ kind, amount, status }: SettlementLine, attempt: Attempt, isAsOrdered: boolean): bigint | null {
  if (status === 'reversed') return isAsOrdered ? 0n : null;
  return kind === attempt.kind ? amount : -amount;
}

/** Whether a line has settled its attempt, so that another one is a duplicate. A reversal or another amount settles nothing. */
export function settles({ status }: SettlementLine, { outcome }: Finding): boolean {
  return status === 'settled' && (outcome === 'matched' || outcome === 'reported');
}

/** Maximum number of orders that one line can settle, so that one transaction can do it. */
export const MAX_BATCH_ORDERS = 10_000;

/** Maximum number of orders of such a line whose outcome is unknown. Each gets an answer before the line is counted. */
export const MAX_BATCH_ANSWERS = 500;

/** Maximum number of orders that a person can name for one line. */
export const MAX_NAMED_ORDERS = 100;

/** Maximum number of orders that are proposed for a line without an order. */
export const MAX_PROPOSALS = 5;

/** For how many days before a line's day of settlement an order with its amount is proposed. Most processors settle within three. */
export const PROPOSAL_DAYS = 5;

/** An order of a batch, which is a line about several orders. */
export type BatchOrder = InBooks &
  Pick<
    Attempt,
    'programId' | 'attemptId' | 'kind' | 'currency' | 'status' | 'contradictedAt' | 'contradictionSettledAt'
  > & {
    /** Whether another line has settled the order, in a file that was not withdrawn. */
    readonly isSettled: boolean;
  };

// Invariant: A line settles several orders only if they sum to its amount, and then it settles all of them
// Kept by: `batchProblem`, and one transaction that locks and marks all of them
// Tested by: `domain/processors/settlement.test.ts`, `test/api/processors/batches.test.ts`

/**
 * Compares a line with the orders that have its reference. `first` is the outcome of the first comparison, if it was stored with
 * these orders. If that is `reported`, they may already have got their answers, so only an order that was settled in the meantime
 * matters.
 */
export function batchFindingOf(
  line: SettlementLine,
  orders: readonly BatchOrder[],
  first: LineOutcome | null = null,
): Finding {
  if (first === 'reported' && !orders.some(({ isSettled }) => isSettled)) return BATCH_APPROVED;
  if (batchProblem(line, orders, true) !== undefined) return { outcome: 'missing_in_ledger' };
  return orders.some(needsAnswer) ? BATCH_APPROVED : { outcome: 'matched' };
}

const BATCH_APPROVED: Finding = { outcome: 'reported', answer: 'approved' };

/**
 * The orders that a line pays, of those that have its reference. Processors that give a reference before they decide also give it to
 * orders that they refuse, so these are left out if the others sum to the line.
 */
export function ordersPaid(line: SettlementLine, orders: readonly BatchOrder[]): readonly BatchOrder[] {
  const others = orders.filter(
    (order) => !REFUSED.has(order.status) || isContradicted(order) || movedInBooks(order) !== 0n,
  );
  return sumOf(others.map(({ amount }) => amount)) === line.amount ? others : orders;
}

const REFUSED: ReadonlySet<Attempt['status']> = new Set(['declined', 'failed']);

/** Whether the books do not say yet that the processor has carried out the order. */
export function needsAnswer(order: BatchOrder): boolean {
  return !isEnded(order.status) || isContradicted(order) || movedInBooks(order) !== order.amount;
}

/** Why a line does not settle these orders, as part of a sentence. Undefined if it does. `isAnswer`: it also ends unknown orders. */
export function batchProblem(
  line: SettlementLine,
  orders: readonly BatchOrder[],
  isAnswer: boolean,
): string | undefined {
  if (line.status === 'reversed') return 'a reversal settles no orders';
  if (orders.length > MAX_BATCH_ORDERS) return 'there are more than 10,000 such orders';
  const unknown = orders.filter(needsAnswer).length;
  if (isAnswer && unknown > MAX_BATCH_ANSWERS) return `the outcome of ${unknown} orders is unknown`;
  for (const order of orders) {
    const problem = orderProblem(line, order, isAnswer);
    if (problem !== undefined) return `${toWireId('pat', order.attemptId)} ${problem}`;
  }
  const isEqual = sumOf(orders.map(({ amount }) => amount)) === line.amount;
  return isEqual ? undefined : 'the sums differ';
}

function orderProblem(line: SettlementLine, order: BatchOrder, isAnswer: boolean): string | undefined {
  if (order.isSettled) return 'is already settled';
  if (order.kind !== line.kind) return `is a ${order.kind}`;
  if (order.currency !== line.currency) return `is in ${order.currency}`;
  if (isContradicted(order)) return 'has an open contradiction';
  if (order.status !== 'approved' && !(isAnswer && AWAITED.has(order.status))) return `is ${order.status}`;
  // A line that is an answer opens a contradiction, which lets an operator undo the booking.
  if (!isAnswer && order.correctedAmount !== 0n) return 'was corrected by a booking';
  return undefined;
}

/** The statuses of an order whose outcome a line can still decide. A reversal that is under way needs a person. */
const AWAITED: ReadonlySet<Attempt['status']> = new Set(['sent', 'unknown', 'pending', 'attention']);

/** The orders and the line in words, each with its sum: `2 orders, in all 20.00 USD, and the line has 21.00 USD`. */
export function batchInWords({ amount, currency }: SettlementLine, orders: readonly BatchOrder[]): string {
  const currencies = [...new Set(orders.map((order) => order.currency))].sort();
  const sums = currencies.map((one) =>
    formatMoney(sumOf(orders.filter((order) => order.currency === one).map((order) => order.amount)), one),
  );
  const count = `${orders.length} ${orders.length === 1 ? 'order' : 'orders'}`;
  return `${count}, in all ${sums.join(' and ')}, and the line has ${formatMoney(amount, currency)}`;
}

/**
 * Divides the fee of a line among its orders, in proportion to their amounts, in minor units. The parts are whole and sum to the
 * fee.
 */
export function feesOf(fee: bigint, amounts: readonly bigint[]): readonly bigint[] {
  const sum = sumOf(amounts);
  let before = 0n;
  return amounts.map((amount) => {
    const until = before + amount;
    const part = (fee * until) / sum - (fee * before) / sum;
    before = until;
    return part;
  });
}

/** Returns the orders of a line, each with its part of the fee, in minor units. */
export function withFees<Order extends { readonly amount: bigint }>(
  fee: bigint,
  orders: readonly Order[],
): readonly (Order & { readonly fee: bigint })[] {
  const fees = feesOf(
    fee,
    orders.map(({ amount }) => amount),
  );
  return orders.map((order, index) => ({ ...order, fee: fees[index] ?? 0n }));
}

const sumOf = (amounts: readonly bigint[]): bigint => amounts.reduce((sum, amount) => sum + amount, 0n);

/** When the first and the newest settlement file of a connector arrived, in milliseconds since 1970. */
export type FilesReceived = { readonly firstAt: number; readonly newestAt: number };

/** A range of times, in milliseconds since 1970. `from` is exclusive, `until` inclusive. Empty if it ends before it begins. */
export type TimeRange = { readonly from: number; readonly until: number };

/** When an order that was approved at `approvedAt` must be in a file, in milliseconds since 1970. */
export function dueAt(approvedAt: number, withinHours: number): number {
  return approvedAt + withinHours * HOUR;
}

// Invariant: An order is missing only if a file has arrived that should contain it
// Kept by: `ordersDue`
// Tested by: `domain/processors/settlement.test.ts`, `test/api/processors/unsettled.test.ts`

/**
 * Returns the approval times of orders that should be in a settlement file by now, as two ranges. For orders in `inFiles`, a file
 * has arrived since they were due. For orders in `inNext`, none has, and the newest file is older than the time that an order may
 * take to appear in a file. Orders from before the first file do not count.
 */
export function ordersDue(
  { firstAt, newestAt }: FilesReceived,
  withinHours: number,
  now: number,
): { readonly inFiles: TimeRange; readonly inNext: TimeRange } {
  const within = withinHours * HOUR;
  const dueInNewest = newestAt - within;
  const from = dueInNewest < firstAt ? firstAt : dueInNewest;
  // While the newest file is young, the next one is not late.
  const isLate = newestAt <= now - within;
  return { inFiles: { from: firstAt, until: dueInNewest }, inNext: { from, until: isLate ? now - within : from } };
}

/** A line in words, such as `push of 10.00 USD`. */
export function lineInWords({ kind, amount, currency, status }: SettlementLine): string {
  return `${status === 'reversed' ? 'reversal of a ' : ''}${kind} of ${formatMoney(amount, currency)}`;
}
