import type { Random } from '../harness/random.ts';
import type { Schema } from './document.ts';

// Generates values that a schema allows: the limits of each type, and unusual values that real clients send.

/** A value from an earlier response: the step of the sequence, and the place in the response body. */
export class Reference {
  readonly step: number;
  readonly pointer: readonly (string | number)[];

  constructor(step: number, pointer: readonly (string | number)[]) {
    this.step = step;
    this.pointer = pointer;
  }
}

/** Finds a value for a field with this name in earlier responses. */
export type Known = (name: string) => Reference | undefined;

/**
 * Currencies with 0, 2 and 3 decimals. Without this list, every ISO 4217 currency would be tried, but programs use only
 * a few.
 */
const CURRENCIES = ['USD', 'EUR', 'JPY', 'KWD', 'CLP', 'GBP', 'ISK', 'BHD', 'MXN', 'CHF', 'XOF', 'TND'];
const ZONES = ['UTC', 'Asia/Kathmandu', 'America/St_Johns', 'Pacific/Chatham', 'Europe/Berlin', 'Australia/Lord_Howe'];
/** Names that every JavaScript object has. */
export const PROTOTYPE = ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'valueOf', 'propertyIsEnumerable'];
/** Strings with a special meaning in a path, a shell or a spreadsheet. */
export const TEXTS = [
  '.',
  '..',
  '...',
  '%2e',
  '%2E%2e',
  'a b',
  'a/b',
  'a%2fb',
  'a?b',
  'a#b',
  '0',
  'null',
  '=1+1',
  '@x',
  '-1',
];
/** Ids that a URL could change. In a path, each character of the last id takes three characters. */
export const oddIds = ({ maxLength = 300 }: Schema): readonly string[] => ['.', '..', '%'.repeat(maxLength)];
const WIDE = ['Ж', '中', '🙂', 'é', 'ß', 'ا'];

const FRACTIONS = ['', '.0', '.5', '.12', '.123', '.1234567', '.123456789'];
const OFFSETS = ['Z', 'z', '+00:00', '+05:45', '-03:30', '+12:45', '-12:00', '+14:00'];
const CLOCKS = ['00:00:00', '23:59:59', '12:30:15', '23:59:60', '01:00:00'];
const DAYS = ['2026-01-01', '2026-02-28', '2028-02-29', '2026-12-31', '2027-06-30', '2031-01-31'];

function dayAhead(days: number): string {
  return new Date(Date.now() + (days + 2) * 86_400_000).toISOString().slice(0, 10);
}

/** Generates a value. `name` is the name of the field or parameter. */
export function generateValue(schema: Schema, name: string, random: Random, known: Known, atEdges = false): unknown {
  const reference = random.chance(0.85) ? known(name) : undefined;
  if (reference !== undefined) return reference;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return random.pick(schema.enum);
  const variants = schema.oneOf ?? schema.anyOf;
  if (variants !== undefined) return generateValue(random.pick(variants), name, random, known, atEdges);
  if (schema.allOf !== undefined) return generateValue(merged(schema), name, random, known, atEdges);
  const type = typeof schema.type === 'object' ? random.pick(schema.type) : schema.type;
  switch (type) {
    case 'string':
      return textOf(schema, name, random, atEdges);
    case 'integer':
    case 'number':
      // Positions come from events. 0 is before all events.
      return name === 'after' ? random.pick([0, 0, 0, 0, 0, schema.maximum]) : numberOf(schema, random);
    case 'boolean':
      return random.chance(0.5);
    case 'null':
      return null;
    case 'array':
      return listOf(schema, name, random, known, atEdges);
    case 'object':
      return objectOf(schema, random, known, atEdges);
    default:
      return schema.properties === undefined
        ? textOf(schema, name, random, atEdges)
        : objectOf(schema, random, known, atEdges);
  }
}

function merged({ allOf = [], ...own }: Schema): Schema {
  const all = [own, ...allOf];
  return {
    ...Object.assign({}, ...all),
    properties: Object.assign({}, ...all.map(({ properties }) => properties)),
    required: all.flatMap(({ required = [] }) => required),
  };
}

function objectOf(schema: Schema, random: Random, known: Known, atEdges: boolean): Record<string, unknown> {
  const { properties = {}, required = [], dependentRequired = {}, additionalProperties } = schema;
  const names = new Set<string>(required);
  const share = random.pick([0.1, 0.4, 0.9]);
  for (const name of Object.keys(properties)) if (random.chance(share)) names.add(name);
  const optional = Object.keys(properties).filter((name) => !names.has(name));
  while (names.size < (schema.minProperties ?? 0) && optional.length > 0) names.add(optional.shift() ?? '');
  for (const name of names) for (const needed of dependentRequired[name] ?? []) names.add(needed);
  const made: [string, unknown][] = [...names].map((name) => [
    name,
    generateValue(properties[name] ?? {}, name, random, known, atEdges),
  ]);
  if (typeof additionalProperties === 'object') {
    const most = schema.maxProperties ?? 4;
    // Some strings have the maximum length and characters of up to four bytes.
    const isFull = random.chance(atEdges ? 0.5 : 0.15);
    for (let count = isFull ? most : random.below(Math.min(4, most + 1)); count > 0; count -= 1) {
      const name = isFull
        ? `n${count}`
        : textOf({ minLength: 1, maxLength: 40, ...schema.propertyNames }, 'name', random, atEdges);
      const { maxLength = 1 } = additionalProperties;
      const value = isFull ? random.pick(WIDE).repeat(maxLength) : undefined;
      made.push([name, value ?? generateValue(additionalProperties, name, random, () => undefined)]);
    }
  }
  // Keeps `__proto__` as an ordinary name.
  return Object.fromEntries(made);
}

function listOf(schema: Schema, name: string, random: Random, known: Known, atEdges: boolean): unknown[] {
  const least = schema.minItems ?? 0;
  const count = least + random.below(Math.min(3, (schema.maxItems ?? 3) - least) + 1);
  const items = Array.from({ length: count }, () => generateValue(schema.items ?? {}, name, random, known, atEdges));
  return schema.uniqueItems === true || schema.items?.enum !== undefined ? [...new Set(items)] : items;
}

function numberOf({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: Schema, random: Random): number {
  // Mostly small amounts, so that balances suffice.
  if (random.chance(0.5)) return minimum + random.below(Math.min(1000, maximum - minimum) + 1);
  return random.pick([minimum, maximum, Math.min(maximum, minimum + 1), Math.max(minimum, maximum - 1)]);
}

function textOf(schema: Schema, name: string, random: Random, atEdges: boolean): string {
  const { minLength = 0, maxLength = 300, pattern, format, 'x-seconds-ago': ago } = schema;
  if (format === 'date') {
    const isPast = ago !== undefined && random.chance(0.9);
    return isPast ? dayAhead(-4 - random.below(300)) : random.pick(DAYS);
  }
  if (format === 'date-time') {
    const [offset, clock] = [random.pick(OFFSETS), random.pick(CLOCKS)];
    // A leap second is the last second of a UTC day.
    const isLeap = clock.endsWith(':60') && !/^(?:[zZ]|\+00:00)$/.test(offset);
    // Scheduled times are mostly in the future. Times in searches can be at any time.
    const isSearched = /(^|_)(from|to)$|^started/.test(name);
    const anyDay = isSearched || random.chance(0.1) ? random.pick(DAYS) : dayAhead(random.below(60));
    const day = ago === undefined ? anyDay : dayAhead(-4 - random.below(300));
    return `${day}${random.pick(['T', 't'])}${isLeap ? '23:59:59' : clock}${random.pick(FRACTIONS)}${offset}`;
  }
  if (format === 'uri' || /(^|_)url$/.test(name)) return `https://hooks.example/${random.digits(6)}`;
  if (/currency$/.test(name)) return random.pick(CURRENCIES);
  if (/time_zone$/.test(name)) return random.pick(ZONES);
  const isAllowed = (text: string): boolean =>
    [...text].length >= minLength &&
    [...text].length <= maxLength &&
    (pattern === undefined || new RegExp(pattern, 'u').test(text));
  if (minLength === 0 && random.chance(0.2)) return '';
  const odd = oddIds(schema).filter(isAllowed);
  if (/_id$/.test(name) && odd.length > 0 && (atEdges || random.chance(0.3))) return random.pick(odd);
  const candidates = [
    ...TEXTS,
    ...PROTOTYPE,
    ...PROTOTYPE.map((one) => `${one}-${random.digits(6)}`),
    `x${random.digits(8)}`,
    random.digits(4),
    random.digits(Math.max(1, Math.min(9, maxLength))),
    `usd-${random.digits(3)}`,
    'x'.repeat(minLength),
    'x'.repeat(maxLength),
    // In a path, each of these characters takes three characters.
    '%'.repeat(maxLength),
    ...(pattern === undefined
      ? WIDE.flatMap((letter) => [letter.repeat(Math.max(1, minLength)), letter.repeat(maxLength)])
      : []),
    ...fromPattern(pattern, random),
  ].filter(isAllowed);
  return candidates.length === 0 ? 'x'.repeat(Math.max(minLength, 1)) : random.pick(candidates);
}

/** Generates strings for the few patterns that no other candidate matches, such as ids with a prefix and capital letters. */
function fromPattern(pattern: string | undefined, random: Random): string[] {
  const [, prefix] = /^\^([a-z]+_)\[0-9a-f\]\{32\}\$$/.exec(pattern ?? '') ?? [];
  if (prefix !== undefined) return [`${prefix}${random.digits(32)}`];
  return [
    'card.*',
    'transfer.completed,card.*',
    'ABC',
    '1234567890123456',
    '404',
    '5xx',
    'none',
    'approve',
    'decline=51',
    'slow=0.1',
    'pending=86400',
  ];
}
