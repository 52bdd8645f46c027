import { fromWireId, type IdentifierPrefix } from '../../../domain/identifier.ts';
import { CURRENCY_EXPONENTS } from '../../../domain/ledger/currency.ts';
import { MAXIMUM_AMOUNT } from '../../../domain/ledger/money.ts';

/** An amount in minor units, and the currencies with the number of decimals that gives this amount. */
export type TermAmount = { readonly amount: number; readonly currencies: readonly string[] };

/** The possible meanings of a search text. */
export type Term = {
  /** Trimmed. */
  readonly text: string;
  /** An id with a known prefix; then the text has no other meaning. Ids of cards are not among them: see `cardName`. */
  readonly id: { readonly prefix: IdentifierPrefix; readonly inner: string } | undefined;
  /** The id of a card, or a prefix of one. */
  readonly cardName: string | undefined;
  readonly lastFour: string | undefined;
  /** One for each number of decimals that currencies have. */
  readonly amounts: readonly TermAmount[];
};

/** The prefixes of the ids by which `search` finds records. */
const PREFIXES: readonly IdentifierPrefix[] = ['tr', 'rev', 'req', 'prog', 'evt', 'key', 'wh', 'dep', 'wd', 'aud'];

const AMOUNT = /^([A-Za-z]{3}\s+)?([0-9]{1,12})(?:\.([0-9]{1,4}))?(\s+[A-Za-z]{3})?$/;

/** Finds the possible meanings of a search text. */
export function readTerm(sent: string): Term {
  const text = sent.trim();
  const id = PREFIXES.map((prefix) => ({ prefix, inner: fromWireId(prefix, text) })).find(hasInner);
  return {
    text,
    id,
    cardName: id === undefined && /^[\x21-\x7e]+$/.test(text) ? text : undefined,
    lastFour: /^[0-9]{4}$/.test(text) ? text : undefined,
    amounts: readAmounts(text),
  };
}

function hasInner<Id extends { readonly inner: string | undefined }>(id: Id): id is Id & { readonly inner: string } {
  return id.inner !== undefined;
}

/** `12.34` is 1234 in most currencies, 12340 in those with three decimals, and not an amount in those with none. */
function readAmounts(text: string): readonly TermAmount[] {
  const [found, before, whole = '', decimals = '', after] = AMOUNT.exec(text) ?? [];
  if (found === undefined || (before !== undefined && after !== undefined)) return [];
  const currency = (before ?? after)?.trim().toUpperCase();
  const byExponent = Map.groupBy(Object.entries(CURRENCY_EXPONENTS), ([, exponent]) => exponent);
  return [...byExponent].flatMap(([exponent, entries]) => {
    const currencies = entries.map(([code]) => code).filter((code) => currency === undefined || code === currency);
    // More decimals than those of the currency are allowed only if they are zeros.
    if (currencies.length === 0 || /[1-9]/.test(decimals.slice(exponent))) return [];
    const amount = BigInt(whole + decimals.slice(0, exponent).padEnd(exponent, '0'));
    return amount < 1n || amount > MAXIMUM_AMOUNT ? [] : [{ amount: Number(amount), currencies }];
  });
}
