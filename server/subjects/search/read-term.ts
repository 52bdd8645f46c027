import { fromWireId, type IdentifierPrefix } from '../../../domain/identifier.ts';
import { CURRENCY_EXPONENTS } from '../../../domain/ledger/currency.ts';
import { MAXIMUM_AMOUNT } from '../../../domain/ledger/money.ts';

/** An amount in minor units, as it would be in some currencies. */
export type TermAmount = { readonly amount: number; readonly currencies: readonly string[] };

/** What a text that is searched for can be. */
export type Term = {
  /** Without spaces around it. */
  readonly text: string;
  /** An id whose prefix says what it names; then it is nothing else. Ids of cards are names: see `cardName`. */
  readonly id: { readonly prefix: IdentifierPrefix; readonly inner: string } | undefined;
  /** The id of a card, or the beginning of one. */
  readonly cardName: string | undefined;
  readonly lastFour: string | undefined;
  /** By the number of decimals of the currencies. */
  readonly amounts: readonly TermAmount[];
};

/** The prefixes of what `search` finds by its id. */
const PREFIXES: readonly IdentifierPrefix[] = ['tr', 'rev', 'req', 'prog', 'evt', 'key', 'wh', 'dep', 'wd', 'aud'];

const AMOUNT = /^([A-Za-z]{3}\s+)?([0-9]{1,12})(?:\.([0-9]{1,4}))?(\s+[A-Za-z]{3})?$/;

/** Reads what a text can be. */
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

/** `12.34` is 1234 in most currencies, 12340 where the minor unit has three decimals, and nothing where it has none. */
function readAmounts(text: string): readonly TermAmount[] {
  const [found, before, whole = '', decimals = '', after] = AMOUNT.exec(text) ?? [];
  if (found === undefined || (before !== undefined && after !== undefined)) return [];
  const currency = (before ?? after)?.trim().toUpperCase();
  const byExponent = Map.groupBy(Object.entries(CURRENCY_EXPONENTS), ([, exponent]) => exponent);
  return [...byExponent].flatMap(([exponent, entries]) => {
    const currencies = entries.map(([code]) => code).filter((code) => currency === undefined || code === currency);
    // What has more decimals than the currency is no amount of it, unless they are zeros.
    if (currencies.length === 0 || /[1-9]/.test(decimals.slice(exponent))) return [];
    const amount = BigInt(whole + decimals.slice(0, exponent).padEnd(exponent, '0'));
    return amount < 1n || amount > MAXIMUM_AMOUNT ? [] : [{ amount: Number(amount), currencies }];
  });
}
