import type { CardStatus } from './cards/card.ts';
import { formatMoney } from './ledger/money.ts';
import type { MoveInTotals } from './move-in.ts';

/** Why a card here differs from the old ledger, as far as the books can tell. */
export const DIFFERENCE_REASONS = [
  'card_only_there',
  'card_only_here',
  'other_currency',
  'other_status',
  'transfer_only_there',
  'transfer_only_here',
  'other_balance',
  'hold_only_there',
  'hold_released_there',
  'hold_captured_there',
  'other_hold_amount',
] as const;

export type DifferenceReason = (typeof DIFFERENCE_REASONS)[number];

/** The state of a comparison. `cut_over`: it was equal, and its card program was cut over. */
export type ComparisonStatus = 'comparing' | 'equal' | 'different' | 'cut_over';

/** The number of differences by reason. */
export type DifferenceCounts = Readonly<Partial<Record<DifferenceReason, number>>>;

/** A hold. Amount in minor units. */
type ComparedHold = { readonly amount: bigint; readonly reference: string | null };

/** A card of the old ledger with its open holds. Amounts in minor units. */
export type CardThere = {
  readonly name: string;
  readonly currency: string;
  readonly balance: bigint;
  /** Null if the old ledger does not say. */
  readonly status: CardStatus | null;
  readonly holds: readonly ComparedHold[];
};

/** A card of this ledger with its open holds. Amounts in minor units. */
export type CardHere = Omit<CardThere, 'status' | 'holds'> & {
  readonly status: CardStatus;
  readonly holds: readonly (ComparedHold & { readonly transferId: string })[];
  /** What each of the latest transfers has added to the balance, the newest first. Negative for money that went out. */
  readonly transfers: readonly { readonly transferId: string; readonly added: bigint }[];
};

/** A difference of a card. Amounts in minor units, null if they are missing on that side. */
export type Difference = {
  readonly cardName: string;
  readonly reason: DifferenceReason;
  readonly currency: string;
  readonly here: bigint | null;
  readonly there: bigint | null;
  /** Inner UUID of the hold here, or of the transfer here that explains the difference. */
  readonly transferId: string | null;
  /** The reference of the hold. */
  readonly reference: string | null;
  readonly message: string;
};

/** Compares a card of both ledgers. One side can be missing. Each difference is returned once. */
export function compareCard(here: CardHere | undefined, there: CardThere | undefined): readonly Difference[] {
  if (here === undefined) return there === undefined ? [] : [onlyThere(there)];
  if (there === undefined) return [onlyHere(here)];
  if (here.currency !== there.currency) return [otherCurrency(here, there)];
  const { both, onlyHere: released, onlyThere: missing } = matchHolds(here.holds, there.holds);
  const captured = capturedHold(released, here.balance - there.balance);
  return [
    ...(there.status === null || there.status === here.status ? [] : [otherStatus(here, there.status)]),
    ...(here.balance === there.balance || captured !== undefined ? [] : [otherBalance(here, there)]),
    ...both.flatMap(([one, other]) => (one.amount === other.amount ? [] : [otherHold(here, one, other)])),
    ...released.map((hold) => releasedHold(here, hold, hold === captured ? there.balance : undefined)),
    ...missing.map((hold) => missingHold(here, hold)),
  ];
}

type HoldHere = CardHere['holds'][number];

/**
 * Returns the hold that was captured there, if one explains that the balance there is `lower`: capturing a hold ends it and lowers the
 * balance. That is one cause, and so one difference.
 */
function capturedHold(released: readonly HoldHere[], lower: bigint): HoldHere | undefined {
  if (lower <= 0n) return undefined;
  const [only] = released;
  const inPart = released.length === 1 && only !== undefined && lower < only.amount ? only : undefined;
  return released.find(({ amount }) => amount === lower) ?? inPart;
}

/** Pairs holds with the same reference, and then those with the same amount of which at most one has a reference. */
function matchHolds(here: readonly HoldHere[], there: readonly ComparedHold[]) {
  const both: (readonly [HoldHere, ComparedHold])[] = [];
  const byReference = new Map(here.map((hold) => [hold.reference, hold]));
  byReference.delete(null);
  const unpaired = there.filter((hold) => {
    const found = byReference.get(hold.reference);
    if (found === undefined) return true;
    byReference.delete(hold.reference);
    both.push([found, hold]);
    return false;
  });
  const paired = new Set(both.map(([one]) => one));
  const rest = here.filter((hold) => !paired.has(hold));
  const named = byAmount(rest.filter(({ reference }) => reference !== null));
  const unnamed = byAmount(rest.filter(({ reference }) => reference === null));
  // Holds with a reference come first: they can only be paired with holds without one.
  const inOrder = [
    ...unpaired.filter(({ reference }) => reference !== null),
    ...unpaired.filter(({ reference }) => reference === null),
  ];
  const onlyThere = inOrder.filter((hold) => {
    const found =
      unnamed.get(hold.amount)?.pop() ?? (hold.reference === null ? named.get(hold.amount)?.pop() : undefined);
    if (found === undefined) return true;
    both.push([found, hold]);
    return false;
  });
  return { both, onlyHere: [...unnamed.values(), ...named.values()].flat(), onlyThere };
}

function byAmount(holds: readonly HoldHere[]): Map<bigint, HoldHere[]> {
  const found = new Map<bigint, HoldHere[]>();
  for (const hold of holds) {
    const same = found.get(hold.amount);
    if (same === undefined) found.set(hold.amount, [hold]);
    else same.push(hold);
  }
  return found;
}

const NONE = { here: null, there: null, transferId: null, reference: null } as const;

function onlyThere({ name, currency, balance }: CardThere): Difference {
  const message = `The file has the card with ${formatMoney(balance, currency)}. Here it does not exist, is closed or belongs to a processor.`;
  return { ...NONE, cardName: name, reason: 'card_only_there', currency, there: balance, message };
}

function onlyHere({ name, currency, balance }: CardHere): Difference {
  const message = `The card has ${formatMoney(balance, currency)} here. The file does not have it.`;
  return { ...NONE, cardName: name, reason: 'card_only_here', currency, here: balance, message };
}

function otherCurrency({ name, currency, balance }: CardHere, there: CardThere): Difference {
  const message = `The card has ${formatMoney(balance, currency)} here and ${formatMoney(there.balance, there.currency)} in the file.`;
  return { ...NONE, cardName: name, reason: 'other_currency', currency, here: balance, message };
}

function otherStatus({ name, currency, status }: CardHere, there: CardStatus): Difference {
  const message = `The card is ${status} here and ${there} in the file.`;
  return { ...NONE, cardName: name, reason: 'other_status', currency, message };
}

function otherBalance(here: CardHere, there: CardThere): Difference {
  const { name, currency, transfers } = here;
  const more = here.balance - there.balance;
  const explaining = transfers.find(({ added }) => added === more);
  const reason =
    explaining !== undefined ? 'transfer_only_here' : transfers.length === 0 ? 'transfer_only_there' : 'other_balance';
  const why = {
    transfer_only_here: 'One transfer here is the difference.',
    transfer_only_there: 'The card has no transfers here.',
    other_balance: 'No single transfer here is the difference.',
  }[reason];
  const balances = `${formatMoney(here.balance, currency)} here and ${formatMoney(there.balance, currency)} in the file`;
  return {
    ...{ ...NONE, cardName: name, reason, currency, here: here.balance, there: there.balance },
    transferId: explaining?.transferId ?? null,
    message: `The card has ${balances}. ${why}`,
  };
}

function otherHold({ name, currency }: CardHere, hold: HoldHere, there: ComparedHold): Difference {
  const { amount, reference, transferId } = hold;
  const message = `A hold is for ${formatMoney(amount, currency)} here and for ${formatMoney(there.amount, currency)} in the file.`;
  const amounts = { here: amount, there: there.amount };
  return { ...amounts, cardName: name, reason: 'other_hold_amount', currency, transferId, reference, message };
}

/** `balanceThere` is given if the hold was captured there. */
function releasedHold(
  { name, currency, balance }: CardHere,
  { amount, reference, transferId }: HoldHere,
  balanceThere: bigint | undefined,
): Difference {
  const held = `A hold of ${formatMoney(amount, currency)} is open here, and the file does not have it.`;
  const isCaptured = balanceThere !== undefined;
  const message = isCaptured
    ? `${held} The balance in the file is ${formatMoney(balance - balanceThere, currency)} lower.`
    : held;
  const reason = isCaptured ? 'hold_captured_there' : 'hold_released_there';
  return { cardName: name, reason, currency, here: amount, there: null, transferId, reference, message };
}

function missingHold({ name, currency }: CardHere, { amount, reference }: ComparedHold): Difference {
  const message = `The file has a hold of ${formatMoney(amount, currency)}, which is not open here.`;
  return { ...NONE, cardName: name, reason: 'hold_only_there', currency, there: amount, reference, message };
}

/** The facts in the report of a comparison. */
export type Compared = {
  readonly fileName: string;
  readonly cardCount: number;
  readonly differingCards: number;
  readonly differences: DifferenceCounts;
  readonly totalsHere: MoveInTotals;
};

/** Says in one sentence whether every card has the balance that the old ledger has. */
export function reportOf({ fileName, cardCount, differingCards, differences, totalsHere }: Compared): string {
  const cardsOfFile = counted(cardCount, 'card');
  if (differingCards > 0 && differences.other_status === differingCards && Object.keys(differences).length === 1) {
    const have = `${grouped(differingCards)} of its ${cardsOfFile} ${differingCards === 1 ? 'has' : 'have'}`;
    return `Every card has the balance and the holds that the old ledger has in '${fileName}', but ${have} another status.`;
  }
  if (differingCards > 0) {
    return `Not every card has the balance and the holds that the old ledger has in '${fileName}': ${counted(differingCards, 'card')} ${differingCards === 1 ? 'differs' : 'differ'}, and the file has ${cardsOfFile}.`;
  }
  const sums = Object.entries(totalsHere).map(([currency, { cards, balance, holds, held }]) => {
    const sum = `${counted(cards, 'card')} with ${formatMoney(BigInt(balance), currency)}`;
    if (holds === 0) return `${sum} and no holds`;
    return `${sum}, of which ${counted(holds, 'hold')} ${holds === 1 ? 'has' : 'have'} ${formatMoney(BigInt(held), currency)}`;
  });
  return `Every card has the balance and the holds that the old ledger has in '${fileName}': ${sums.join('; ')}.`;
}

const counted = (count: number, name: string): string => `${grouped(count)} ${name}${count === 1 ? '' : 's'}`;

const grouped = (count: number): string => count.toLocaleString('en-US');
