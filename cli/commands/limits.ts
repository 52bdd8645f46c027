import { InvalidArgumentError } from 'commander';
import { type CardLimits, type CardLimitsPatch, type CardLimitsRecord, LIMIT_NAMES } from '../../sdk/client.ts';
import { parseJson } from '../../sdk/generated/parse-json.ts';
import { alignedLines, type Column, money, type Pair, table, wrap } from '../output.ts';
import { plainTime } from '../times.ts';

type TypedLimit = { readonly direction: string | undefined; readonly name: string; readonly value: number | null };
/** A change of limits as the value of an option. The patch is wrapped, because commander turns null into an empty string. */
export type LimitsChange = { readonly patch: CardLimitsPatch | null };

type LimitState = CardLimitsRecord['in']['limits'][number];
type Row = Pick<LimitState, 'value' | 'left' | 'set_by'> & Partial<LimitState> & { readonly limit: string };

const ONCE = 'It can be given only once, with all limits.';

export const LIMITS_FORM = 'name=value,..., or JSON';

export const LIMITS_NOTES = `\n${[
  'Limits:\n',
  indented('Example:'),
  '    in.maximum_amount=50000,out.daily_count=5,maximum_balance=200000\n',
  indented('in. limits incoming money, out. limits outgoing money. The limits are:'),
  indented(`${LIMIT_NAMES.join(', ')}.`),
  indented(
    'Amounts are in minor units: 50000 is 500.00 USD. Periods are in the time zone of the card program, and weeks ' +
      'begin on Monday. maximum_balance applies to cards only.',
  ),
]
  .join('')
  .trimEnd()}`;

export const LIMITS_CHANGE_NOTES = `${LIMITS_NOTES}\n${indented(
  'Omitted limits keep their values. out.daily_count=none removes one limit, in=none or out=none removes all limits ' +
    'of that direction, and none removes all limits.',
).trimEnd()}`;

function indented(text: string): string {
  return wrap(text, '  ', '  ');
}

/**
 * Reads the limits of a new card: `out.daily_count=5,maximum_balance=200000`, or JSON. The service validates the names
 * and values. Throws InvalidArgumentError for any other text.
 */
export function readLimits(text: string, before: CardLimits | undefined): CardLimits {
  if (before !== undefined) throw new InvalidArgumentError(ONCE);
  const limits = readPatch(text);
  if (limits === null || text.includes('=none')) {
    throw new InvalidArgumentError('A new card has no limits to remove: omit the limit.');
  }
  return limits as CardLimits;
}

/** Reads a change of limits in the same form, with `none` to remove a limit, a direction or all limits. Throws as above. */
export function readLimitsChange(text: string, before: LimitsChange | undefined): LimitsChange {
  if (before !== undefined) throw new InvalidArgumentError(ONCE);
  return { patch: readPatch(text) };
}

function readPatch(text: string): CardLimitsPatch | null {
  if (text === 'none') return null;
  if (text.trimStart().startsWith('{')) return readJson(text);
  const limits = text.split(',').map(readTypedLimit);
  const names = limits.map(({ direction, name }) => `${direction}.${name}`);
  if (new Set(names).size < names.length) throw new InvalidArgumentError('It sets the same limit twice.');
  const top = fieldsOf(undefined, limits);
  const both = limits.find(({ direction }) => direction !== undefined && Object.hasOwn(top, direction));
  if (both !== undefined) {
    throw new InvalidArgumentError(`It removes all limits of '${both.direction}' and sets one of them.`);
  }
  return { ...directionOf('in', limits), ...directionOf('out', limits), ...top };
}

function readJson(text: string): CardLimitsPatch {
  try {
    return parseJson(text) as CardLimitsPatch;
  } catch (error) {
    throw new InvalidArgumentError(`It is not valid JSON: ${error instanceof Error ? error.message : error}.`);
  }
}

function readTypedLimit(text: string): TypedLimit {
  const match = /^\s*(?:(in|out)\.)?([a-z_]+)=([0-9]{1,16}|none)\s*$/.exec(text);
  const [, direction, name, value] = match ?? [];
  if (name === undefined) {
    throw new InvalidArgumentError(`'${text}' is not a limit. Example: out.daily_amount=50000.`);
  }
  return { direction, name, value: value === 'none' ? null : Number(value) };
}

function directionOf(direction: 'in' | 'out', limits: readonly TypedLimit[]): CardLimitsPatch {
  const fields = fieldsOf(direction, limits);
  return Object.keys(fields).length === 0 ? {} : { [direction]: fields };
}

function fieldsOf(direction: string | undefined, limits: readonly TypedLimit[]): Record<string, number | null> {
  return Object.fromEntries(
    limits.filter((limit) => limit.direction === direction).map(({ name, value }) => [name, value]),
  );
}

/** Describes the range of a card's next transfer in each direction, then every limit and what remains of it. */
export function describeCardLimits(record: CardLimitsRecord, width: number | undefined): string {
  const { currency, maximum_balance: most } = record;
  const pairs: Pair[] = [
    ['card_id', record.card_id],
    ['program_id', record.program_id],
    ['balance', money(record.balance, currency)],
    ['available', money(record.available, currency)],
    ['incoming', money(record.incoming, currency)],
    ['next transfer in', rangeOf(record.in, currency)],
    ['next transfer out', rangeOf(record.out, currency)],
    ['evaluated_at', plainTime(record.evaluated_at)],
  ];
  const rows: readonly Row[] = [
    ...record.in.limits.map((state) => ({ ...state, limit: `in.${state.name}` })),
    ...record.out.limits.map((state) => ({ ...state, limit: `out.${state.name}` })),
    ...(most === null ? [] : [{ ...most, limit: 'maximum_balance' }]),
  ];
  const limits = rows.length === 0 ? 'No limits.\n' : table(columnsIn(currency), rows, width);
  return `${alignedLines(pairs)}\n${limits}`;
}

function rangeOf({ allowed, code, most, least }: CardLimitsRecord['in'], currency: string): string {
  if (!allowed) return `not allowed: ${code}`;
  return most === 0 || most < least ? 'none available' : `${money(least, currency)} to ${money(most, currency)}`;
}

function columnsIn(currency: string): readonly Column<Row>[] {
  const figure = ({ limit }: Row, value: number | string | null | undefined): string | null => {
    if (value === null || value === undefined) return null;
    return limit.endsWith('_count') ? String(value) : money(value, currency);
  };
  return [
    'limit',
    'set_by',
    { heading: 'value', show: (row) => figure(row, row.value), right: true },
    { heading: 'used', show: (row) => figure(row, row.used), right: true },
    { heading: 'left', show: (row) => figure(row, row.left), right: true },
    {
      heading: 'frees_at',
      show: ({ frees_at: time }) => (time === null || time === undefined ? null : plainTime(time)),
    },
  ];
}
