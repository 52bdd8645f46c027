import type { TObject } from 'typebox';
import { isCardNumberAlone, readsAsCardNumber, urlReadsAsCardNumber } from '../../domain/cards/card-number.ts';
import { type AmountAsSent, readAmount } from '../../domain/ledger/money.ts';
import { Refusal } from '../../domain/refusal.ts';
import { isJsonObject, JsonNumber, type JsonValue } from './json.ts';
import type { Problem } from './read-fields.ts';

const FOUND = 'looks like a card number, which the service does not accept.';
const ADVICE = `${FOUND} Remove it, and identify the card by its card_id.`;
/** Asks for another key, because a request without a key could create a transfer twice. */
const ADVICE_FOR_KEYS = `${FOUND} Use another key, such as a UUID.`;

/**
 * Finds a card number in a body or a query: in values at any depth, in field names, and in unknown fields. The problem does not
 * contain the number.
 *
 * A JSON number in a field of the schema is an amount or a count and never a card number. Rows of a batch are skipped: each is
 * checked separately, with the schema of a row. A URL is also checked after percent-decoding. An idempotency key is refused only
 * if all of it is a card number. Otherwise it is accepted, and stored as a digest where needed.
 */
export function findCardNumber(
  value: JsonValue,
  schema: TObject | undefined,
  from: 'body' | 'query' | 'row',
): Problem | undefined {
  if (!isJsonObject(value)) return findInside(value, { path: [], from, areNumbersCounts: false });
  const known: Readonly<Record<string, unknown>> = schema?.properties ?? {};
  for (const name of Object.keys(value)) {
    const member = value[name] as JsonValue;
    const isKnown = Object.hasOwn(known, name);
    if (!isKnown && readsAsCardNumber(name)) return nameProblem([], from);
    const isUrl = isKnown && name === 'url';
    if (typeof member === 'string' && !(isUrl ? urlReadsAsCardNumber(member) : readsAsCardNumber(member))) continue;
    if (isUrl && typeof member === 'string') return valueProblem({ path: [name], from, areNumbersCounts: true });
    if (isKnown && (Array.isArray(member) || member instanceof JsonNumber)) continue;
    if (isKnown && name === 'idempotency_key' && typeof member === 'string' && !isCardNumberAlone(member)) continue;
    const problem = findInside(member, { path: [name], from, areNumbersCounts: isKnown });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Returns the problem with an Idempotency-Key header that is a card number, or undefined. */
export function findCardNumberInKey(key: string | undefined): Problem | undefined {
  if (key === undefined || !isCardNumberAlone(key)) return undefined;
  return { field: '', message: `The Idempotency-Key header ${ADVICE_FOR_KEYS}` };
}

/** Returns the problem with a header or path parameter that looks like a card number in any encoding, or undefined. */
export function findCardNumberIn(what: string, value: string | undefined, field = ''): Problem | undefined {
  if (value === undefined || !urlReadsAsCardNumber(value)) return undefined;
  return { field, message: `${what} ${ADVICE}` };
}

/**
 * Returns the refusal of a card number, or `invalid_amount` if the amount is invalid too, because that error takes precedence.
 * `amount` is undefined for operations without one.
 */
export function refusalOfCardNumber(problem: Problem, amount: AmountAsSent | undefined): Refusal {
  const reading = amount === undefined ? undefined : readAmount(amount);
  if (reading !== undefined && 'problem' in reading) {
    return new Refusal('invalid_amount', reading.problem, { field: '/amount' });
  }
  const { field, message } = problem;
  return new Refusal('card_number_refused', message, field === '' ? {} : { field });
}

type Place = {
  readonly path: readonly string[];
  readonly from: 'body' | 'query' | 'row';
  readonly areNumbersCounts: boolean;
};

function findInside(value: JsonValue, place: Place): Problem | undefined {
  if (typeof value === 'string') return readsAsCardNumber(value) ? valueProblem(place) : undefined;
  if (value instanceof JsonNumber) {
    return !place.areNumbersCounts && readsAsCardNumber(value.source) ? valueProblem(place) : undefined;
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const problem = findInside(item, { ...place, path: [...place.path, String(index)] });
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  for (const [name, member] of Object.entries(value)) {
    if (readsAsCardNumber(name)) return nameProblem(place.path, place.from);
    const problem = findInside(member, { ...place, path: [...place.path, name] });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function valueProblem({ path, from }: Place): Problem {
  const where = path.length === 0 ? `The ${from}` : `'${path.map(shortened).join('.')}'`;
  const advice = path.length === 1 && path[0] === 'idempotency_key' ? ADVICE_FOR_KEYS : ADVICE;
  return { field: pointerTo(path), message: `${from === 'query' ? `${where} in the query` : where} ${advice}` };
}

/** A field name that is a card number cannot be quoted. The message names the object around it. */
function nameProblem(path: readonly string[], from: Place['from']): Problem {
  const owner = path.length === 0 ? `the ${from}` : `'${path.map(shortened).join('.')}'`;
  return { field: pointerTo(path), message: `A field name in ${owner} ${ADVICE}` };
}

/** The JSON pointer (RFC 6901) of a field. */
function pointerTo(path: readonly string[]): string {
  return path.map((name) => `/${shortened(name).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function shortened(name: string): string {
  return name.length > 40 ? `${name.slice(0, 40)}…` : name;
}
