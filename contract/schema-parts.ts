import { type Static, type TObject, type TSchema, Type } from 'typebox';
import type { IdentifierPrefix } from '../domain/identifier.ts';
import { type AmountAsSent, MAXIMUM_AMOUNT } from '../domain/ledger/money.ts';
import { MAX_METADATA_PAIRS } from '../domain/metadata.ts';
import { ERROR_TYPES } from './errors/record.ts';
import type { TextKind } from './reading/plain-text.ts';

/** The parts of a JSON schema that the documentation, the samples and the generated types use. */
export type SchemaShape = {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly SchemaShape[];
  readonly $ref?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: SchemaShape;
  readonly properties?: Readonly<Record<string, SchemaShape>>;
  readonly required?: readonly string[];
  readonly maxProperties?: number;
  readonly propertyNames?: SchemaShape;
  readonly additionalProperties?: boolean | SchemaShape;
  /** What an omitted field means. Not `default`: openapi-typescript would make such a field required in requests. */
  readonly 'x-default'?: unknown;
  /** Additional keywords that only the document has. The handler checks them, so that it can send a specific message. */
  readonly 'x-checked'?: Readonly<Record<string, unknown>>;
  readonly 'x-amount'?: true;
  readonly 'x-text'?: TextKind;
};

/** The schema of a value that is one of several words. */
export function literals<Name extends string>(names: readonly Name[], description: string) {
  return Type.Unsafe<Name>({ type: 'string', enum: [...names], description });
}

/** The schema of a value that is one of several words. `omitted` is the word that means the same as leaving the field out. */
export function literalsOr<Name extends string>(omitted: NoInfer<Name>, names: readonly Name[], description: string) {
  return Type.Unsafe<Name>({ type: 'string', enum: [...names], 'x-default': omitted, description });
}

/** A string of 1 to `maxLength` characters. */
export function text(maxLength: number, description: string) {
  return Type.String({ minLength: 1, maxLength, description });
}

/** A string of 1 to `maxLength` characters, with further keywords of JSON Schema that the handler checks. */
export function checkedText(maxLength: number, description: string, keywords: Readonly<Record<string, unknown>>) {
  return Type.String({ minLength: 1, maxLength, description, 'x-checked': keywords });
}

/** The keywords of a name that the document lists once, as a component. */
export const listed = (list: 'AuditAction' | 'ErrorCode' | 'OperationId' | 'ReadinessReason' | 'Sum') => ({
  $ref: `#/components/schemas/${list}`,
});

/** A name in a request that must be in one of the lists of {@link listed}. */
export function checkedName(list: Parameters<typeof listed>[0], description: string) {
  return checkedText(100, description, listed(list));
}

/** The form of an id that the service gave: its prefix and 32 hex digits. */
export const idPattern = (prefix: IdentifierPrefix): string => `^${prefix}_[0-9a-f]{32}$`;

/** An id in a request that the service gave. */
export function idText(prefix: IdentifierPrefix, description: string) {
  return checkedText(255, description, { pattern: idPattern(prefix) });
}

/** The option of an object's schema with keywords that the handler checks: fields that need or exclude each other. */
export function checkedTogether(keywords: Readonly<Record<string, unknown>>) {
  return { 'x-checked': keywords };
}

/** A condition for {@link checkedTogether}: these fields are sent. */
export const needs = (...fields: readonly string[]) => ({
  properties: Object.fromEntries(fields.map((field) => [field, {}])),
  required: fields,
});
/** A condition for {@link checkedTogether}: the field is sent with this value. */
export const is = (field: string, value: unknown) => ({ ...needs(field), properties: { [field]: { const: value } } });
/** A parameter that requires another one, or one of several. JSON Schema can express that only for the fields of an object. */
export const requires = (...parameters: readonly string[]) => ({ 'x-requires': parameters });
/** A condition, with the consequence if it is true, and if it is false. */
export const ifThen = (condition: object, then: object, otherwise?: object) => ({
  if: condition,
  then,
  ...(otherwise === undefined ? {} : { else: otherwise }),
});

const plain = (kind: TextKind) => (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, description, 'x-text': kind });

/** A name or title that people read: 1 to `maxLength` characters on one line, without white space at its ends. */
export const line = plain('line');

/** A text that can have line breaks, such as people write to each other. */
export const freeText = plain('text');

/** A caller's name for something, to find it again. It never changes. */
export const callersReference = plain('reference');

/** A time (RFC 3339). */
export const moment = (description: string) => Type.String({ format: 'date-time', description });

/** A time in a request that must be at least so many seconds ago. JSON Schema cannot express that. */
export const pastMoment = (seconds: number, description: string) =>
  Type.String({ format: 'date-time', description, 'x-checked': { 'x-seconds-ago': seconds } });

/** The instant of a balance in the past. */
export const asOf = pastMoment(
  60,
  'Instant, at least a minute ago: postings at or before it count, to the millisecond',
);

/** An ISO 4217 code in a request. */
export const currencyCode = (description: string) => Type.String({ pattern: '^[A-Z]{3}$', description });

/** A value or null. In a merge patch (RFC 7396) null removes the field. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

/** A named schema with the description of one field: what the value is, and when it is null. */
export function described<Schema extends TSchema>(schema: Schema, description: string) {
  return Type.Unsafe<Static<Schema>>({ anyOf: [schema], description });
}

/** A value in a reply, or null, as the description says. */
export function describedOrNull<Schema extends TSchema>(schema: Schema, description: string) {
  return Type.Unsafe<Static<Schema> | null>({ anyOf: [schema, { type: 'null' }], description });
}

export const programId = Type.String({ description: 'Id of the card program: prog_ and 32 hex digits' });

export const currency = Type.String({ description: 'Currency, as an ISO 4217 code' });

const VISIBLE = '^[\\x21-\\x7e]+$';

/** A string of 1 to 255 visible ASCII characters. */
export const visible = (description: string) =>
  Type.String({ minLength: 1, maxLength: 255, pattern: VISIBLE, description });

/** The id of something that exists, or a key. A value in a different form is simply not found. */
export const existing = (description: string, maxLength = 255) =>
  checkedText(maxLength, description, { pattern: VISIBLE });

/** Visible ASCII except `.` and `..`. Written without a lookahead, because expressions in Go have none. */
const NOT_DOTS = '^([\\x21-\\x2d\\x2f-\\x7e]|\\.{1,2}[\\x21-\\x2d\\x2f-\\x7e]|\\.{3})[\\x21-\\x7e]*$';

/** An id that the caller chooses and that becomes part of a path. URLs drop `.` and `..`, even if they are percent-encoded. */
export const visibleId = (description: string) =>
  Type.String({ minLength: 1, maxLength: 255, pattern: NOT_DOTS, description });

/** The name of a connector, as the service's settings have it. */
export const connectorId = (description: string) => Type.String({ pattern: '^[a-z][a-z0-9_-]{0,31}$', description });

/** A string in a reply, or null. */
export const textOrNull = (description: string) => nullable(Type.String({ description }));

/** The approval that a request about a record waits for. Only operators see it, and only when they read this one record. */
export const pendingApprovalId = Type.Optional(
  Type.String({
    description: 'The approval that a request about it waits for, when an operator reads it; absent if there is none',
  }),
);

/**
 * The option of a body's schema that names the fields whose omission lets the request do more, such as act in all card
 * programs. For these fields, `null` and `""`, which often come from an unset variable, are refused instead of counting as
 * missing. `omitted` ends the sentence `Send a value, or omit the field …`.
 */
export function refuseEmpty(omitted: Readonly<Record<string, string>>) {
  return { 'x-if-omitted': omitted };
}

/** The fields that `refuseEmpty` names in a schema, each with the effect of omitting it. */
export function guardedFields(schema: TObject): Readonly<Record<string, string>> {
  return (Reflect.get(schema, 'x-if-omitted') ?? {}) as Readonly<Record<string, string>>;
}

/** Whether unknown fields are refused. */
export function isClosed(schema: TObject): boolean {
  return Reflect.get(schema, 'additionalProperties') === false;
}

const MINOR_UNITS = 'Minor units (cents, for USD), 1 to 999,999,999,999: a JSON integer, or its digits as a string';

/** An amount in a request: minor units as a JSON integer, or the same digits as a string. */
export const AmountSent = Type.Unsafe<AmountAsSent>({
  'x-amount': true,
  anyOf: [
    { type: 'integer', minimum: 1, maximum: Number(MAXIMUM_AMOUNT) },
    { type: 'string', pattern: '^[1-9][0-9]{0,11}$' },
  ],
  description: MINOR_UNITS,
});

/** An amount in a request, with the description of its field: what the amount is, and what omitting it means. */
export const amountSent = (what: string) =>
  Type.Unsafe<AmountAsSent>({ ...AmountSent, description: `${what}. ${MINOR_UNITS}` });

/** An amount or a balance in a reply. */
export const Amount = (description: string) => Type.Integer({ description: `${description}, in minor units` });

const SUMS = [{ type: 'integer' }, { type: 'string', pattern: '^-?[1-9][0-9]{15,}$' }] as const;
const PAST_INTEGERS =
  'a string of its digits beyond 9,007,199,254,740,991 (2^53 - 1) or its negative, where not every JSON parser is exact';

/** The description that the document gives once for all sums. */
export const SUM = { anyOf: SUMS, description: `A sum of amounts in minor units; ${PAST_INTEGERS}` };

/** A sum of amounts in a reply. No amount or balance exceeds 2^53 - 1, but a sum can, and is then a string. */
export const Sum = (description: string) =>
  Type.Unsafe<number | string>({ anyOf: SUMS, 'x-checked': listed('Sum'), description });

/** A sum of amounts in a reply, or null. */
export const sumOrNull = (description: string) =>
  describedOrNull(Type.Unsafe<number | string>({ anyOf: SUMS, 'x-checked': listed('Sum') }), description);

/** Whether a schema describes a sum. */
export const isSum = (schema: SchemaShape): boolean => schema['x-checked']?.$ref === listed('Sum').$ref;

/** An amount or a bound in minor units in a query or in limits. */
export const amountFrom = (minimum: 0 | 1, description: string) =>
  Type.Integer({ minimum, maximum: Number(MAXIMUM_AMOUNT), description });

/** No JSON body may have this name: in JavaScript it changes an object instead of naming a value in it. */
export const NO_PROTOTYPE = { not: { const: '__proto__' } };

const METADATA_NAME = { type: 'string', minLength: 1, maxLength: 40, 'x-checked': NO_PROTOTYPE };

/** Up to 20 pairs of strings: names of 1 to 40 characters, values of up to 500. */
export const Metadata = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: MAX_METADATA_PAIRS,
  propertyNames: METADATA_NAME,
  additionalProperties: { type: 'string', maxLength: 500 },
  description: 'Up to 20 key-value pairs of strings: keys of 1 to 40 characters, values of up to 500',
});

/** A change of metadata, pair by pair: a string sets a pair, null removes it. */
export const MetadataPatch = Type.Unsafe<Record<string, string | null>>({
  type: 'object',
  // One patch can replace every pair: 20 removed and 20 set.
  maxProperties: 2 * MAX_METADATA_PAIRS,
  propertyNames: METADATA_NAME,
  additionalProperties: { type: ['string', 'null'], maxLength: 500 },
  description:
    'Pairs to change: a string sets a pair, null removes it, other pairs keep their values. At most 20 pairs can remain',
});

/** The filter of a list by a pair of metadata. `things` is the plural name of the listed records. */
export const metadataFilter = (things: string) => ({
  metadata_name: Type.Optional(
    checkedText(40, `Only ${things} with this metadata pair; requires metadata_value`, requires('metadata_value')),
  ),
  metadata_value: Type.Optional(
    Type.String({
      minLength: 0,
      maxLength: 500,
      description: 'Value of the metadata pair, which can be empty; requires metadata_name',
      'x-checked': requires('metadata_name'),
    }),
  ),
});

export const CardId = existing('Id of the card: its card_ id, or the id you created it with');

/** The error record (specification, section 2.1). */
export const ErrorRecordSchema = Type.Object(
  {
    Message: Type.String({
      description: 'The specific cause. Responses with the same code can have different messages',
    }),
    Status: Type.Integer({ description: 'HTTP status' }),
    Code: Type.String({ pattern: '^[a-z0-9]+(_[a-z0-9]+)*$', description: 'Error code' }),
    Type: literals(ERROR_TYPES, 'Type of the error'),
  },
  { additionalProperties: false },
);

export const limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 100, description: 'Maximum number of items on the page; 20 if omitted' }),
);
export const cursor = Type.Optional(existing('`next_cursor` of the previous page', 200));

/** Whether the texts of an export are the stored ones. */
export const raw = Type.Optional(
  Type.Boolean({
    description:
      'true for programs: text is unchanged. Otherwise text that a spreadsheet would read as a formula begins with an apostrophe',
  }),
);

export const nextCursor = textOrNull('Send it as `cursor` to get the next page; null on the last page');

/** The query of a list without filters. */
export const PageQuery = Type.Object({ limit, cursor });

/** A page of a list. */
export function pageOf<Item extends TSchema>(item: Item) {
  return Type.Object({
    data: Type.Array(item, { description: 'The items of the page; empty if there are none' }),
    next_cursor: nextCursor,
  });
}

export type PageQuery = Static<typeof PageQuery>;
