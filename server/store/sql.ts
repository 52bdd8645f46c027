import type { Statement } from './connection/database.ts';
import { type Column, type ColumnSet, type Columns, columnName, type RowOf } from './table.ts';

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
