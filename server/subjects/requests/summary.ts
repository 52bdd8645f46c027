import type { OperationId } from '../../../contract/operations.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { formatMoney } from '../../../domain/ledger/money.ts';
import type { MoneyMoved } from '../../../domain/refusal.ts';
import { MONEY_MOVED, moneySentence, type ProcessorFacts } from '../../../domain/transfers/money-sentence.ts';
import type { Reversal } from '../../../domain/transfers/reverse-transfer.ts';
import type { Transfer } from '../../../domain/transfers/transfer.ts';
import { howToFindOut } from '../../calls/how-to-find-out.ts';

export type RequestFacts = {
  readonly operation: OperationId | null;
  /** The error of the request. For a batch: its own error, or the most severe error of its rows. */
  readonly failure: {
    /** For a row of a batch, this is create_transfer. */
    readonly operation: string | null;
    readonly code: string;
    readonly status: number;
    readonly message: string;
    readonly moneyMoved: MoneyMoved | null;
    /** The transfer's inner UUID. */
    readonly transferId: string | null;
  } | null;
  /** The transfers that the request created or changed, up to a maximum number. */
  readonly transfers: readonly Transfer[];
  readonly transferCount: number;
  /** The orders to processors for these transfers, by the inner UUID of the transfer. */
  readonly attempts: ReadonlyMap<string, ProcessorFacts>;
  readonly reversals: readonly Reversal[];
  /** A deposit or withdrawal, in minor units. */
  readonly movement: { readonly amount: bigint; readonly currency: string } | null;
  /** Whether an event or an audit entry shows that the request took effect. */
  readonly isStored: boolean;
  /** Whether the search for its effects was completed. */
  readonly complete: boolean;
  readonly idempotencyKey: string | null;
};

export type RequestSummary = {
  readonly outcome: 'succeeded' | 'partly_failed' | 'failed';
  readonly moneyMoved: MoneyMoved;
  readonly sentence: string;
};

/** Describes the outcome of a request and whether money moved, at the time `now` (milliseconds since 1970). */
export function summarize(facts: RequestFacts, now: number): RequestSummary {
  const { failure } = facts;
  const name = facts.operation ?? 'The request';
  if (failure === null) {
    const effect = effectOf(facts, now);
    const sentence =
      effect === null ? `${name} succeeded. It moves no money.` : `${name} succeeded: ${effect.sentence}`;
    return { outcome: 'succeeded', moneyMoved: effect?.moneyMoved ?? 'no', sentence };
  }
  const what = `${verdictOf(facts.operation, failure)} ${ended(failure.message)}`;
  if (facts.operation === 'create_transfer_batch' && facts.transfers.length > 0) {
    return { outcome: 'partly_failed', ...moneyOfPart(facts, failure, what, now) };
  }
  return { outcome: 'failed', ...moneyOfFailure(facts, what, now) };
}

/** Returns the outcome of a batch that created transfers, although the batch or one of its rows failed. */
function moneyOfPart(
  facts: RequestFacts,
  failure: NonNullable<RequestFacts['failure']>,
  what: string,
  now: number,
): Omit<RequestSummary, 'outcome'> {
  const effect = effectOf(facts, now);
  const created = transfersIn(facts);
  const head = isOfRow(facts.operation, failure)
    ? `${facts.operation} created ${created}, and other rows failed, such as this one: ${what}`
    : `${what} It created ${created}, though.`;
  const sentence = `${head} ${effect?.sentence ?? ''}`.trim();
  const known = [effect?.moneyMoved, failure.moneyMoved];
  const moneyMoved = (['yes', 'unknown'] as const).find((one) => known.includes(one)) ?? 'no';
  if (moneyMoved === 'yes' || failure.moneyMoved !== 'unknown') return { moneyMoved, sentence };
  return { moneyMoved, sentence: `${sentence} Whether money moved otherwise is not confirmed.` };
}

/** Returns whether the error of a request belongs to a row of a batch. Then the batch itself succeeded. */
export function isOfRow(operation: OperationId | null, failure: { readonly operation: string | null }): boolean {
  return operation === 'create_transfer_batch' && failure.operation === 'create_transfer';
}

/** Operations that move money. Their refusals are called declines, as is usual for cards. */
const MOVES_MONEY: ReadonlySet<OperationId> = new Set([
  'create_transfer',
  'create_transfer_batch',
  'capture_transfer',
  'cancel_transfer',
  'reverse_transfer',
  'create_deposit',
  'create_withdrawal',
]);

/** Returns the reason in a few words. For a service fault, the message is enough. */
function verdictOf(operation: OperationId | null, { status, code }: NonNullable<RequestFacts['failure']>): string {
  if (status >= 500) return 'Failed:';
  const why = code.endsWith('_schema') ? 'invalid request' : code.replaceAll('_', ' ');
  return `${operation !== null && MOVES_MONEY.has(operation) ? 'Declined' : 'Refused'}: ${why}.`;
}

function moneyOfFailure(facts: RequestFacts, what: string, now: number): Omit<RequestSummary, 'outcome'> {
  const moneyMoved = facts.failure?.moneyMoved ?? 'no';
  if (facts.failure?.moneyMoved === null && facts.isStored) {
    return { moneyMoved: 'no', sentence: `${what} It did take effect, though. No money moved.` };
  }
  if (moneyMoved === 'no') {
    const says = /no money (?:was |has )?moved/i.test(what);
    return { moneyMoved, sentence: says ? what : `${what} No money moved.` };
  }
  const effect = effectOf(facts, now);
  if (effect !== null) {
    return { moneyMoved: effect.moneyMoved, sentence: `${what} It did take effect, though: ${effect.sentence}` };
  }
  if (moneyMoved === 'yes') return { moneyMoved, sentence: `${what} Money moved anyway.` };
  if (facts.isStored) return moneyOfStored(facts, what);
  const { operation, failure, idempotencyKey } = facts;
  const id = failure?.transferId ?? null;
  const transferId = id === null ? undefined : toWireId('tr', id);
  const advice = operation === null ? '' : howToFindOut(operation, transferId, idempotencyKey ?? undefined);
  const unknown = `${what} Whether money moved is not confirmed: nothing that the request did is stored so far.`;
  // The message of the error usually already contains the advice.
  return { moneyMoved, sentence: what.includes(advice) ? unknown : `${unknown} ${advice}` };
}

/** Describes a request that took effect, but whose transfer or amount is not stored. */
function moneyOfStored({ operation, complete }: RequestFacts, what: string): Omit<RequestSummary, 'outcome'> {
  // If the card's balance had been moved, that transfer would be stored too, because it is in the same transaction.
  if (operation === 'update_card' && complete) {
    return { moneyMoved: 'no', sentence: `${what} It did take effect, though, and no money moved.` };
  }
  // A card program does not see the amounts of its deposits and withdrawals here.
  if (operation === 'create_deposit' || operation === 'create_withdrawal') {
    return { moneyMoved: 'yes', sentence: `${what} It did take effect, though: money moved.` };
  }
  return {
    moneyMoved: 'unknown',
    sentence: `${what} It did take effect, though. Whether money moved is not confirmed.`,
  };
}

type Effect = Omit<RequestSummary, 'outcome'>;

/** Returns the effect of the request on money, or null if it has none. */
function effectOf(facts: RequestFacts, now: number): Effect | null {
  const { operation, transfers, reversals, movement } = facts;
  const [reversal] = reversals;
  if (reversal !== undefined) {
    const money = formatMoney(reversal.amount, reversal.currency);
    const of = `the transfer ${toWireId('tr', reversal.transferId)}`;
    return { moneyMoved: 'yes', sentence: `${money} of ${of} was reversed.` };
  }
  if (movement !== null) {
    const what = operation === 'create_withdrawal' ? 'taken out of' : 'paid into';
    const money = formatMoney(movement.amount, movement.currency);
    return { moneyMoved: 'yes', sentence: `${money} was ${what} the program's funding.` };
  }
  const [transfer] = transfers;
  // A change of metadata does not concern the money of the transfer.
  if (transfer === undefined || operation === 'update_transfer') return null;
  if (facts.transferCount > 1) return effectOfMany(facts, now);
  const { moved, sentence } = moneyOf(transfer, facts, now);
  return { moneyMoved: MONEY_MOVED[moved], sentence };
}

function effectOfMany(facts: RequestFacts, now: number): Effect {
  const isOf = (moneyMoved: MoneyMoved) => (transfer: Transfer) =>
    MONEY_MOVED[moneyOf(transfer, facts, now).moved] === moneyMoved;
  const moved = facts.transfers.filter(isOf('yes'));
  const late = moved.filter(({ status }) => status === 'failed').length;
  const unknown = facts.transfers.filter(isOf('unknown')).length;
  const totals = new Map<string, bigint>();
  for (const { currency, status, amount, capturedAmount } of moved) {
    totals.set(currency, (totals.get(currency) ?? 0n) + (status === 'failed' ? amount : capturedAmount));
  }
  const sums = [...totals].map(([currency, total]) => formatMoney(total, currency)).join(' and ');
  const isPart = facts.transfers.length < facts.transferCount;
  const of = isPart ? `the first ${facts.transfers.length} of ${transfersIn(facts)}` : transfersIn(facts);
  const rest = `Whether the money of ${unknown} moved is not known yet: their processor has not said so, or has contradicted itself.`;
  const failed = `The processor moved the money of ${late} after the transfer had failed: operators of the service settle that.`;
  const more = `${late === 0 ? '' : ` ${failed}`}${unknown === 0 ? '' : ` ${rest}`}`;
  if (moved.length === 0 && unknown > 0) return { moneyMoved: 'unknown', sentence: `Of ${of}: ${rest}` };
  if (moved.length === 0) return { moneyMoved: 'no', sentence: `No money has moved with ${of}.` };
  return {
    moneyMoved: 'yes',
    sentence: `${sums} moved with ${moved.length === facts.transfers.length ? of : `${moved.length} of ${of}`}.${more}`,
  };
}

function moneyOf(transfer: Transfer, { attempts }: RequestFacts, now: number) {
  const attempt = attempts.get(transfer.transferId) ?? null;
  const { Code: code } = { Code: null, ...transfer.error } as { Code: unknown };
  return moneySentence({ ...transfer, errorCode: typeof code === 'string' ? code : null, attempt }, now);
}

function transfersIn({ transferCount }: RequestFacts): string {
  return `${transferCount} ${transferCount === 1 ? 'transfer' : 'transfers'}`;
}

function ended(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
