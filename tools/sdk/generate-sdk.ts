// Writes sdk/generated: the SDK's types, its table of operations and its methods, from the definitions in contract/.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CLIENT_OPERATION_IDS,
  type ClientOperationId,
  METHODS,
  QUERY_LAST,
  RESOURCES,
  type Resource,
} from '../../contract/clients/sdk-methods.ts';
import { ERRORS } from '../../contract/errors/catalogue.ts';
import { ERROR_TYPES } from '../../contract/errors/record.ts';
import { EVENT_CATALOGUE } from '../../contract/events/catalogue.ts';
import { EventRecord, InspectedEventRecord, OperatorEventRecord } from '../../contract/events.ts';
import { type Operation, parametersOf } from '../../contract/operation.ts';
import { OPERATIONS as DEFINITIONS, movesMoney, OPERATION_IDS, type OperationId } from '../../contract/operations.ts';
import { takesIfMatch } from '../../contract/reading/versions.ts';
import { guardedFields, isClosed, type SchemaShape } from '../../contract/schema-parts.ts';
import { KEY_SCOPES, PROGRAM_SCOPES, ROLE_NAMES } from '../../contract/scope.ts';
import { CARD_MOVES, CARD_STATUSES } from '../../domain/cards/card.ts';
import { EVENT_TYPES } from '../../domain/event.ts';
import { LIMIT_NAMES } from '../../domain/ledger/limits.ts';
import { TRANSFER_STATUSES, TRANSFER_TYPES } from '../../domain/transfers/transfer.ts';
import { root } from '../command.ts';
import { collect, comment, formatted, HEAD, names, objectType, typeOf } from './type-text.ts';

/** The definitions, with untyped schemas. */
const OPERATIONS: Readonly<Record<OperationId, Operation>> = DEFINITIONS;

export function generatedSdk(): Readonly<Record<string, () => string>> {
  return {
    'sdk/generated/operations.ts': () => formatted('operations.ts', operationsFile()),
    'sdk/generated/tables.ts': () => formatted('tables.ts', tablesFile()),
    'sdk/generated/parse-json.ts': parseJsonFile,
    'sdk/generated/resources.ts': () => formatted('resources.ts', resourcesFile()),
  };
}

/**
 * Returns a copy of the service's JSON parser, because the SDK imports nothing and must read JSON as the service does.
 */
function parseJsonFile(): string {
  const source = readFileSync(join(root, 'domain/parse-json.ts'), 'utf8');
  return `${HEAD.replace('contract/', 'domain/parse-json.ts')}\n${source}`;
}

function operationsFile(): string {
  const operations = OPERATION_IDS.map((id) => `${comment(documentation(id))}readonly ${id}: ${operationType(id)};\n`);
  const errors = Object.entries(ERRORS).map(
    ([code, { meaning }]) => `${comment(meaning)}readonly ${code}: ErrorRow;\n`,
  );
  return `${HEAD}import type { Amount, CallOptions, KeyedCallOptions, Page, Sum, TextChunks, VersionedCallOptions } from '../call.ts';

${namedTypes()}
${eventData()}
/** The arguments and the result of each operation. */
export type Operations = {
${operations.join('')}};

/** The name of an operation. */
export type OperationId = keyof Operations;

/** How an operation is sent. */
export type OperationRow = {
  readonly method: string;
  /** The path, with its parameters in braces. */
  readonly path: string;
  /** Whether the operation acts within one card program and takes a Program-Id header. */
  readonly program: boolean;
  /** The scope that a key needs. Null if any key is enough. */
  readonly scope: KeyScope | null;
  /** Who can call the operation. */
  readonly reach: 'program' | 'operator' | 'sandbox' | 'caller' | 'connector';
  /** Whether the operation takes an Idempotency-Key header. */
  readonly idempotency: 'none' | 'optional' | 'required';
  /** Whether the operation can move money. */
  readonly movesMoney: boolean;
  /** Whether the operation can be repeated safely: a GET, or a POST that is idempotent without a key. */
  readonly repeatable: boolean;
  /** Whether the response is a stream of comma-separated values. */
  readonly csv: boolean;
  /** Fields that must not be undefined, because omitting one does more. The value ends the sentence about the field. */
  readonly definedFields: Readonly<Record<string, string>>;
};

/** The properties of all errors with one code. */
export type ErrorRow = {
  /** HTTP status. */
  readonly status: number;
  readonly type: ErrorType;
  /** Whether the same request can succeed when it is sent again. */
  readonly retry: boolean;
  /** Whether money moved. If it is uncertain, the response reports it. */
  readonly moneyMoved: 'no' | 'no or unknown';
};

/** The properties of the errors, by code. */
export type ErrorRows = {
${errors.join('')}};

/** The code of an error. */
export type ErrorCode = keyof ErrorRows;

${constant('ERROR_TYPES', 'The types of error (specification, sections 2.1 and 7.1).', ERROR_TYPES)}
${constant('EVENT_TYPES', 'The types of event.', EVENT_TYPES)}
${constant('TRANSFER_TYPES', 'The types of transfer.', TRANSFER_TYPES)}
${constant('TRANSFER_STATUSES', 'The statuses of a transfer.', TRANSFER_STATUSES)}
${constant('CARD_STATUSES', 'The statuses of a card.', CARD_STATUSES)}
/** The statuses that a card can change to, by its current status. */
export const CARD_MOVES = ${JSON.stringify(CARD_MOVES)} as const;

${constant('LIMIT_NAMES', 'The limits of one direction.', Object.keys(LIMIT_NAMES))}
${constant('PROGRAM_SCOPES', 'The scopes of a key for one card program.', PROGRAM_SCOPES)}
${constant('KEY_SCOPES', 'The scopes of a key.', KEY_SCOPES)}
${constant('ROLES', 'The roles: sets of scopes.', ROLE_NAMES)}
/** One of {@link ERROR_TYPES}. */
export type ErrorType = (typeof ERROR_TYPES)[number];
/** One of {@link EVENT_TYPES}. */
export type EventType = (typeof EVENT_TYPES)[number];
/** One of {@link KEY_SCOPES}. */
export type KeyScope = (typeof KEY_SCOPES)[number];
/** One of {@link ROLES}. */
export type Role = (typeof ROLES)[number];
`;
}

function constant(name: string, text: string, values: readonly string[]): string {
  return `${comment(text)}export const ${name} = ${JSON.stringify(values)} as const;\n`;
}

function operationType(id: OperationId): string {
  const { path, query, body, csv } = OPERATIONS[id];
  const params = parametersOf(path).map((name) => `readonly ${name}: string;`);
  const call = [
    ...(params.length === 0 ? [] : [`readonly params: { ${params.join(' ')} };`]),
    ...(query === undefined ? [] : [`readonly query?: ${requestName(id, 'Query', query)} | undefined;`]),
    ...(body === undefined ? [] : [`readonly body: ${requestName(id, 'Body', body)};`]),
    `readonly options?: ${optionsOf(id)} | undefined;`,
  ];
  return `{ readonly call: { ${call.join(' ')} }; readonly reply: ${csv ? 'TextChunks' : replyType(id)} }`;
}

function optionsOf(id: OperationId): string {
  if (takesIfMatch(id)) return 'VersionedCallOptions';
  return OPERATIONS[id].idempotency === 'none' ? 'CallOptions' : 'KeyedCallOptions';
}

function replyType(id: OperationId): string {
  return typeOf(OPERATIONS[id].reply);
}

/** The name of a body or query: the contract's export, or derived from the operation. */
function requestName(id: OperationId, kind: 'Body' | 'Query', schema: object): string {
  const pascal = id.replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return names.get(JSON.stringify(schema)) ?? `${pascal}${kind}`;
}

/** Every type that an operation names, in alphabetical order. */
function namedTypes(): string {
  const requests = new Map<string, SchemaShape & object>();
  const others = new Map<string, SchemaShape>();
  for (const id of OPERATION_IDS) {
    const { body, query, reply, csv } = OPERATIONS[id];
    if (query !== undefined) requests.set(requestName(id, 'Query', query), query);
    if (body !== undefined) requests.set(requestName(id, 'Body', body), body);
    for (const field of Object.values((body as SchemaShape | undefined)?.properties ?? {})) {
      const row = field.items === undefined ? undefined : names.get(JSON.stringify(field.items));
      if (row !== undefined && field.items !== undefined) requests.set(row, field.items);
    }
    for (const schema of [body, query, csv ? undefined : reply]) if (schema !== undefined) collect(schema, others);
  }
  for (const type of EVENT_TYPES) collect(EVENT_CATALOGUE[type].data, others);
  const entries = [...new Map([...others, ...requests])].sort(([left], [right]) => (left < right ? -1 : 1));
  return entries
    .map(([name, schema]) => {
      const union = eventUnion(name);
      if (union !== undefined) return union;
      const isRequest = requests.has(name);
      const closed = isRequest && isClosed(schema as never) ? Object.keys(guardedFields(schema as never)) : [];
      return `${comment(typeComment(name))}export type ${name} = ${objectType(schema, isRequest ? closed : undefined)};\n`;
    })
    .join('\n');
}

function typeComment(name: string): string {
  const of = (kind: 'body' | 'query') =>
    OPERATION_IDS.filter((id) => {
      const schema = OPERATIONS[id][kind];
      return schema !== undefined && requestName(id, kind === 'body' ? 'Body' : 'Query', schema) === name;
    });
  const [bodies, queries] = [of('body'), of('query')];
  if (bodies.length > 0) return `The body of ${bodies.join(' and ')}.`;
  if (queries.length > 0) return `The query of ${queries.join(', ')}.`;
  const events = EVENT_TYPES.filter((type) => typeOf(EVENT_CATALOGUE[type].data) === name);
  const words = name.replaceAll(/([a-z])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`);
  const replies = OPERATION_IDS.filter((id) => !OPERATIONS[id].csv && replyType(id) === name);
  if (replies.length > 0) return `${words}: the response of ${replies.join(', ')}.`;
  return `${words}${events.length === 0 ? '' : `: the data of ${events.join(', ')}`}.`;
}

// The event types: a union by type, from the definitions in contract/events/.

const EVENT = nameOf(EventRecord);
const OPERATOR_EVENT = nameOf(OperatorEventRecord);
const INSPECTED_EVENT = nameOf(InspectedEventRecord);

/** Returns the text of the event type with this name, or undefined for other types. */
function eventUnion(name: string): string | undefined {
  if (name === EVENT)
    return `${eventOfOneType()}\n${UNKNOWN_EVENT}\n${EVENT_COMMENT}export type ${EVENT} = { [Type in EventType]: EventOf<Type> }[EventType] | UnknownEvent;\n`;
  if (name === INSPECTED_EVENT) return inspectedEvent();
  if (name !== OPERATOR_EVENT) return undefined;
  const { number = {} } = shapeOf(OperatorEventRecord).properties ?? {};
  return `${comment('An event, as operators read it')}export type ${OPERATOR_EVENT} = ${EVENT} & ${objectType({ properties: { number }, required: ['number'] })};\n`;
}

const EVENT_COMMENT = comment(
  'An event: `type` says what `data` is. A later version of the service can send other types, which are an UnknownEvent: ignore them.',
);

/** A literal. With `string`, TypeScript would accept every known type here too, and could not determine `data`. */
const UNKNOWN_EVENT = `${comment(
  'An event of a type that this version of the client does not know. Its `type` can be any string: to compare it, assign it to a string first.',
)}export type UnknownEvent = Omit<EventOf<EventType>, 'type' | 'data'> & {
  readonly type: '(of a later version)';
  readonly data: Readonly<Record<string, unknown>>;
};
`;

function nameOf(schema: object): string {
  return names.get(JSON.stringify(schema)) ?? '';
}

function shapeOf(schema: object): SchemaShape {
  return schema;
}

/** An event with the fields of the contract. Its `type` decides its `data`. */
function eventOfOneType(): string {
  const fields = objectType(shapeOf(EventRecord))
    .replace('readonly type: string;', 'readonly type: Type;')
    .replace(/readonly data: [^;]*;/, 'readonly data: EventData[Type];');
  return `${comment('An event of one type')}export type EventOf<Type extends EventType> = ${fields};\n`;
}

/** Any event. An event for every program has a position in each of them, so it has no single position here. */
function inspectedEvent(): string {
  const { position = {}, number = {} } = shapeOf(InspectedEventRecord).properties ?? {};
  const places = objectType({ properties: { position, number }, required: ['position', 'number'] });
  const one = (of: string): string => `Omit<${of}, 'position'> & EventPlaces`;
  return `${comment('The positions of an event among others')}export type EventPlaces = ${places};

${comment('Any event, as operators look it up')}export type ${INSPECTED_EVENT} =
  | { [Type in EventType]: ${one('EventOf<Type>')} }[EventType]
  | (${one('UnknownEvent')});
`;
}

/** The type of `data` by the type of the event. */
function eventData(): string {
  const fields = EVENT_TYPES.map(
    (type) => `${comment(EVENT_CATALOGUE[type].summary)}readonly '${type}': ${typeOf(EVENT_CATALOGUE[type].data)};\n`,
  );
  return `${comment('The `data` of each type of event')}export type EventData = {\n${fields.join('')}};\n`;
}

function resourcesFile(): string {
  const resources = Object.keys(RESOURCES);
  const classes = resources.map((resource) => {
    const ids = CLIENT_OPERATION_IDS.filter((id) => METHODS[id].startsWith(`${resource}.`));
    return `${comment(RESOURCES[resource as Resource])}export class ${className(resource)} {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

${ids.map(methodOf).join('\n')}}
`;
  });
  const body = classes.join('\n');
  const used = (from: readonly string[]) => from.filter((name) => new RegExp(`\\b${name}\\b`).test(body)).join(', ');
  return `${HEAD}import { type CallOptions, everyItem, type KeyedCallOptions, type Page, type TextChunks, type VersionedCallOptions, type WithResponse } from '../call.ts';
import type { Send } from '../send.ts';
import type { ${used([...names.values(), ...CLIENT_OPERATION_IDS.flatMap((id) => [requestName(id, 'Body', {}), requestName(id, 'Query', {})])].filter((name, at, all) => all.indexOf(name) === at).sort())} } from './operations.ts';

${body}
/** Every resource of the service. */
export class Resources {
${resources.map((resource) => `readonly ${resource}: ${className(resource)};`).join('\n')}

  constructor(send: Send) {
${resources.map((resource) => `this.${resource} = new ${className(resource)}(send);`).join('\n')}
  }
}
`;
}

function className(resource: string): string {
  return `${resource.charAt(0).toUpperCase()}${resource.slice(1)}Resource`;
}

function methodOf(id: ClientOperationId): string {
  const { path, query, body, csv, method } = OPERATIONS[id];
  const [, name = ''] = METHODS[id].split('.');
  const params = parametersOf(path);
  const camel = (text: string) => text.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const rows = body === undefined ? undefined : onlyArrayIn(body);
  const canBeEmpty = method !== 'PATCH' && (body?.required ?? []).length === 0 ? ' = {}' : '';
  const queryParameter =
    query === undefined
      ? undefined
      : `query: ${requestName(id, 'Query', query)}${((query.required ?? []) as readonly string[]).length === 0 ? ' = {}' : ''}`;
  const given = [
    ...params.map((param) => `${camel(param)}: string`),
    ...(rows === undefined ? [] : [`${rows.name}: ${typeOf(rows.schema)}`]),
    ...(body === undefined || rows !== undefined ? [] : [`body: ${requestName(id, 'Body', body)}${canBeEmpty}`]),
    ...(queryParameter === undefined || QUERY_LAST.has(id) ? [] : [queryParameter]),
  ];
  const sent = [
    ...(params.length === 0 ? [] : [`params: { ${params.map((param) => `${param}: ${camel(param)}`).join(', ')} }`]),
    ...(rows === undefined ? [] : [`body: { ${rows.name} }`]),
    ...(body === undefined || rows !== undefined ? [] : ['body']),
    ...(query === undefined ? [] : ['query']),
    'options',
  ];
  const last = queryParameter !== undefined && QUERY_LAST.has(id) ? `, ${queryParameter}` : '';
  const options = `options?: ${optionsOf(id)}${last}`;
  const reply = csv ? 'TextChunks' : replyType(id);
  const one = `${comment(documentation(id))}${name}(${[...given, options].join(', ')}): Promise<WithResponse<${reply}>> {
    return this.#send('${id}', { ${sent.join(', ')} });
  }
`;
  const items = (OPERATIONS[id].reply as SchemaShape).properties?.data?.items;
  if (items === undefined || query === undefined || !('cursor' in query.properties)) return one;
  const before = params.map((param) => `${camel(param)}, `).join('');
  return `${one}
  /** Every item of ${id}, for \`for await\`: reads the next page when the loop needs it. \`limit\` is the size of a page. */
  ${name}All(${[...given, options].join(', ')}): AsyncGenerator<${typeOf(items)}, void, undefined> {
    return everyItem((page) => this.${name}(${before}page, options), query);
  }
`;
}

/** The field of a body that consists of one array. The method takes the array itself. */
function onlyArrayIn(body: SchemaShape): { readonly name: string; readonly schema: SchemaShape } | undefined {
  const [field, ...others] = Object.entries(body.properties ?? {});
  if (field === undefined || others.length > 0 || field[1].type !== 'array') return undefined;
  return { name: field[0], schema: field[1] };
}

/** The documentation of a method: what the operation does, how it differs from others, and its specific error codes. */
function documentation(id: OperationId): string {
  const { summary, errors, method, csv, body, query, reach } = OPERATIONS[id];
  const takesFields = body !== undefined || query !== undefined;
  const codes = [...(takesFields ? [`${id}_schema`] : []), ...errors, `unknown_${id}`].map((code) => `\`${code}\``);
  return [
    `${id}: ${summary}.`,
    ...(method === 'PATCH' || method === 'DELETE' ? ['Not retried automatically.'] : []),
    ...(csv ? ['The export is complete only when the loop over it ends without an error.'] : []),
    ...(reach === 'operator' ? ['Requires an operator key.'] : []),
    `Error codes: ${codes.join(', ')}.`,
  ].join(' ');
}

// The tables of operations and errors are text: as objects they would be half of the package.
// Invariant: The SDK is at most 15 KB in a compressed bundle, and runs on Node 20, 22, 24 and in a browser from its
//   tarball
// Kept by: this file; `tools/packages/build-sdk.ts`
// Tested by: `test/packages/sdk-*.test.ts`, `test/console/sdk-package.test.ts`

const BASE_PATH = '/api/v0.1/';

/** The file that `sdk/tables.ts` reads. */
function tablesFile(): string {
  return `${HEAD}
/** The beginning of every path. */
export const BASE_PATH: string = '${BASE_PATH}';

/** For each operation: its name, method, path, scope (- for none), and its differences from most others. */
export const OPERATION_LINES: string = \`
${OPERATION_IDS.map(operationLine).join('\n')}\`;

/** For each kind of error: status, type, whether it can be retried, and the codes that do not belong to one operation. */
export const ERROR_LINES: string = \`
${errorLines().join('\n')}\`;

/** For some operations: fields that must not be undefined. The value ends the sentence about the field. */
export const DEFINED_FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = ${definedFields()};
`;
}

function operationLine(id: OperationId): string {
  const { method, path, scope, reach, idempotency, repeatable, csv } = OPERATIONS[id];
  if (!path.startsWith(BASE_PATH)) throw new Error(`The path of ${id} does not begin with ${BASE_PATH}.`);
  const words = [id, method, path.slice(BASE_PATH.length), scope ?? '-'];
  // The SDK knows the reach of most operations by their paths.
  if (reach !== (path.startsWith(`${BASE_PATH}core/`) ? 'program' : 'operator')) words.push(reach);
  if (idempotency !== 'none') words.push(idempotency);
  if (movesMoney(id)) words.push('money');
  if (repeatable && method !== 'GET') words.push('repeatable');
  if (csv) words.push('csv');
  return words.join(' ');
}

/** In the order of the catalogue. Consecutive codes of one kind share a line. */
function errorLines(): readonly string[] {
  const lines: string[] = [];
  for (const [code, { status, type, retryable }] of Object.entries(ERRORS)) {
    if (OPERATION_IDS.some((id) => code === `${id}_schema` || code === `unknown_${id}`)) continue;
    const kind = `${status} ${type.replace(' Error', '')} ${retryable ? 'retry' : '-'} `;
    const last = lines.at(-1);
    if (last?.startsWith(kind)) lines[lines.length - 1] = `${last} ${code}`;
    else lines.push(kind + code);
  }
  return lines;
}

function definedFields(): string {
  const fields = OPERATION_IDS.flatMap((id) => {
    const { body } = OPERATIONS[id];
    const guarded = body === undefined || !isClosed(body) ? {} : guardedFields(body);
    return Object.keys(guarded).length === 0 ? [] : [[id, guarded] as const];
  });
  return JSON.stringify(Object.fromEntries(fields));
}
