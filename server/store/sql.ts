import { hash } from 'node:crypto';
import { ArrayWriter, type ElementType } from './binary-array.ts';
import type { Row, Statement } from './connection/database.ts';
import { eventsOf } from './connection/work.ts';

/** Converts values of one type to PostgreSQL and back. A null in SQL is null in both directions. */
export type Column<Value> = {
  /** Converts the value that `pg` returns. Undefined if no conversion is needed. */
  readonly read: ((stored: never) => Value | null) | undefined;
  /** Converts a value for use as one parameter. */
  write(value: Value): unknown;
  /** Writes the value as an element of an array parameter. Undefined for types that are arrays themselves. */
  readonly element: ElementType<Value> | undefined;
  /** The name of the type in casts. */
  readonly type: string;
};

/** Columns by property. The column for `programId` is `program_id`. */
export type ColumnSet = { readonly [property: string]: Column<unknown> };

export type RowOf<Columns extends ColumnSet> = {
  readonly [Property in keyof Columns]: Columns[Property] extends Column<infer Value> ? Value : never;
};

/** Arrays are copied into the message that sends them, so one writer is enough. */
const writer = new ArrayWriter();

/** Returns the column of a PostgreSQL type, given its name in casts and its number. `write` converts the value of one parameter. */
function columnOf<Value>(
  type: string,
  oid: number,
  element: (value: NonNullable<Value>, to: ArrayWriter) => void,
  more: { readonly write?: (value: Value) => unknown; readonly read?: Column<Value>['read'] } = {},
): Column<Value> {
  const { write = (value: Value): unknown => value, read } = more;
  return { read, write, element: { oid, write: element }, type };
}

const stringify = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));
const toDate = (time: number | null): Date | null => (time === null ? null : new Date(time));
const toTime = (date: Date | null): number | null => (date === null ? null : date.getTime());
const toNumber = (value: bigint | number | null): number | null => (value === null ? null : Number(value));
const toHex = (bytes: Buffer | null): string | null => (bytes === null ? null : bytes.toString('hex'));
const fromHex = (digits: string | null): Buffer | null => (digits === null ? null : Buffer.from(digits, 'hex'));
const writeText = (text: string, to: ArrayWriter): void => to.text(text);

export const UUID = columnOf<string>('uuid', 2950, (id, to) => to.uuid(id));
export const BIGINT = columnOf<bigint>('bigint', 20, (value, to) => to.bigint(value));
/** A sum of `bigint` values, which can exceed the range of `bigint`. It can only be read. */
export const SUM: Column<bigint> = { read: BigInt, write: String, element: undefined, type: 'numeric' };
export const SMALLINT = columnOf<number>('smallint', 21, (value, to) => to.smallint(value));
export const INTEGER = columnOf<number>('integer', 23, (value, to) => to.integer(value));
export const BOOLEAN = columnOf<boolean>('boolean', 16, (value, to) => to.boolean(value));
export const CURRENCY = columnOf<string>('char(3)', 1042, writeText);
/** Text that callers write. */
export const TEXT = columnOf<string>('text', 25, writeText);
/** Milliseconds since 1970, for a `timestamptz`. */
export const TIME = columnOf<number>('timestamptz', 1184, (time, to) => to.moment(time), {
  write: toDate,
  read: toTime,
});
/** A Date, for a `timestamptz`. */
export const DATE = columnOf<Date>('timestamptz', 1184, (date, to) => to.moment(date.getTime()));
/** A whole number in the database that is small enough for a JavaScript number. */
export const NUMBER = columnOf<number>('bigint', 20, (value, to) => to.wholeNumber(value), { read: toNumber });
export const BYTES = columnOf<Buffer>('bytea', 17, (bytes, to) => to.bytes(bytes));
/** Hexadecimal digits, for a `bytea`. */
export const HEX = columnOf<string>('bytea', 17, (digits, to) => to.hex(digits), { write: fromHex, read: toHex });
/** JSON text in a `text` column, kept exactly. */
export const JSON_TEXT = TEXT;

/** One of a fixed set of words. */
export const word = <Word extends string>(): Column<Word> => columnOf<Word>('text', 25, writeText);

/** A value in a column of PostgreSQL's type `json` or `jsonb`. */
export function json<Value>(type: 'json' | 'jsonb' = 'jsonb'): Column<Value> {
  const more = { write: stringify };
  if (type === 'json') return columnOf<Value>(type, 114, (value, to) => to.text(JSON.stringify(value)), more);
  return columnOf<Value>(type, 3802, (value, to) => to.jsonb(JSON.stringify(value)), more);
}

/** A column that may be null. */
export const nullable = <Value>(column: Column<Value>): Column<Value | null> => column as Column<Value | null>;

/** Many values of a column as one parameter. */
export function many<Value>(
  column: Column<Value>,
): Column<readonly Value[]> & { readonly sql: (place: string) => string } {
  const element = elementOf(column, 'many');
  // Also works for a column that may be null.
  const write = (values: readonly Value[] | null): Buffer | null =>
    values === null ? null : writer.writeAll(element, values);
  return {
    read: undefined,
    write,
    element: undefined,
    type: `${column.type}[]`,
    sql: (place) => arrayOf(column, place),
  };
}

function elementOf({ element, type }: Column<unknown>, name: string): ElementType<unknown> {
  if (element === undefined) throw new Error(`the parameter ${name} cannot have arrays of ${type}`);
  return element;
}

/** Returns the SQL for an array of values, given the placeholder of the parameter. */
function arrayOf({ type }: Pick<Column<unknown>, 'type'>, placeholder: string): string {
  return `${placeholder}::${type}[]`;
}

export type Columns<Set extends ColumnSet> = {
  readonly columns: Set;
  readonly names: string;
  /** The columns as a list, each with the name or alias of its table. */
  readonly of: (alias: string) => string;
  readonly read: (row: Row) => RowOf<Set>;
  readonly pick: <Property extends keyof Set>(...properties: readonly Property[]) => Columns<Pick<Set, Property>>;
  readonly omit: <Property extends keyof Set>(...properties: readonly Property[]) => Columns<Omit<Set, Property>>;
};

export function columnName(property: string): string {
  return property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

type ColumnRead = {
  readonly property: string;
  readonly name: string;
  readonly read: ((stored: unknown) => unknown) | undefined;
};

/**
 * Compiles the function that a person would write for these columns. It is thirty times as fast as a loop that sets the properties
 * by name. That matters for thousands of rows a second. All names come from the code of the store, and any name that is not a plain
 * identifier is refused.
 */
function readerOf(reads: readonly ColumnRead[]): (row: Row) => unknown {
  const members = reads.map(({ property, name, read }, index) => {
    if (!/^[A-Za-z]\w*$/.test(property)) throw new Error(`${property} is not the name of a property`);
    return `${property}: ${read === undefined ? `row.${name}` : `reads[${index}](row.${name})`}`;
  });
  const compile = new Function('reads', `return (row) => ({ ${members.join(', ')} });`);
  return compile(reads.map(({ read }) => read)) as (row: Row) => unknown;
}

/** Defines columns once for inserts, selects and mapping. */
export function columns<Set extends ColumnSet>(set: Set): Columns<Set> {
  const reads: readonly ColumnRead[] = Object.entries(set).map(([property, { read }]) => ({
    property,
    name: columnName(property),
    read: read as ((stored: unknown) => unknown) | undefined,
  }));
  let reader: ((row: Row) => unknown) | undefined;
  const some = <Part>(keep: (property: string) => boolean): Columns<Part & ColumnSet> =>
    columns(Object.fromEntries(Object.entries(set).filter(([property]) => keep(property))) as Part & ColumnSet);
  return {
    columns: set,
    names: reads.map(({ name }) => name).join(', '),
    of: (alias) => reads.map(({ name }) => `${alias}.${name}`).join(', '),
    read: (row) => {
      reader ??= readerOf(reads);
      return reader(row) as RowOf<Set>;
    },
    pick: (...properties) => some((property) => (properties as readonly string[]).includes(property)),
    omit: (...properties) => some((property) => !(properties as readonly string[]).includes(property)),
  };
}

/** Rows as one parameter. In the SQL, they are a relation with columns. */
export type Rows<Set extends ColumnSet> = { readonly rowsOf: Columns<Set> };

export type ParameterSet = { readonly [name: string]: Column<unknown> | Rows<ColumnSet> };

export type ValuesOf<Parameters extends ParameterSet> = {
  readonly [Name in keyof Parameters]: Parameters[Name] extends Column<infer Value>
    ? Value
    : Parameters[Name] extends Rows<infer Set>
      ? readonly RowOf<Set>[]
      : never;
};

/** Rows with these columns as one parameter: `:transfers` is `unnest(...) as transfers(program_id, ...)`. */
export function rows<Set extends ColumnSet>(rowsOf: Columns<Set>): Rows<Set> {
  return { rowsOf };
}

type Compiled = { readonly name: string; readonly text: string; readonly send: readonly Send[] };
type Send = { readonly name: string; readonly write: (value: unknown) => unknown };

const texts = new Map<string, string>();

export function compiledTexts(): ReadonlyMap<string, string> {
  return texts;
}

/** SQL: a list of our own words, such as `'load', 'unload'`. */
export const wordList = (words: readonly string[]): string => words.map((one) => `'${one}'`).join(', ');

/** Matches a comment, quoted text, or a parameter. `::` is a cast. */
const TOKEN = /--[^\n]*|'(?:[^']|'')*'|(?<!:):([a-z][A-Za-z0-9]*)/g;

/**
 * Matches the SQL after a parameter if it adds, subtracts, multiplies or divides by an `integer` literal. PostgreSQL would then
 * treat the parameter as an `integer`, and a larger value would fail with "out of range".
 */
const BESIDE_A_NUMBER = /^\s*[-+*/]\s*\d+(?![.\d])/;

function isWide(given: ParameterSet[string]): boolean {
  return 'type' in given && given.type === BIGINT.type;
}

function compile(name: string, parameters: ParameterSet, text: string): Compiled {
  const send: Send[] = [];
  const places = new Map<string, string>();
  const compiled = text.replaceAll(TOKEN, (token: string, parameter: string | undefined, offset: number) => {
    if (parameter === undefined) return token;
    const given = parameters[parameter];
    if (given === undefined) throw new Error(`the statement ${name} has no parameter ${token}`);
    if (isWide(given) && BESIDE_A_NUMBER.test(text.slice(offset + token.length))) {
      throw new Error(`the statement ${name} must cast ${token} to bigint before it computes with it`);
    }
    const place = places.get(parameter) ?? placeOf(parameter, given, send);
    places.set(parameter, place);
    return place;
  });
  texts.set(name, compiled);
  return { name: preparedName(name), text: compiled, send };
}

/** PostgreSQL cuts the names of prepared statements after this number of bytes. */
const MAX_NAME_BYTES = 63;

/**
 * Returns the name of a prepared statement. The end of a name that is too long is replaced by a hash. Otherwise, two statements
 * whose long names begin the same way would get the same name, and fail (42P05).
 */
function preparedName(name: string): string {
  return name.length <= MAX_NAME_BYTES
    ? name
    : `${name.slice(0, MAX_NAME_BYTES - 17)}_${hash('sha256', name).slice(0, 16)}`;
}

/** Returns the SQL for a parameter, and appends its values to `send`. */
function placeOf(name: string, parameter: ParameterSet[string], send: Send[]): string {
  if (!('rowsOf' in parameter)) {
    const place = `$${send.push({ name, write: parameter.write })}`;
    return 'sql' in parameter ? (parameter.sql as (place: string) => string)(place) : place;
  }
  const arrays = Object.entries(parameter.rowsOf.columns).map(([property, column]) => {
    const element = elementOf(column, name);
    const write = (items: unknown): unknown =>
      writer.write(element, items as readonly Readonly<Record<string, unknown>>[], property);
    return arrayOf(column, `$${send.push({ name, write })}`);
  });
  return `unnest(${arrays.join(', ')}) as ${columnName(name)}(${parameter.rowsOf.names})`;
}

/**
 * Creates a statement with named parameters. Its SQL is compiled here, once, so call this when the module is loaded. Throws if
 * the SQL and the parameters do not match.
 */
export function statement<Parameters extends ParameterSet>(
  name: string,
  parameters: Parameters,
  text: string,
): (values: ValuesOf<Parameters>) => Statement {
  const compiled = compile(name, parameters, text);
  const unused = Object.keys(parameters).find((parameter) => !compiled.send.some((sent) => sent.name === parameter));
  if (unused !== undefined) throw new Error(`the statement ${name} does not use its parameter ${unused}`);
  return (values) => bind(compiled, values);
}

/** Creates a statement whose SQL depends on the request. Each variant has a name, and is compiled on first use. */
export function statementVariants<Parameters extends ParameterSet>(
  parameters: Parameters,
): (name: string, text: () => string, values: ValuesOf<Parameters>) => Statement {
  const known = new Map<string, Compiled>();
  return (name, text, values) => {
    const compiled = known.get(name) ?? compile(name, parameters, text());
    known.set(name, compiled);
    return bind(compiled, values);
  };
}

function bind({ name, text, send }: Compiled, values: Readonly<Record<string, unknown>>): Statement {
  return { name, text, values: send.map((sent) => sent.write(values[sent.name])) };
}

/**
 * Creates a statement that reads a page of a table, newest first: of one program or of all, after the row with the id `after`. The id is the
 * column `<table>_id`.
 */
export function newestOfProgram(
  name: string,
  table: string,
  { names }: Columns<ColumnSet>,
): (programId: string | null, after: string | null, count: number) => Statement {
  const list = statementVariants({ programId: nullable(UUID), after: nullable(UUID), count: INTEGER });
  return (programId, after, count) => {
    const conditions = [
      ...(programId === null ? [] : ['program_id = :programId']),
      ...(after === null ? [] : [`${table}_id < :after`]),
    ];
    const variant = `${name}${programId === null ? '' : '_of_program'}${after === null ? '' : '_after'}`;
    const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
    const text = () => `select ${names} from ${table} ${where} order by ${table}_id desc limit :count`;
    return list(variant, text, { programId, after, count });
  };
}

/** Creates a statement about many rows. In the SQL, they are the relation `:sent`. */
export function statementOfRows<Set extends ColumnSet>(
  name: string,
  columns: Columns<Set>,
  text: string,
): (rows: readonly RowOf<Set>[]) => Statement {
  const compiled = compile(name, { sent: rows(columns) }, text);
  return (sent) => bind(compiled, { sent });
}

export function insertRows<Set extends ColumnSet>(
  name: string,
  table: string,
  columns: Columns<Set>,
): (rows: readonly RowOf<Set>[]) => Statement {
  return statementOfRows(name, columns, `insert into ${table} (${columns.names}) select ${columns.names} from :sent`);
}

export function insertRow<Set extends ColumnSet>(
  name: string,
  table: string,
  columns: Columns<Set>,
): (row: RowOf<Set>) => Statement {
  const places = Object.keys(columns.columns).map((property) => `:${property}`);
  const insert = statement(
    name,
    columns.columns,
    `insert into ${table} (${columns.names}) values (${places.join(', ')})`,
  );
  return (row) => insert(row as ValuesOf<Set>);
}

/**
 * SQL: the location (ctid) of the table's row with the same key as a row of `:sent`. If an update joins its rows by this
 * location, it finds each with one index look-up, in the order of `:sent`. If it joined by the key itself, the planner could
 * instead read the whole index of a table that it considers small, once for every group.
 */
export function ctidOf(table: string, key: readonly string[]): string {
  const isSent = key.map((column) => `stored.${column} = sent.${column}`).join(' and ');
  return `select stored.ctid from ${table} as stored where ${isSent} limit 1`;
}

const merged = new Map<string, { readonly name: string; readonly text: string }>();

/**
 * Merges several writes into one statement, so that a group of transfers is saved with one message and one response. All of them
 * see the tables as they were before the statement, so none may depend on a row that another one writes. On a placement, they are
 * sent one after the other. So put an update of rows before the insert of the rows that it did not find.
 */
export function mergeWrites(writes: readonly Statement[]): Statement {
  const key = writes.map((write) => write.name).join();
  let known = merged.get(key);
  if (known === undefined) {
    // PostgreSQL truncates names after 63 bytes, so they are numbered.
    known = { name: `merged_writes_${merged.size}`, text: mergeTexts(writes) };
    merged.set(key, known);
  }
  const events = eventsOf(writes);
  return { ...known, values: writes.flatMap((write) => write.values), parts: writes, ...(events && { events }) };
}

function mergeTexts(writes: readonly Statement[]): string {
  let before = 0;
  const parts = writes.map((write) => {
    const shifted = write.text.replaceAll(/\$(\d+)/g, (_place, number: string) => `$${Number(number) + before}`);
    before += write.values.length;
    return `${write.name} as (${shifted})`;
  });
  return `with ${parts.join(', ')} select`;
}
