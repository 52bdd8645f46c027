import pg from 'pg';

/** A value as `pg` returns it: a bigint, a Date, text, a number, parsed JSON, or null. */
export type Value = unknown;

/** A row as `pg` returns it. */
export type StoredRow = Readonly<Record<string, Value>>;

/** Some columns of a row. */
export function columnsOf(row: StoredRow, names: readonly string[]): StoredRow {
  const some: Record<string, Value> = {};
  for (const name of names) some[name] = row[name];
  return some;
}

/** The parameters of a statement, decoded from the message to PostgreSQL. */
export type Given = {
  /** The rows of each relation, such as `:sent`, by its name. */
  readonly rows: (name: string) => readonly StoredRow[];
  /** All other values, in the order of their first use in the text. */
  readonly values: readonly Value[];
};

/** Part of a statement. Merged writes have several. */
export type Part = { readonly name: string; readonly read: (values: readonly unknown[]) => Given };

const RELATION = /unnest\(((?:\$\d+::[a-z]+(?:\(\d+\))?\[\](?:, )?)+)\) as (\w+)\(([\w, ]+)\)/g;
const PLACE = /\$(\d+)/g;
const ARRAY = /\$(\d+)::[a-z]+(?:\(\d+\))?\[\]/g;

const known = new Map<string, readonly Part[]>();

/** The parts of a statement. Parts with the same name have the same text. */
export function partsOf(name: string, text: string): readonly Part[] {
  const key = name === '' ? text : name;
  let parts = known.get(key);
  if (parts === undefined) {
    parts = splitMerged(name, text).map((part) => toPart(part.name, part.text));
    known.set(key, parts);
  }
  return parts;
}

/** The writes of `mergeWrites`: `with first as (…), second as (…) select`. */
function splitMerged(name: string, text: string): readonly { readonly name: string; readonly text: string }[] {
  if (!name.startsWith('merged_writes_')) return [{ name, text }];
  const parts: { name: string; text: string }[] = [];
  let at = 'with '.length;
  while (!text.startsWith('select', at)) {
    const begin = text.indexOf(' as (', at);
    const partName = text.slice(at, begin);
    const end = closingOf(text, begin + ' as '.length);
    parts.push({ name: partName, text: text.slice(begin + ' as ('.length, end) });
    at = end + (text[end + 1] === ',' ? '), '.length : ') '.length);
  }
  return parts;
}

/** Returns the index of the parenthesis that closes the parenthesis at `open`. */
function closingOf(text: string, open: number): number {
  let depth = 0;
  let isQuoted = false;
  for (let at = open; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === "'") isQuoted = !isQuoted;
    if (isQuoted) continue;
    if (letter === '(') depth += 1;
    if (letter === ')') depth -= 1;
    if (depth === 0) return at;
  }
  throw new Error('a parenthesis of a merged statement has no end');
}

function toPart(name: string, text: string): Part {
  const relations = [...text.matchAll(RELATION)].map(([, places = '', relation = '', columns = '']) => ({
    relation,
    places: placesIn(places),
    columns: columns.split(', '),
  }));
  const taken = new Set(relations.flatMap(({ places }) => places));
  const arrays = new Set([...text.matchAll(ARRAY)].map(([, place]) => Number(place)));
  const scalars = [...new Set(placesIn(text))].filter((place) => !taken.has(place)).sort((one, two) => one - two);
  return {
    name,
    read: (values) => {
      const rows = new Map(
        relations.map(({ relation, places, columns }) => [
          relation,
          toRows(
            places.map((place) => readArray(values[place - 1] as Buffer)),
            columns,
          ),
        ]),
      );
      return {
        rows: (relation) => rows.get(relation) ?? [],
        values: scalars.map((place) => {
          const value = values[place - 1];
          return arrays.has(place) && Buffer.isBuffer(value) ? readArray(value) : value;
        }),
      };
    },
  };
}

function placesIn(text: string): readonly number[] {
  return [...text.matchAll(PLACE)].map(([, place]) => Number(place));
}

function toRows(columns: readonly (readonly Value[])[], names: readonly string[]): readonly StoredRow[] {
  const [first = []] = columns;
  return first.map((_, index) => {
    const row: Record<string, Value> = {};
    for (let column = 0; column < names.length; column += 1) row[names[column] as string] = columns[column]?.[index];
    return row;
  });
}

/** The time from which PostgreSQL counts, 2000-01-01, in milliseconds since 1970. */
const POSTGRES_EPOCH = 946_684_800_000;

/** Reads an array in the format of `ArrayWriter`. */
function readArray(bytes: Buffer): readonly Value[] {
  if (bytes.readInt32BE(0) === 0) return [];
  const oid = bytes.readInt32BE(8);
  const count = bytes.readInt32BE(12);
  const values: Value[] = [];
  let at = 20;
  for (let index = 0; index < count; index += 1) {
    const length = bytes.readInt32BE(at);
    at += 4;
    if (length < 0) {
      values.push(null);
      continue;
    }
    values.push(readValue(oid, bytes.subarray(at, at + length)));
    at += length;
  }
  return values;
}

function readValue(oid: number, bytes: Buffer): Value {
  switch (oid) {
    case 16:
      return bytes[0] === 1;
    case 17:
      return Buffer.from(bytes);
    case 20:
      return bytes.readBigInt64BE();
    case 21:
      return bytes.readInt16BE();
    case 23:
      return bytes.readInt32BE();
    case 1184:
      return new Date(Number(bytes.readBigInt64BE() / 1000n) + POSTGRES_EPOCH);
    case 2950:
      return toUuid(bytes.toString('hex'));
    case 3802:
      return JSON.parse(bytes.toString('utf8', 1));
    default: {
      const text = bytes.toString('utf8');
      if (text.includes('\0')) throw databaseError('22021', 'invalid byte sequence for encoding "UTF8": 0x00');
      return oid === 114 ? JSON.parse(text) : text;
    }
  }
}

export function toUuid(digits: string): string {
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20)}`;
}

/** An error as the server reports it. */
export function databaseError(sqlState: string, message: string): pg.DatabaseError {
  const error = new pg.DatabaseError(message, message.length, 'error');
  error.code = sqlState;
  error.severity = 'ERROR';
  return error;
}
