import { formatMoney } from '../ledger/money.ts';
import type { RuledRequest } from './policy.ts';

/** What a request would do, for the sentence about it. */
export type Described = RuledRequest & {
  /** The subject in the path, or the card of a transfer. */
  readonly subject: string | null;
  /** The receiving card of a transfer between cards. */
  readonly destination: string | null;
  /** The account that a break is booked against. */
  readonly against: string | null;
  /** The number of orders that the line of a break settles. */
  readonly orders: number | null;
  /** The type of a transfer. */
  readonly type: string | null;
  /** The name of the card program. */
  readonly program: string | null;
};

/**
 * Describes what a request would do, so that it can follow "wants to": `withdraw 25,000.00 USD from the funding of Lumen`. The
 * description contains no text from the caller, because such text may be about the holder of a card.
 */
export function describeRequest(request: Described): string {
  const { operation, subject, fields, scopes } = request;
  const money = request.amount === null ? 'the rest' : moneyOf(request.amount, request.currency);
  const program = request.program ?? 'the card program';
  switch (operation) {
    case 'create_deposit':
      return `deposit ${money} to the funding of ${program}`;
    case 'create_withdrawal':
      return `withdraw ${money} from the funding of ${program}`;
    case 'create_move_in':
      return `move cards with ${balancesOf(request, money)} into ${program} from another ledger`;
    case 'cut_over':
      return `sign the report of the comparison ${subject}, and enable the transfers of its card program`;
    case 'create_transfer':
      return transferOf(request, money, program);
    case 'reverse_transfer':
      return `reverse ${money} of the transfer ${subject} of ${program}`;
    case 'update_program':
      return `change ${fields.map((field) => field.replaceAll('_', ' ')).join(', ')} of ${program}`;
    case 'create_key':
      return `create an API key with ${scopes.join(', ')}`;
    case 'create_operator_webhook':
      return 'create a webhook of operators';
    case 'erase_card_holder':
      return `erase the data about the holder of the card ${subject} of ${program}`;
    case 'erase_person':
      return `erase the name and the email of ${subject}`;
    case 'resolve_attempt':
      return `resolve the attempt ${subject}`;
    case 'close_break':
      return `close the break ${subject}${closingOf(request, money)}`;
    case 'change_approval_policy':
      return 'change the rules for approvals';
    default:
      return `call ${operation}`;
  }
}

function closingOf({ against, orders }: Described, money: string): string {
  if (orders !== null) return ` and mark ${orders} ${orders === 1 ? 'order' : 'orders'} as settled`;
  return against === null ? '' : ` and book ${money} against the ${against} account`;
}

/** The balances of the cards of a move-in. Its amount is known if it states the sums of exactly one currency. */
function balancesOf({ amount, fields }: Described, money: string): string {
  if (amount !== null) return money;
  return fields.includes('totals') ? 'balances in several currencies' : 'balances of any amount';
}

function transferOf({ type, subject, destination }: Described, money: string, program: string): string {
  if (type === 'card_to_card') return `move ${money} from the card ${subject} to the card ${destination} of ${program}`;
  return type === 'unload'
    ? `unload ${money} from the card ${subject} of ${program}`
    : `load ${money} to the card ${subject} of ${program}`;
}

function moneyOf(amount: bigint, currency: string | null): string {
  return currency === null ? `${amount} minor units` : formatMoney(amount, currency);
}
