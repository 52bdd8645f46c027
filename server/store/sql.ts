import type { Row, Statement } from './connection/database.ts';

/** How values of one type are sent to PostgreSQL and read from its rows. SQL null is null in either direction. */
export type Column<Value> = {
  /** The value from what `pg` gives; undefined where `pg` gives the value itself. */
  readonly read: ((stored: never) => Value | null) | undefined;
  /** The value of one parameter. */
  write(value: Value): unknown;
  /** The value of one parameter that contains many values. */
  writeMany(values: readonly Value[]): unknown;
  /** SQL for the array of those values, from the placeholder of the parameter. */
  readonly array: (placeholder: string) => string;
};

/** Columns by their property: the column of `programId` is `program_id`. */
export type ColumnSet = { readonly [property: string]: Column<unknown> };

/** A row of some columns, in JavaScript. */
export type RowOf<Columns extends ColumnSet> = {
  readonly [Property in keyof Columns]: Columns[Property] extends Column<infer Value> ? Value : never;
};

type Plain = string | bigint | number | boolean | null;

/**
 * Values that need no quotes in an array of PostgreSQL: UUIDs, numbers, words of the schema. Never text that a caller
 * has written.
 */
function plain<Value extends Plain>(type: string): Column<Value> {
  return {
    read: undefined,
    write: (value) => value,
    writeMany: (values) => {
      let text = '{';
      for (let index = 0; index < values.length; index += 1)
        text += `${index === 0 ? '' : ','}${values[index] ?? 'NULL'}`;
      return `${text}}`;
    },
    array: (placeholder) => `${placeholder}::${type}[]`,
  };
}

/** Values of which `pg` makes the array, with whatever quotes it takes. */
function quoted<Value>(type: string, write: (value: Value) => unknown, read?: Column<Value>['read']): Column<Value> {
  return {
    read,
    write,
    writeMany: (values) => ((write as unknown) === same ? values : values.map(write)),
    array: (placeholder) => `${placeholder}::${type}[]`,
  };
}

/** Separates JSON texts that are sent as one. No JSON text contains it: JSON escapes control characters. */
const SEPARATOR = '\u001e';

/**
 * JSON texts are sent as one parameter. In an array every quote in them would be escaped here and unescaped there, which
 * for a group of transfers took longer than all decisions together.
 */
function jsonTexts<Value>(type: string, write: (value: Value) => string | null): Column<Value> {
  return {
    read: undefined,
    write,
    writeMany: (values) => {
      let text = '';
      for (let index = 0; index < values.length; index += 1)
        text += `${index === 0 ? '' : SEPARATOR}${write(values[index] as Value) ?? ''}`;
      return text;
    },
    array: (placeholder) => `string_to_array(${placeholder}::text, chr(30), '')::${type}[]`,
  };
}

const stringify = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));
const toDate = (time: number | null): Date | null => (time === null ? null : new Date(time));
const toTime = (date: Date | null): number | null => (date === null ? null : date.getTime());
const toNumber = (value: bigint | number | null): number | null => (value === null ? null : Number(value));
const toHex = (bytes: Buffer | null): string | null => (bytes === null ? null : bytes.toString('hex'));
function same<Value>(value: Value): Value {
  return value;
}

export const UUID = plain<string>('uuid');
export const BIGINT = plain<bigint>('bigint');
export const SMALLINT = plain<number>('smallint');
export const INTEGER = plain<number>('integer');
export const BOOLEAN = plain<boolean>('boolean');
export const CURRENCY = plain<string>('char(3)');
/** Text that callers write. */
export const TEXT = quoted<string>('text', same);
/** Milliseconds since 1970 for a `timestamptz`. */
export const TIME = quoted<number>('timestamptz', toDate, toTime);
/** A Date for a `timestamptz`. */
export const DATE = quoted<Date>('timestamptz', same);
/** A whole number of the database that is small enough for a JavaScript number. */
export const NUMBER: Column<number> = { ...plain<number>('bigint'), read: toNumber };
export const BYTES = quoted<Buffer>('bytea', same);
/** Hexadecimal digits for a `bytea`. */
export const HEX: Column<string> = {
  read: toHex,
  write: (hex) => Buffer.from(hex, 'hex'),
  writeMany: (values) => `{${values.map((hex) => `"\\\\x${hex}"`).join(',')}}`,
  array: (placeholder) => `${placeholder}::bytea[]`,
};
/** JSON text in a `text` column, to the letter as it was written. */
export const JSON_TEXT = jsonTexts<string>('text', same);

/** One of some words of the schema; never text that callers write. */
export const word = <Word extends string>(): Column<Word> => plain<Word>('text');
/** A value in a column of PostgreSQL's type `json` or `jsonb`. */
export const json = <Value>(type: 'json' | 'jsonb' = 'jsonb'): Column<Value> => jsonTexts<Value>(type, stringify);
/** A column that may be null. */
export const nullable = <Value>(column: Column<Value>): Column<Value | null> => column as Column<Value | null>;

/** Many values of a column as one parameter. */
export function many<Value>(
  column: Column<Value>,
): Column<readonly Value[]> & { readonly sql: (place: string) => string } {
  return { ...quoted('', (values: readonly Value[]) => column.writeMany(values)), sql: column.array };
}

/** Some columns of a table or of a query's result. */
export type Columns<Set extends ColumnSet> = {
  readonly columns: Set;
  /** The columns as a list. */
  readonly names: string;
  /** The columns as a list, each with the name or alias of its table. */
  readonly of: (alias: string) => string;
  /** The values of these columns in a row of a query. */
  readonly read: (row: Row) => RowOf<Set>;
  readonly pick: <Property extends keyof Set>(...properties: readonly Property[]) => Columns<Pick<Set, Property>>;
  readonly omit: <Property extends keyof Set>(...properties: readonly Property[]) => Columns<Omit<Set, Property>>;
};

/** The name of a property's column. */
export function columnName(property: string): string {
  return property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Defines columns, each once: what is inserted, selected and mapped follows from it. */
export function columns<Set extends ColumnSet>(set: Set): Columns<Set> {
  const reads = Object.entries(set).map(([property, { read }]) => ({
    property,
    name: columnName(property),
    read: read as ((stored: unknown) => unknown) | undefined,
  }));
  // Copied for each row: properties that are there are set faster than properties are added.
  const empty: Readonly<Record<string, unknown>> = Object.fromEntries(reads.map(({ property }) => [property, null]));
  const some = <Part>(keep: (property: string) => boolean): Columns<Part & ColumnSet> =>
    columns(Object.fromEntries(Object.entries(set).filter(([property]) => keep(property))) as Part & ColumnSet);
  return {
    columns: set,
    names: reads.map(({ name }) => name).join(', '),
    of: (alias) => reads.map(({ name }) => `${alias}.${name}`).join(', '),
    read: (row) => {
      const values = { ...empty };
      for (let index = 0; index < reads.length; index += 1) {
        const { property, name, read } = reads[index] as (typeof reads)[number];
        const stored = row[name];
        values[property] = read === undefined ? stored : read(stored);
      }
      return values as RowOf<Set>;
    },
    pick: (...properties) => some((property) => (properties as readonly string[]).includes(property)),
    omit: (...properties) => some((property) => !(properties as readonly string[]).includes(property)),
  };
}

/** Rows as one parameter: in the text it is a relation of its columns, to be selected from. */
export type Rows<Set extends ColumnSet> = { readonly rowsOf: Columns<Set> };

/** The parameters of a statement by their names. */
export type ParameterSet = { readonly [name: string]: Column<unknown> | Rows<ColumnSet> };

/** The values that a statement takes. */
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

type Compiled = { readonly text: string; readonly send: readonly Send[] };
type Send = { readonly name: string; readonly write: (value: unknown) => unknown };

/** Comments, quoted text, or a parameter; `::` is a cast. */
const TOKEN = /--[^\n]*|'(?:[^']|'')*'|(?<!:):([a-z][A-Za-z0-9]*)/g;

function compile(name: string, parameters: ParameterSet, text: string): Compiled {
  const send: Send[] = [];
  const places = new Map<string, string>();
  const compiled = text.replaceAll(TOKEN, (token: string, parameter: string | undefined) => {
    if (parameter === undefined) return token;
    const given = parameters[parameter];
    if (given === undefined) throw new Error(`the statement ${name} has no parameter ${token}`);
    const place = places.get(parameter) ?? placeOf(parameter, given, send);
    places.set(parameter, place);
    return place;
  });
  return { text: compiled, send };
}

/** SQL for a parameter, whose values come next. */
function placeOf(name: string, parameter: ParameterSet[string], send: Send[]): string {
  if (!('rowsOf' in parameter)) {
    const place = `$${send.push({ name, write: parameter.write })}`;
    return 'sql' in parameter ? (parameter.sql as (place: string) => string)(place) : place;
  }
  const arrays = Object.entries(parameter.rowsOf.columns).map(([property, column]) => {
    const write = (items: unknown): unknown =>
      column.writeMany((items as readonly Record<string, unknown>[]).map((item) => item[property]));
    return column.array(`$${send.push({ name, write })}`);
  });
  return `unnest(${arrays.join(', ')}) as ${columnName(name)}(${parameter.rowsOf.names})`;
}

/**
 * A statement with named parameters. Its text is compiled here, once, so it must be called when the module is loaded.
 * Throws when the text and the parameters do not go together.
 */
export function statement<Parameters extends ParameterSet>(
  name: string,
  parameters: Parameters,
  text: string,
): (values: ValuesOf<Parameters>) => Statement {
  const compiled = compile(name, parameters, text);
  const unused = Object.keys(parameters).find((parameter) => !compiled.send.some((sent) => sent.name === parameter));
  if (unused !== undefined) throw new Error(`the statement ${name} does not use its parameter ${unused}`);
  return (values) => bind(name, compiled, values);
}

/** A statement whose text depends on the request: one name for each text, which is compiled when it is first used. */
export function statementVariants<Parameters extends ParameterSet>(
  parameters: Parameters,
): (name: string, text: () => string, values: ValuesOf<Parameters>) => Statement {
  const known = new Map<string, Compiled>();
  return (name, text, values) => {
    const compiled = known.get(name) ?? compile(name, parameters, text());
    known.set(name, compiled);
    return bind(name, compiled, values);
  };
}

function bind(name: string, { text, send }: Compiled, values: Readonly<Record<string, unknown>>): Statement {
  return { name, text, values: send.map((sent) => sent.write(values[sent.name])) };
}

/** A statement about many rows; in its text they are the relation `:sent`. */
export function statementOfRows<Set extends ColumnSet>(
  name: string,
  columns: Columns<Set>,
  text: string,
): (rows: readonly RowOf<Set>[]) => Statement {
  const compiled = compile(name, { sent: rows(columns) }, text);
  return (sent) => bind(name, compiled, { sent });
}

/** A statement that inserts rows into a table. */
export function insertRows<Set extends ColumnSet>(
  name: string,
  table: string,
  columns: Columns<Set>,
): (rows: readonly RowOf<Set>[]) => Statement {
  return statementOfRows(name, columns, `insert into ${table} (${columns.names}) select ${columns.names} from :sent`);
}

/** A statement that inserts one row into a table. */
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

const merged = new Map<string, { readonly name: string; readonly text: string }>();

/**
 * Several writes as one statement, so that a group of transfers is saved with one message and one response. They see the
 * tables as they were before it, so none may depend on a row that another one writes.
 */
export function mergeWrites(writes: readonly Statement[]): Statement {
  const key = writes.map((write) => write.name).join();
  let known = merged.get(key);
  if (known === undefined) {
    // PostgreSQL cuts names after 63 bytes, so they are numbered.
    known = { name: `merged_writes_${merged.size}`, text: mergeTexts(writes) };
    merged.set(key, known);
  }
  return { ...known, values: writes.flatMap((write) => write.values) };
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
