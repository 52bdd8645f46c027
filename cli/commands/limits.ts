import { InvalidArgumentError } from 'commander';
import { type CardLimits, type CardLimitsPatch, type CardLimitsRecord, LIMIT_NAMES } from '../../sdk/client.ts';
import { alignedLines, type Column, money, type Pair, table, wrap } from '../output.ts';

type Bound = { readonly direction: string | undefined; readonly name: string; readonly value: number | null };
/** A change of limits as an option holds it; commander would turn a bare null into an empty text. */
export type LimitsChange = { readonly patch: CardLimitsPatch | null };

type LimitState = CardLimitsRecord['in']['limits'][number];
type Row = Pick<LimitState, 'value' | 'left' | 'set_by'> & Partial<LimitState> & { readonly limit: string };

const ONCE = 'It can be given once, with all limits.';

/** What an option that sets limits says of itself; the note below has the rest. */
export const LIMITS_FORM = 'name=value,..., or JSON';

/** The note under the help of a command that sets limits. */
export const LIMITS_NOTE = [
  '\nLimits:\n',
  indented('Limits are given such as'),
  '    in.maximum_amount=50000,out.daily_count=5,maximum_balance=200000\n',
  indented(`After in. (money that comes) and out. (money that goes) stands one of ${LIMIT_NAMES.join(', ')}.`),
  indented(
    'Amounts are minor units: 50000 is 500.00 USD. Days, weeks (from Monday) and months are those of the time zone of ' +
      'the program. Only a card has a maximum_balance.',
  ),
]
  .join('')
  .trimEnd();

/** The same, under the help of a command that changes limits. */
export const LIMITS_CHANGE_NOTE = [
  `${LIMITS_NOTE}\n`,
  indented(
    'What is not named stays as it is. The value none lifts a limit (out.daily_count=none), in=none and out=none all of ' +
      'that direction, and none alone all limits.',
  ),
]
  .join('')
  .trimEnd();

function indented(text: string): string {
  return wrap(text, '  ', '  ');
}

/**
 * Reads the limits of a new card as they are typed: `out.daily_count=5,maximum_balance=200000`, or JSON. Which names
 * there are and how large a limit may be, the service says. Throws InvalidArgumentError for what cannot be read.
 */
export function readLimits(text: string, before: CardLimits | undefined): CardLimits {
  if (before !== undefined) throw new InvalidArgumentError(ONCE);
  const limits = readPatch(text);
  if (limits === null || text.includes('=none')) {
    throw new InvalidArgumentError('There is nothing to lift: leave out what is not limited.');
  }
  return limits as CardLimits;
}

/** Reads a change of limits: the same, and `none` in place of a value, of a direction or of all. Throws as above. */
export function readLimitsChange(text: string, before: LimitsChange | undefined): LimitsChange {
  if (before !== undefined) throw new InvalidArgumentError(ONCE);
  return { patch: readPatch(text) };
}

function readPatch(text: string): CardLimitsPatch | null {
  if (text === 'none') return null;
  if (text.trimStart().startsWith('{')) return readJson(text);
  const bounds = text.split(',').map(readBound);
  const names = bounds.map(({ direction, name }) => `${direction}.${name}`);
  if (new Set(names).size < names.length) throw new InvalidArgumentError('It sets a limit twice.');
  const whole = membersOf(undefined, bounds);
  const both = bounds.find(({ direction }) => direction !== undefined && Object.hasOwn(whole, direction));
  if (both !== undefined) {
    throw new InvalidArgumentError(`It lifts all limits of '${both.direction}' and sets one of them.`);
  }
  return { ...directionOf('in', bounds), ...directionOf('out', bounds), ...whole };
}

function readJson(text: string): CardLimitsPatch {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidArgumentError(`It is no JSON: ${error instanceof Error ? error.message : error}.`);
  }
}

function readBound(text: string): Bound {
  const match = /^\s*(?:(in|out)\.)?([a-z_]+)=([0-9]{1,16}|none)\s*$/.exec(text);
  const [, direction, name, value] = match ?? [];
  if (name === undefined) {
    throw new InvalidArgumentError(`'${text}' is no limit; one looks like out.daily_amount=50000.`);
  }
  return { direction, name, value: value === 'none' ? null : Number(value) };
}

function directionOf(direction: 'in' | 'out', bounds: readonly Bound[]): CardLimitsPatch {
  const members = membersOf(direction, bounds);
  return Object.keys(members).length === 0 ? {} : { [direction]: members };
}

function membersOf(direction: string | undefined, bounds: readonly Bound[]): Record<string, number | null> {
  return Object.fromEntries(
    bounds.filter((bound) => bound.direction === direction).map(({ name, value }) => [name, value]),
  );
}

/** What a card could do now, for people: what one transfer could be, then every limit with what is left of it. */
export function describeCardLimits(record: CardLimitsRecord): string {
  const { currency, maximum_balance: most } = record;
  const pairs: Pair[] = [
    ['card_id', record.card_id],
    ['program_id', record.program_id],
    ['balance', money(record.balance, currency)],
    ['available', money(record.available, currency)],
    ['incoming', money(record.incoming, currency)],
    ['money in', roomIn(record.in, currency)],
    ['money out', roomIn(record.out, currency)],
    ['evaluated_at', record.evaluated_at],
  ];
  const rows: readonly Row[] = [
    ...record.in.limits.map((state) => ({ ...state, limit: `in.${state.name}` })),
    ...record.out.limits.map((state) => ({ ...state, limit: `out.${state.name}` })),
    ...(most === null ? [] : [{ ...most, limit: 'maximum_balance' }]),
  ];
  const limits = rows.length === 0 ? 'No limit is set.\n' : table(columnsIn(currency), rows);
  return `${alignedLines(pairs)}\n${limits}`;
}

function roomIn({ allowed, code, most, least }: CardLimitsRecord['in'], currency: string): string {
  if (!allowed) return `no: ${code}`;
  return most === 0 || most < least ? 'nothing now' : `${money(least, currency)} to ${money(most, currency)} at once`;
}

function columnsIn(currency: string): readonly Column<Row>[] {
  const figure = ({ limit }: Row, value: number | null | undefined): string | null => {
    if (value === null || value === undefined) return null;
    return limit.endsWith('_count') ? String(value) : money(value, currency);
  };
  return [
    { heading: 'limit', show: ({ limit }) => limit },
    { heading: 'set_by', show: (row) => row.set_by },
    { heading: 'value', show: (row) => figure(row, row.value), right: true },
    { heading: 'used', show: (row) => figure(row, row.used), right: true },
    { heading: 'left', show: (row) => figure(row, row.left), right: true },
    { heading: 'frees_at', show: (row) => row.frees_at ?? null },
  ];
}
