import { fromWireId, type IdentifierPrefix } from '../../../domain/identifier.ts';
import { CURRENCY_EXPONENTS, MAXIMUM_AMOUNT } from '../../../domain/ledger/money.ts';
import { tokenHashOf } from '../../store/card.ts';

/** An amount in minor units, and the currencies whose number of decimals gives this amount. */
export type TermAmount = { readonly amount: number; readonly currencies: readonly string[] };

export type Term = {
  readonly text: string;
  /** An id with a known prefix. If it is set, the term cannot mean anything else. Ids of cards are in `cardName`. */
  readonly id: { readonly prefix: IdentifierPrefix; readonly inner: string } | undefined;
  /** The id of a card, or a prefix of such an id. */
  readonly cardName: string | undefined;
  readonly lastFour: string | undefined;
  /** The hash that finds a card. The term is either this hash itself or the card's token at the processor. */
  readonly tokenHash: string;
  /** The possible amounts: one for each number of decimals that currencies have. */
  readonly amounts: readonly TermAmount[];
  /** Part of a holder's name with an amount: `Priya 75`. */
  readonly ofHolder: { readonly part: string; readonly amounts: readonly TermAmount[] } | undefined;
};

/** The id prefixes that `search` understands. */
const PREFIXES: readonly IdentifierPrefix[] = [
  'tr',
  'rev',
  'req',
  'case',
  'inc',
  'prog',
  'evt',
  'key',
  'per',
  'apr',
  'wh',
  'dep',
  'wd',
  'aud',
];

const AMOUNT =
  /^([A-Za-z]{3}\s+|[$€£¥]\s*)?([0-9]{1,12}|[0-9]{1,3}(?:,[0-9]{3}){1,3})(?:\.([0-9]{1,4}))?(\s+[A-Za-z]{3}|\s*[$€£¥])?$/;

/** The currencies that people write with a sign. */
const SIGNS: Readonly<Record<string, readonly string[]>> = {
  $: ['USD', 'AUD', 'CAD', 'HKD', 'MXN', 'NZD', 'SGD'],
  '€': ['EUR'],
  '£': ['GBP'],
  '¥': ['JPY', 'CNY'],
};

/** Minimum length of the searched part of a name. Shorter parts occur in too many names. */
export const MIN_NAME_LENGTH = 3;

export function readTerm(sent: string): Term {
  const text = sent.trim();
  const id = PREFIXES.map((prefix) => ({ prefix, inner: fromWireId(prefix, text) })).find(hasInner);
  return {
    text,
    id,
    cardName: id === undefined && /^[\x21-\x7e]+$/.test(text) ? text : undefined,
    lastFour: /^[0-9]{4}$/.test(text) ? text : undefined,
    tokenHash: /^[0-9a-f]{64}$/i.test(text) ? text.toLowerCase() : tokenHashOf(text),
    amounts: readAmounts(text),
    ofHolder: readOfHolder(text),
  };
}

/** Reads an amount of one or two words, after or before part of a name: `Priya 75`, `75 USD Priya`. */
function readOfHolder(text: string): Term['ofHolder'] {
  if (readAmounts(text).length > 0) return undefined;
  const words = text.split(/\s+/);
  for (const count of [2, 1]) {
    for (const at of [words.length - count, 0]) {
      const part = words.toSpliced(at, count).join(' ');
      const amounts = readAmounts(words.slice(at, at + count).join(' '));
      if (amounts.length > 0 && part.length >= MIN_NAME_LENGTH) return { part, amounts };
    }
  }
  return undefined;
}

function hasInner<Id extends { readonly inner: string | undefined }>(id: Id): id is Id & { readonly inner: string } {
  return id.inner !== undefined;
}

/**
 * Reads `12.34`, `$12.34` or `12.34 USD`, with optional commas between thousands. `12.34` is 1234 minor units in most currencies,
 * 12340 in currencies with three decimals, and not an amount in currencies without decimals.
 */
function readAmounts(text: string): readonly TermAmount[] {
  const [found, before, whole = '', decimals = '', after] = AMOUNT.exec(text) ?? [];
  if (found === undefined || (before !== undefined && after !== undefined)) return [];
  const unit = (before ?? after)?.trim().toUpperCase();
  const own = unit === undefined ? undefined : (SIGNS[unit] ?? [unit]);
  const units = whole.replaceAll(',', '');
  const byExponent = Map.groupBy(Object.entries(CURRENCY_EXPONENTS), ([, exponent]) => exponent);
  return [...byExponent].flatMap(([exponent, entries]) => {
    const currencies = entries.map(([code]) => code).filter((code) => own === undefined || own.includes(code));
    // More decimals than the currency has are allowed only if they are zeros.
    if (currencies.length === 0 || /[1-9]/.test(decimals.slice(exponent))) return [];
    const amount = BigInt(units + decimals.slice(0, exponent).padEnd(exponent, '0'));
    return amount < 1n || amount > MAXIMUM_AMOUNT ? [] : [{ amount: Number(amount), currencies }];
  });
}
