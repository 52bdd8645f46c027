import type { Static } from 'typebox';
import { isCurrency } from '../../domain/ledger/money.ts';
import { MAX_HOLD_MILLISECONDS } from '../../domain/transfers/transfer.ts';
import { MoveInLine } from '../move-ins.ts';
import { findCardNumber } from './card-numbers.ts';
import { isJsonObject, type JsonValue } from './json.ts';
import { type Problem, readFields } from './read-fields.ts';

type Fields = Static<typeof MoveInLine>;

/** A valid line of a move-in: a card with its balance, or an open hold. Amounts are in minor units. */
export type ReadLine =
  | (Omit<Fields, 'kind' | 'balance'> & { readonly kind: 'card'; readonly balance: number })
  | (Pick<Fields, 'card_id' | 'reference' | 'description'> & {
      readonly kind: 'hold';
      readonly amount: number;
      readonly expires_at: string;
    });

/**
 * The first problem of a line. `field` is the JSON pointer of the field in the line. `code` is undefined if the line does not match
 * the schema.
 */
export type LineProblem = Problem & { readonly code?: 'card_number_refused' };

/** The fields that only a card, or only a hold, can have. */
const FIELDS_OF = {
  card: ['currency', 'balance', 'status', 'holder_reference', 'last_four', 'expires_on', 'metadata'],
  hold: ['amount', 'expires_at', 'reference', 'description'],
} as const;

const GENERATED_CARD_ID = /^card_[0-9a-f]{32}$/;

/**
 * Validates one line of a move-in by itself. Returns the line, or its first problem with the JSON pointer of the field in the line.
 * `now` is in milliseconds since 1970.
 */
export function readMoveInLine(sent: JsonValue, now: number): ReadLine | { readonly problem: LineProblem } {
  if (!isJsonObject(sent)) return problem('', 'A line must be an object.');
  const number = findCardNumber(sent, MoveInLine, 'row');
  if (number !== undefined) return { problem: { ...number, code: 'card_number_refused' } };
  const reading = readFields(MoveInLine, sent, 'body');
  if ('problem' in reading) return problem(reading.problem.field, reading.problem.message);
  const { fields } = reading;
  const { kind, card_id: cardId } = fields;
  const other = kind === 'card' ? 'hold' : 'card';
  const foreign = FIELDS_OF[other].find((name) => fields[name] !== undefined);
  if (foreign !== undefined) return problem(`/${foreign}`, `'${foreign}' can only be sent with 'kind': '${other}'.`);
  if (GENERATED_CARD_ID.test(cardId)) {
    return problem('/card_id', "'card_id' looks like an id that the service gives. Choose another.");
  }
  if (kind === 'card') {
    const { balance, currency } = fields;
    if (balance === undefined) return missing('balance', 'a card');
    if (currency !== undefined && !isCurrency(currency)) {
      const message = `'currency' is '${currency}', which is not an ISO 4217 currency code, such as USD, EUR or JPY.`;
      return problem('/currency', message);
    }
    return { ...fields, kind, balance };
  }
  const { amount, expires_at: expiresAt, reference, description } = fields;
  if (amount === undefined) return missing('amount', 'a hold');
  if (expiresAt === undefined) return missing('expires_at', 'a hold');
  if (Date.parse(expiresAt) > now + MAX_HOLD_MILLISECONDS) {
    return problem('/expires_at', `'expires_at' is ${expiresAt}, but a hold lasts at most 90 days.`);
  }
  return {
    ...{ kind, card_id: cardId, amount, expires_at: expiresAt },
    ...(reference === undefined ? {} : { reference }),
    ...(description === undefined ? {} : { description }),
  };
}

const missing = (field: string, of: string) =>
  problem(`/${field}`, `The required field '${field}' is missing: ${of} needs it.`);

const problem = (field: string, message: string): { readonly problem: LineProblem } => ({
  problem: { field, message },
});
