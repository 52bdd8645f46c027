import { type TObject, type TSchema, type TString, Type } from 'typebox';
import { EVENT_TYPES, type EventType } from '../../domain/event.ts';
import type { IdentifierPrefix } from '../../domain/identifier.ts';
import { READINESS_REASONS } from '../../domain/service-status.ts';
import * as access from '../access.ts';
import * as approvals from '../approvals.ts';
import * as audit from '../audit.ts';
import * as cards from '../cards.ts';
import * as comparisons from '../comparisons.ts';
import * as days from '../days.ts';
import * as errorLog from '../error-log.ts';
import { CatalogueRecord, ERROR_CODES, TYPE_GUIDES } from '../errors/catalogue.ts';
import { ERROR_TYPES } from '../errors/record.ts';
import * as accessEvents from '../events/access.ts';
import { EVENT_CATALOGUE, EventTypeRecord } from '../events/catalogue.ts';
import * as errorEvents from '../events/errors.ts';
import * as programEvents from '../events/programs.ts';
import * as events from '../events.ts';
import { exampleFile, exampleOf, examplePath, exampleReply, exampleStream, resumeFieldOf } from '../examples.ts';
import * as keys from '../keys.ts';
import * as limits from '../limits.ts';
import * as search from '../look-up/search.ts';
import * as timeline from '../look-up/timeline.ts';
import * as moveIns from '../move-ins.ts';
import { MERGE_PATCH, parametersOf } from '../operation.ts';
import {
  movesMoney,
  OPERATION_IDS,
  OPERATIONS,
  type OperationId,
  precedenceOf,
  SECTIONS,
  saysIfMoneyMoved,
} from '../operations.ts';
import * as people from '../people.ts';
import * as attempts from '../processors/attempts.ts';
import * as breaks from '../processors/breaks.ts';
import * as connectors from '../processors/connectors.ts';
import * as settlementFiles from '../processors/settlement-files.ts';
import * as programs from '../programs.ts';
import { takesIfMatch, versionedKind } from '../reading/versions.ts';
import * as sandbox from '../sandbox/operations.ts';
import type { SchemaShape } from '../schema-parts.ts';
import * as parts from '../schema-parts.ts';
import * as overview from '../service/overview.ts';
import * as requests from '../service/requests.ts';
import * as status from '../service/status.ts';
import * as settings from '../service/switch.ts';
import * as sessions from '../sessions.ts';
import * as cases from '../support/cases.ts';
import * as incidents from '../support/incidents.ts';
import * as actions from '../transfer-actions.ts';
import * as transfers from '../transfers.ts';
import * as webhookRecords from '../webhooks/records.ts';
import * as webhookRequests from '../webhooks/requests.ts';
import { CATALOGUE_PATHS, CATALOGUE_SECTIONS } from './catalogue-paths.ts';
import { errorExample, errorExamples, errorResponsesOf, sharedErrorResponses, writtenCode } from './error-responses.ts';
import { fieldsOf } from './fields.ts';
import { ERROR_HEADERS, REPLY_HEADERS, REQUEST_HEADERS } from './headers.ts';
import { HEALTH_PATHS, HEALTH_SECTION } from './health-paths.ts';
import { isComposed, type RecordExamples, recordExamples, recordIn, type ShownReply } from './record-examples.ts';
import { type Json, type JsonObject, reference, withSharedSchemas } from './shared-schemas.ts';

/** Schemas with a name. The document refers to them by reference. */
const NAMED: readonly (readonly [name: string, schema: object])[] = Object.entries({
  ...transfers,
  ...actions,
  ...cards,
  ...limits,
  ...people,
  ...approvals,
  ...access,
  ...programs,
  ...keys,
  ...sessions,
  ...settings,
  ...sandbox,
  ...audit,
  ...errorLog,
  ...events,
  ...webhookRecords,
  ...webhookRequests,
  ...accessEvents,
  ...errorEvents,
  ...programEvents,
  ...search,
  ...timeline,
  ...overview,
  ...requests,
  ...attempts,
  ...breaks,
  ...connectors,
  ...days,
  ...settlementFiles,
  ...moveIns,
  ...comparisons,
  ...cases,
  ...incidents,
  ...status,
  ...parts,
  CatalogueRecord,
  EventTypeRecord,
}).flatMap(([name, value]: [string, unknown]) =>
  // OpenAPI has no schema for a query: its fields are parameters.
  isSchema(value) && !name.endsWith('Query') ? [[name.replace(/Schema$/, ''), value] as const] : [],
);

/** The prefix of each id that the service gives. */
const PREFIXES: Readonly<Record<string, IdentifierPrefix>> = {
  approval_id: 'apr',
  attempt_id: 'pat',
  break_id: 'brk',
  file_id: 'stl',
  move_in_id: 'mvi',
  comparison_id: 'cmp',
  case_id: 'case',
  event_id: 'evt',
  incident_id: 'inc',
  key_id: 'key',
  person_id: 'per',
  program_id: 'prog',
  request_id: 'req',
  reversal_id: 'rev',
  session_id: 'ses',
  transfer_id: 'tr',
  webhook_id: 'wh',
};

/** The schemas of the ids that callers and operators choose. */
const CHOSEN_IDS: Readonly<Record<string, TString>> = {
  card_id: parts.visibleId(''),
  connector_id: parts.connectorId(''),
};

/** The names of these schemas by content, because an optional schema is another object with the same content. */
const NAMES: ReadonlyMap<string, string> = new Map(NAMED.map(([name, schema]) => [JSON.stringify(schema), name]));

function isSchema(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Reflect.get(value, 'type') === 'object';
}

/** The whole interface as an OpenAPI 3.1 document, generated from the operations and the error catalogue. */
export function openApiDocument(version: string): JsonObject {
  return withSharedSchemas({
    openapi: '3.1.1',
    info: {
      title: 'Transfer Service',
      version,
      summary: 'Moves money to, from and between cards, and explains every failure.',
      description: introduction(),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'This service' }],
    security: [{ apiKey: [] }, { session: [] }, {}],
    tags: [...SECTIONS, ...CATALOGUE_SECTIONS, HEALTH_SECTION].map(({ title, description }) => ({
      name: title,
      description,
    })),
    components: {
      schemas: {
        ...Object.fromEntries(NAMED.map(([name, schema]) => [name, recordSchema(name, schema)])),
        ErrorCode: { type: 'string', enum: [...ERROR_CODES], description: 'An error code' },
        OperationId: { type: 'string', enum: [...OPERATION_IDS], description: 'An operation' },
        ReadinessReason: { type: 'string', enum: [...READINESS_REASONS], description: 'A state of the service' },
        AuditAction: { type: 'string', enum: auditActions(), description: 'An action in the audit log' },
        Page: Object(toJson(PAGE)),
        Sum: Object(toJson(parts.SUM)),
        ...eventSchemas(),
      },
      headers: { ...REPLY_HEADERS, ...ERROR_HEADERS },
      parameters: REQUEST_HEADERS,
      responses: {
        AwaitsApproval: awaitsApproval(),
        ...sharedErrorResponses(),
      },
      examples: errorExamples(),
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key. A sandbox on this machine requires none.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-console',
          description:
            'The cookie of a console session. It is accepted only from pages of the service itself, which send ' +
            '`Console: 1`, or `Console: background` for automatic requests, and not together with a key.',
        },
      },
    },
    // The paths repeat much of the components. In this order, the compressed document is about 1 % smaller.
    paths: paths(),
  });
}

function introduction(): string {
  const types = ERROR_TYPES.map((type) => `- **${type}**: ${TYPE_GUIDES[type].cause} ${TYPE_GUIDES[type].resolution}`);
  return [
    'Every error response has the same four fields: `Message`, `Status`, `Code` and `Type`. `/errors/{code}` explains ' +
      'the code.',
    `There are three types of errors:\n\n${types.join('\n')}`,
    "Amounts are whole numbers of the currency's minor unit: 8550 is 85.50 USD.",
  ].join('\n\n');
}

function paths(): JsonObject {
  const all: Record<string, Record<string, Json>> = {};
  for (const id of OPERATION_IDS) {
    const { path, method } = OPERATIONS[id];
    all[path] = { ...all[path], [method.toLowerCase()]: operationObject(id) };
  }
  return { ...all, ...CATALOGUE_PATHS, ...HEALTH_PATHS };
}

function operationObject(id: OperationId): JsonObject {
  const operation = OPERATIONS[id];
  const { method, body, idempotency } = operation;
  const example = exampleOf(id);
  return {
    operationId: id,
    summary: operation.summary,
    tags: SECTIONS.filter(({ operations }) => operations.includes(id)).map(({ title }) => title),
    parameters: [
      // Several operations can have the same parameter. A reference in each would make the compressed document larger.
      ...ownParameters(id),
      ...(idempotency === 'none'
        ? []
        : [reference('parameters', idempotency === 'required' ? 'IdempotencyKeyRequired' : 'IdempotencyKey')]),
      ...(operation.reach === 'program' ? [reference('parameters', 'ProgramId')] : []),
      ...(writesAuditLog(id) ? [reference('parameters', 'CaseId')] : []),
      ...(takesIfMatch(id) ? [reference('parameters', 'IfMatch')] : []),
      ...(operation.stream === undefined ? [] : [reference('parameters', 'LastEventId')]),
      reference('parameters', 'ClientRequestId'),
      ...(id === 'create_transfer'
        ? [reference('parameters', 'Prefer'), reference('parameters', 'SandboxProcessor')]
        : []),
      ...(id === 'explain_transfer' ? [reference('parameters', 'SandboxProcessor')] : []),
      reference('parameters', 'SandboxProvoke'),
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: (body.required ?? []).length > 0 || Reflect.get(body, 'x-checked')?.minProperties > 0,
            content: {
              'application/json': { schema: toJson(body), example: JSON.parse(example.body ?? '{}') },
              // The body of a PATCH also has its own media type.
              ...(method === 'PATCH' ? { [MERGE_PATCH]: { schema: toJson(body) } } : {}),
            },
          },
        }),
    responses: responses(id),
    // The last member, because it repeats the codes of the responses. This makes the compressed document smaller.
    description: describe(id),
  };
}

function auditActions(): readonly string[] {
  return [...OPERATION_IDS.filter((id) => OPERATIONS[id].audit !== 'none'), ...audit.OTHER_ACTIONS];
}

/** Whether a call can write to the audit log. A batch writes an entry for each of its transfers. */
function writesAuditLog(id: OperationId): boolean {
  return OPERATIONS[id].audit !== 'none' || id === 'create_transfer_batch';
}

function describe(id: OperationId): string {
  const { scope, method, idempotency } = OPERATIONS[id];
  const twice = movesMoney(id) ? 'moving money twice' : 'being processed twice';
  const keys: Readonly<Record<typeof idempotency, string>> = {
    none: ' An `Idempotency-Key` has no effect.',
    optional: ` With an \`Idempotency-Key\`, the request can be repeated without ${twice}.`,
    required: ` An \`Idempotency-Key\` is required, so that the request can be repeated without ${twice}.`,
  };
  const own = precedenceOf(id).map(writtenCode).join(', ');
  const patch =
    method === 'PATCH'
      ? ' The body is a merge patch (RFC 7396): `null` removes a field, and omitted fields keep their values. Fields of the record that are not in the schema of the body cannot be changed, and are refused.'
      : '';
  const needed = scope === null ? 'Scope: none.' : `Scope: \`${scope}\`.`;
  return `${needed}${patch}${keys[idempotency]}\n\nErrors, in the order checked: ${own}.`;
}

type Parameter = JsonObject & { readonly name: string; readonly in: string };

function ownParameters(id: OperationId): readonly Parameter[] {
  const { path, query } = OPERATIONS[id];
  return [
    ...parametersOf(path).map((name) => pathParameter(id, name)),
    ...(query === undefined ? [] : queryParameters(query)),
  ];
}

/** The form of an id in a path. No record has an id of another form. */
function patternOf(name: string): { readonly pattern: string } {
  const prefix = PREFIXES[name];
  if (prefix !== undefined) return { pattern: parts.idPattern(prefix) };
  const chosen = CHOSEN_IDS[name];
  if (chosen === undefined) throw new Error(`the path parameter ${name} has no pattern: add its prefix`);
  return { pattern: String(Reflect.get(chosen, 'pattern')) };
}

/** A path parameter. All operations with the parameter share the example of the first operation. */
function pathParameter(id: OperationId, name: string): Parameter {
  const first = OPERATION_IDS.find((other) => parametersOf(OPERATIONS[other].path).includes(name)) ?? id;
  const at = OPERATIONS[first].path.split('/').indexOf(`{${name}}`);
  const schema: SchemaShape | undefined = Reflect.get(OPERATIONS[id].params.properties, name);
  return {
    name,
    in: 'path',
    required: true,
    description: schema?.description ?? name,
    schema: { type: 'string', minLength: 1, maxLength: 255, ...patternOf(name) },
    example: examplePath(first).split('/')[at] ?? '',
  };
}

function queryParameters(query: TObject): readonly Parameter[] {
  const required: readonly string[] = query.required ?? [];
  return Object.entries(query.properties).map(([name, schema]) => {
    const description: unknown = Reflect.get(schema, 'description');
    return {
      name,
      in: 'query',
      ...(required.includes(name) ? { required: true } : {}),
      description: typeof description === 'string' ? description : name,
      // The parameter already has the description, so the schema does not repeat it.
      schema: toJson({ ...schema, description: undefined }),
    };
  });
}

const SETS_COOKIE: readonly string[] = [...sessions.SIGN_INS, 'delete_session'];

function successOf(id: OperationId, hasExample = true): JsonObject {
  const { status, idempotency, location, csv, method } = OPERATIONS[id];
  const headers = [
    'Request-Id',
    ...(location !== undefined ? ['Location'] : []),
    ...(versionedKind(id) !== undefined && method !== 'DELETE' ? ['ETag'] : []),
    ...(SETS_COOKIE.includes(id) ? ['Set-Cookie'] : []),
    ...(csv ? ['Content-Disposition'] : []),
    ...(saysIfMoneyMoved(id) ? ['Money-Moved'] : []),
    ...(idempotency === 'none'
      ? ['Ignored-Headers']
      : ['Idempotent-Replayed', 'Original-Request-Id', 'Idempotency-Key-Reused']),
    ...(id === 'create_transfer' ? ['Preference-Applied'] : []),
    'Ignored-Fields',
    'Sandbox',
    'Client-Request-Id',
  ];
  return {
    description: status === 201 ? 'Created.' : 'Success.',
    headers: Object.fromEntries(headers.map((name) => [name, reference('headers', name)])),
    content: replyContent(id, hasExample),
  };
}

/** The response to an operator's request that is waiting for the approval of a second person. */
function awaitsApproval(): JsonObject {
  const headers = ['Request-Id', 'Location', 'Idempotent-Replayed', 'Original-Request-Id', 'Money-Moved'];
  return {
    description:
      'Only for operators: the request is waiting for the approval of a second person. Nothing has changed yet.',
    headers: Object.fromEntries(headers.map((name) => [name, reference('headers', name)])),
    content: { 'application/json': { schema: toJson(approvals.ApprovalRecord) } },
  };
}

/** The examples of records, if possible from an operation that only reads. */
const RECORD_EXAMPLES: RecordExamples = recordExamples(
  OPERATION_IDS.filter((id) => !OPERATIONS[id].csv)
    .toSorted((left, right) => Number(OPERATIONS[right].method === 'GET') - Number(OPERATIONS[left].method === 'GET'))
    .map(shownReply),
);

function shownReply(id: OperationId): ShownReply {
  return { schema: toJson(OPERATIONS[id].reply), example: toJson(exampleReply(id)) };
}

/** The schema of a component, with the example of its record, unless other components already show the parts of the example. */
function recordSchema(name: string, schema: object): JsonObject {
  const example = name === 'ErrorRecord' ? errorExample('card_closed') : RECORD_EXAMPLES.get(name);
  const isOwn = example !== undefined && !isComposed(example, RECORD_EXAMPLES);
  return { ...(isOwn ? { examples: [example] } : {}), ...Object(toJson(schema, true)) };
}

function responses(id: OperationId): JsonObject {
  const { status, existing, approvable } = OPERATIONS[id];
  return {
    ...(approvable ? { 202: reference('responses', 'AwaitsApproval') } : {}),
    // The example is the same as for a new record.
    ...(existing ? { 200: { ...successOf(id, false), description: 'It already exists.' } } : {}),
    [status]: successOf(id),
    ...errorResponsesOf(id),
  };
}

function replyContent(id: OperationId, hasExample: boolean): JsonObject {
  const { csv, reply, stream } = OPERATIONS[id];
  if (!csv) {
    const shown = shownReply(id);
    // The component of a record has its example.
    const isShown = !hasExample || recordIn(shown) !== undefined;
    const json = { 'application/json': isShown ? { schema: shown.schema } : shown };
    return stream === undefined ? json : { ...json, 'text/event-stream': streamContent(id, stream) };
  }
  const description =
    'Comma-separated values (RFC 4180): a line with the column names, then a line for each record. Null values are ' +
    'empty, objects are JSON, and amounts are in minor units. If an export fails, the connection is closed without ' +
    `the last chunk, so that clients detect the incomplete response. ${columnsOf(reply)}`;
  return { 'text/csv': { schema: { type: 'string', description }, example: exampleFile(id) } };
}

/** The columns of an export. Those of a record have the descriptions of its fields, which its component has. */
function columnsOf(reply: TObject): string {
  const columns = fieldsOf(reply).filter(({ required }) => required);
  const record = NAMES.get(JSON.stringify(reply));
  if (record !== undefined) {
    const names = columns.map(({ name }) => `\`${name}\``);
    return `The columns are fields of \`${record}\`, in this order: ${names.join(', ')}.`;
  }
  const lines = columns.map(({ name, description }) => `- \`${name}\`${description && `: ${description}`}`);
  return `The columns, in order:\n\n${lines.join('\n')}`;
}

/** The items of a list as a stream of Server-Sent Events. */
function streamContent(id: OperationId, item: object): JsonObject {
  const resumeField = resumeFieldOf(id);
  const name = NAMES.get(JSON.stringify(item)) ?? 'record';
  const description =
    `Server-Sent Events, with \`Accept: text/event-stream\`: \`id\` is the ${resumeField}, \`event\` the type, and \`data\` an ` +
    `${name} in one line. The stream begins after \`Last-Event-ID\` or \`after\`. Without both, it begins with the next event. A ` +
    'comment every 15 seconds keeps the connection open.';
  return { schema: { type: 'string', description }, example: exampleStream(id) };
}

/** The fields that every page of a list has. */
const PAGE = Type.Object(
  { next_cursor: parts.nextCursor },
  { description: 'A page of a list. `data` has its items, and is empty if there are none' },
);

/** The schema of the items, if the schema is a page with nothing else. */
function itemOfPage(value: unknown): TSchema | undefined {
  const { properties }: SchemaShape = isSchema(value) ? value : {};
  const item = properties?.data?.items as TSchema | undefined;
  return item !== undefined && JSON.stringify(parts.pageOf(item)) === JSON.stringify(value) ? item : undefined;
}

function pageSchema(items: Json): JsonObject {
  return {
    allOf: [reference('schemas', 'Page')],
    required: ['data'],
    properties: { data: { type: 'array', items } },
  };
}

/**
 * Converts a schema or an example to plain JSON, with references to named schemas. With `isRoot`, a named schema is written out.
 */
function toJson(value: unknown, isRoot = false): Json {
  const name = isRoot || !isSchema(value) ? undefined : NAMES.get(JSON.stringify(value));
  if (name !== undefined) return reference('schemas', name);
  const item = isRoot ? undefined : itemOfPage(value);
  if (item !== undefined) return pageSchema(toJson(item));
  if (Array.isArray(value)) return value.map((item) => toJson(item));
  if (typeof value === 'object' && value !== null) {
    const { anyOf, description }: SchemaShape = value;
    // A named schema, described for one field: see `described` in schema-parts.ts.
    if (anyOf?.length === 1 && description !== undefined) return { ...Object(toJson(anyOf[0])), description };
    const { 'x-checked': checked = {}, ...shown }: SchemaShape = value;
    // The component has the whole schema, so only the description is repeated next to the reference.
    const whole = '$ref' in checked ? { ...checked, description } : { ...shown, ...checked };
    return Object.fromEntries(
      Object.entries(whole).flatMap(([key, inner]) => (inner === undefined ? [] : [[key, toJson(inner)]])),
    );
  }
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return null;
}

/** Returns the name of an event type's schema, such as `TransferCompletedEvent`. */
function eventNameOf(type: EventType): string {
  const words = type.split('.').map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return `${words.join('')}Event`;
}

/**
 * The schemas of events: `EventRecord` is a union of all types, discriminated by `type`, and `OperatorEventRecord` adds the
 * number. They replace the schemas with these names, whose `data` is any object.
 */
function eventSchemas(): JsonObject {
  const { number } = events.OperatorEventRecord.properties;
  const mapping = Object.fromEntries(EVENT_TYPES.map((type) => [type, reference('schemas', eventNameOf(type)).$ref]));
  return {
    EventRecord: {
      oneOf: EVENT_TYPES.map((type) => reference('schemas', eventNameOf(type))),
      discriminator: { propertyName: 'type', mapping },
    },
    OperatorEventRecord: {
      allOf: [reference('schemas', 'EventRecord')],
      required: ['number'],
      properties: { number: toJson(number) },
    },
    EventFields: eventBase(),
    ...Object.fromEntries(EVENT_TYPES.map((type) => [eventNameOf(type), eventSchemaOf(type)])),
  };
}

/** The fields that all types of events have in the same form. */
function eventBase(): JsonObject {
  const { type, data, ...fields } = events.EventRecord.properties;
  return Object(toJson(Type.Object(fields, { description: 'The fields of every event except its type and data' })));
}

function eventSchemaOf(type: EventType): JsonObject {
  const { summary, data } = EVENT_CATALOGUE[type];
  return {
    allOf: [reference('schemas', 'EventFields')],
    description: summary,
    required: ['type', 'data'],
    properties: { type: { type: 'string', const: type, description: 'What happened' }, data: toJson(data) },
  };
}
