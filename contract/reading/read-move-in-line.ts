import type { Static, TObject } from 'typebox';
import { isCurrency } from '../../domain/ledger/money.ts';
import { MOVE_IN_LINE_KINDS, type MoveInLineKind } from '../../domain/move-in.ts';
import { MAX_HOLD_MILLISECONDS } from '../../domain/transfers/transfer.ts';
import { ComparedCard, ComparedHold } from '../comparisons.ts';
import { MoveInLine } from '../move-ins.ts';
import { findCardNumber } from './card-numbers.ts';
import { isJsonObject, type JsonValue } from './json.ts';
import { type Problem, readFields } from './read-fields.ts';

type Fields = Static<typeof MoveInLine>;

type Kept<Names extends keyof Fields> = Pick<Fields, 'card_id' | Names>;

/** A valid line of a move-in. Amounts are in minor units. */
export type ReadLine =
  | (Kept<'currency' | 'status' | 'holder_reference' | 'last_four' | 'expires_on' | 'metadata'> & {
      readonly kind: 'card';
      readonly balance: number;
    })
  | (Kept<'reference' | 'description'> & {
      readonly kind: 'hold';
      readonly amount: number;
      readonly expires_at: string;
    })
  | (Kept<'reference' | 'idempotency_key'> & { readonly kind: 'transfer' })
  | (Kept<never> & { readonly kind: 'change'; readonly balance_before: number; readonly balance: number })
  | (Kept<never> & { readonly kind: 'release'; readonly transfer_id: string });

/**
 * The first problem of a line. `field` is the JSON pointer of the field in the line. `code` is undefined if the line does not match
 * the schema.
 */
export type LineProblem = Problem & { readonly code?: 'card_number_refused' };

type FieldsOfKind = { readonly needs: readonly (keyof Fields)[]; readonly takes: readonly (keyof Fields)[] };

/** The fields that each kind of line needs, and those that it can have in addition. */
const FIELDS_OF: Readonly<Record<MoveInLineKind, FieldsOfKind>> = {
  card: {
    needs: ['balance'],
    takes: ['currency', 'status', 'holder_reference', 'last_four', 'expires_on', 'metadata'],
  },
  hold: { needs: ['amount', 'expires_at'], takes: ['reference', 'description'] },
  transfer: { needs: [], takes: ['reference', 'idempotency_key'] },
  change: { needs: ['balance_before', 'balance'], takes: [] },
  release: { needs: ['transfer_id'], takes: [] },
};

const GENERATED_CARD_ID = /^card_[0-9a-f]{32}$/;

/**
 * Validates one line of a move-in by itself. Returns the line, or its first problem with the JSON pointer of the field in the line.
 * `now` is in milliseconds since 1970.
 */
export function readMoveInLine(sent: JsonValue, now: number): ReadLine | { readonly problem: LineProblem } {
  const fields = readRow(MoveInLine, sent, 'A line');
  if ('problem' in fields) return fields;
  const { kind, card_id: cardId, currency, expires_at: expiresAt } = fields;
  const { needs, takes } = FIELDS_OF[kind];
  const foreign = (Object.keys(fields) as (keyof Fields)[]).find((name) => !isOf(kind, name));
  if (foreign !== undefined) {
    const kinds = MOVE_IN_LINE_KINDS.filter((other) => isOf(other, foreign)).map((other) => `'${other}'`);
    return problem(`/${foreign}`, `'${foreign}' can only be sent with 'kind': ${kinds.join(' or ')}.`);
  }
  if (GENERATED_CARD_ID.test(cardId)) {
    return problem('/card_id', "'card_id' looks like an id that the service gives. Choose another.");
  }
  const absent = needs.find((name) => fields[name] === undefined);
  if (absent !== undefined) return missing(absent, kind);
  if (kind === 'transfer' && takes.every((name) => fields[name] === undefined)) {
    return problem('/reference', "A transfer needs 'reference', 'idempotency_key' or both.");
  }
  if (currency !== undefined && !isCurrency(currency)) return noCurrency(currency);
  if (expiresAt !== undefined && Date.parse(expiresAt) > now + MAX_HOLD_MILLISECONDS) {
    return problem('/expires_at', `'expires_at' is ${expiresAt}, but a hold lasts at most 90 days.`);
  }
  if (kind === 'change' && fields.balance_before === fields.balance) {
    return problem('/balance', "'balance' is the same as 'balance_before', so nothing would change.");
  }
  return fields as ReadLine;
}

/** Whether a line of this kind can have the field. */
const isOf = (kind: MoveInLineKind, name: keyof Fields): boolean =>
  name === 'kind' || name === 'card_id' || [...FIELDS_OF[kind].needs, ...FIELDS_OF[kind].takes].includes(name);

/** A valid card of a balance file. Amounts are in minor units. */
export type ReadComparedCard = Omit<Static<typeof ComparedCard>, 'holds'> & {
  readonly holds: readonly Static<typeof ComparedHold>[];
};

/** Validates one card of a balance file by itself, with its holds. See {@link readMoveInLine}. */
export function readComparedCard(sent: JsonValue): ReadComparedCard | { readonly problem: LineProblem } {
  const fields = readRow(ComparedCard, sent, 'A card');
  if ('problem' in fields) return fields;
  if (fields.currency !== undefined && !isCurrency(fields.currency)) return noCurrency(fields.currency);
  const holds: Static<typeof ComparedHold>[] = [];
  for (const [index, hold] of (fields.holds ?? []).entries()) {
    const reading = readRow(ComparedHold, hold, 'A hold');
    if ('problem' in reading) {
      const { field, ...rest } = reading.problem;
      return { problem: { ...rest, field: `/holds/${index}${field}` } };
    }
    holds.push(reading);
  }
  return { ...fields, holds };
}

function readRow<Schema extends TObject>(
  schema: Schema,
  sent: JsonValue,
  what: string,
): Static<Schema> | { readonly problem: LineProblem } {
  if (!isJsonObject(sent)) return problem('', `${what} must be an object.`);
  const number = findCardNumber(sent, schema, 'row');
  if (number !== undefined) return { problem: { ...number, code: 'card_number_refused' } };
  const reading = readFields(schema, sent, 'body');
  return 'problem' in reading ? problem(reading.problem.field, reading.problem.message) : reading.fields;
}

const noCurrency = (currency: string) =>
  problem('/currency', `'currency' is '${currency}', which is not an ISO 4217 currency code, such as USD, EUR or JPY.`);

const missing = (field: string, of: string) =>
  problem(`/${field}`, `The required field '${field}' is missing: a ${of} needs it.`);

const problem = (field: string, message: string): { readonly problem: LineProblem } => ({
  problem: { field, message },
});
