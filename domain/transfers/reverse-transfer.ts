import { CARD_RULES, cardStatusOn } from '../cards/card.ts';
import { toWireId } from '../identifier.ts';
import { available, canGive, canTake, type Ends, post } from '../ledger/ledger.ts';
import { formatMoney, MAXIMUM_BALANCE } from '../ledger/money.ts';
import { Refusal } from '../refusal.ts';
import { refuseMove } from './change-transfer.ts';
import type { TransferPlan } from './create-transfer.ts';
import type { Transfer } from './transfer.ts';
import { endsOf, type TransferView } from './transfer-view.ts';

/** Money of a completed transfer that was moved back. A reversal is completed when it is created, and never changes. */
export type Reversal = {
  readonly programId: string;
  readonly reversalId: string;
  readonly transferId: string;
  /** Minor units. */
  readonly amount: bigint;
  readonly currency: string;
  readonly description: string | null;
  readonly requestId: string;
  /** Inner UUID of the caller's API key, or `NO_API_KEY`. Null for reversals of earlier versions. */
  readonly createdBy: string | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
};

/** The request. A null `amount` reverses everything that is left. */
export type ReversalInput = Pick<Reversal, 'reversalId' | 'requestId' | 'createdBy' | 'description'> & {
  readonly amount: bigint | null;
};

/** A reversal and its effect on the accounts. Its transfer stays completed, with more of it reversed. */
export type ReversalPlan = TransferPlan & { readonly reversal: Reversal };

/**
 * Reverses a completed transfer, in full or in part. Its reversals together never exceed the captured amount. Card statuses and
 * limits do not prevent a reversal, and a reversal does not restore used limits. But a closed card receives no money, and spent
 * money cannot come back (`insufficient_funds`).
 */
export function decideReversal(transfer: Transfer, request: ReversalInput, view: TransferView): ReversalPlan | Refusal {
  const refusal = refuseMove(transfer, 'reverse', view.now);
  if (refusal !== undefined) return refusal;
  const left = transfer.capturedAmount - transfer.reversedAmount;
  if (left === 0n) return refuseReversedWhole(transfer);
  const elsewhere = refuseProcessor(transfer, view);
  if (elsewhere !== undefined) return elsewhere;
  const amount = request.amount ?? left;
  if (amount > left) return refuseTooMuch(transfer, amount, left);
  const ends = endsBack(transfer, view);
  const problem = refuseReceiver(transfer, view) ?? refuseFunds(ends, transfer, amount, view);
  if (problem !== undefined) return problem;
  const { posting, source, destination } = post({ index: 0, purpose: 'reversal', ...ends, amount });
  const { reversalId, requestId, createdBy, description } = request;
  const { programId, transferId, currency } = transfer;
  return {
    transfer: { ...transfer, reversedAmount: transfer.reversedAmount + amount, updatedAt: view.now },
    event: 'reversal.completed',
    postings: [posting],
    accounts: [source, destination],
    hold: null,
    counts: [],
    reversal: {
      programId,
      reversalId,
      transferId,
      amount,
      currency,
      description,
      requestId,
      createdBy,
      createdAt: view.now,
    },
  };
}

function endsBack(transfer: Transfer, view: TransferView): Ends {
  const ends = endsOf(transfer, view);
  if (ends === undefined) throw new Error('a card of a transfer is missing');
  return { source: ends.destination, destination: ends.source };
}

/** Refuses to reverse a transfer that a processor carried out, because its money is not in this ledger. */
function refuseProcessor(transfer: Transfer, { card }: TransferView): Refusal | undefined {
  const connectorId = card?.connectorId ?? null;
  if (card === undefined || connectorId === null) return undefined;
  const instead = transfer.type === 'load' ? 'Unload the card instead.' : 'Load the card instead.';
  const message =
    `The transfer ${toWireId('tr', transfer.transferId)} was carried out by the processor '${connectorId}' of the card ` +
    `'${card.name}' and cannot be reversed. ${instead}`;
  return new Refusal('connector_not_supported', message, { saw: { card_id: card.name, connector_id: connectorId } });
}

function refuseReversedWhole(transfer: Transfer): Refusal {
  const saw = { captured: transfer.capturedAmount, reversed: transfer.reversedAmount };
  const message =
    `All ${formatMoney(transfer.capturedAmount, transfer.currency)} of the transfer ` +
    `${toWireId('tr', transfer.transferId)} have already been reversed.`;
  return new Refusal('invalid_transfer_status', message, { saw });
}

function refuseTooMuch(transfer: Transfer, amount: bigint, left: bigint): Refusal {
  const money = (value: bigint): string => formatMoney(value, transfer.currency);
  const saw = {
    captured: transfer.capturedAmount,
    reversed: transfer.reversedAmount,
    amount,
  };
  const message =
    `The reversal is for ${money(amount)}, but ${money(transfer.capturedAmount)} were captured, ` +
    `${money(transfer.reversedAmount)} have been reversed, and ${money(left)} remain.`;
  return new Refusal('amount_too_large', message, { field: '/amount', saw });
}

function refuseReceiver(transfer: Transfer, { card, rules }: TransferView): Refusal | undefined {
  if (transfer.type === 'load' || card === undefined) return undefined;
  const status = cardStatusOn(card, rules.today);
  if (status !== 'closed') return undefined;
  const message = `The reversal would credit the card '${card.name}', which ${CARD_RULES.closed.meaning}.`;
  return new Refusal('card_closed', message, { saw: { card_id: card.name, status } });
}

/** As in create_transfer, the receiving account is checked before the available funds. */
function refuseFunds(ends: Ends, transfer: Transfer, amount: bigint, view: TransferView): Refusal | undefined {
  const { source, destination } = ends;
  const money = (value: bigint): string => formatMoney(value, source.currency);
  if (!canGive(destination, amount)) {
    const message =
      `The reversal would exceed the maximum balance of the ${destination.kind} account, ` +
      `${money(MAXIMUM_BALANCE)}.`;
    const saw = { account: destination.kind, balance: destination.balance, amount };
    return new Refusal('limit_exceeded', message, { field: '/amount', saw });
  }
  if (canTake(source, amount)) return undefined;
  const saw = { account: source.kind, available: available(source), amount };
  const holder = transfer.type === 'load' ? view.card : view.destinationCard;
  const whose = source.kind === 'card' ? `The card '${holder?.name}'` : "The card program's funding account";
  const message = `${whose} has ${money(available(source))} available; the reversal is for ` + `${money(amount)}.`;
  return new Refusal('insufficient_funds', message, { field: '/amount', saw });
}
