import { type Static, type TObject, type TSchema, Type } from 'typebox';
import { ERROR_TYPES } from '../domain/catalogue-entry.ts';
import type { AmountAsSent } from '../domain/ledger/money.ts';

/** One of some words. */
export function literals<Name extends string>(names: readonly Name[], description: string) {
  return Type.Unsafe<Name>({ type: 'string', enum: [...names], description });
}

/** A text of 1 to so many characters. */
export function text(maximum: number, description: string) {
  return Type.String({ minLength: 1, maxLength: maximum, description });
}

/** A moment, as RFC 3339 writes it. */
export const moment = (description: string) => Type.String({ format: 'date-time', description });

/**
 * The option of a body's schema that names the members whose omission lets the request do more, such as act in all card
 * programs. There `null` and `""`, which an unset variable easily becomes, are refused instead of counting as missing.
 * `omitted` ends the sentence `Send a value, or omit the field …`.
 */
export function refuseEmpty(omitted: Readonly<Record<string, string>>) {
  return { 'x-if-omitted': omitted };
}

/** The members that {@link refuseEmpty} names in a schema, each with the end of its sentence. */
export function guardedMembers(schema: TObject): Readonly<Record<string, string>> {
  return (Reflect.get(schema, 'x-if-omitted') ?? {}) as Readonly<Record<string, string>>;
}

/** Whether a body refuses every member that it does not have. */
export function isClosed(schema: TObject): boolean {
  return Reflect.get(schema, 'additionalProperties') === false;
}

/** A member of a merge patch (RFC 7396) that `null` removes. */
export function removable<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

/** An amount of minor units as a request carries it: a JSON integer, or the same digits as a string. */
export const AmountSent = Type.Unsafe<AmountAsSent>({
  'x-amount': true,
  anyOf: [
    { type: 'integer', minimum: 1, maximum: 999_999_999_999 },
    { type: 'string', pattern: '^[1-9][0-9]{0,11}$' },
  ],
  description: 'Minor units (cents, for USD), 1 to 999,999,999,999: a JSON integer, or its digits as a string.',
});

/** An amount or a balance in a reply: minor units as a JSON integer. */
export const Amount = (description: string) => Type.Integer({ description: `${description}, in minor units` });

/** Pairs that the metadata of a transfer can hold. */
export const METADATA_PAIRS_MOST = 20;

/** Up to 20 pairs of strings: names of 1 to 40 characters, values of up to 500. */
export const Metadata = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: METADATA_PAIRS_MOST,
  propertyNames: { type: 'string', minLength: 1, maxLength: 40 },
  additionalProperties: { type: 'string', maxLength: 500 },
  description: 'Up to 20 pairs of strings of your own: names of 1 to 40 characters, values of up to 500',
});

/** What an update does to the pairs that are there: by name, a string sets one and null removes it. */
export const MetadataPatch = Type.Unsafe<Record<string, string | null>>({
  type: 'object',
  // As many can be removed as can be set.
  maxProperties: 2 * METADATA_PAIRS_MOST,
  propertyNames: { type: 'string', minLength: 1, maxLength: 40 },
  additionalProperties: { type: ['string', 'null'], maxLength: 500 },
  description:
    'Pairs to change: a string sets the pair of that name, null removes it, all others stay; 20 at most remain',
});

/** A card as a request names it. */
export const CardId = text(255, 'The card: its card_ id, or the id of your own that it was created with');

/** The error record (specification, section 2.1). */
export const ErrorRecordSchema = Type.Object(
  {
    Message: Type.String({ description: 'The specific cause; can differ between answers that share a code' }),
    Status: Type.Integer({ description: 'HTTP status of the answer' }),
    Code: Type.String({ pattern: '^[a-z0-9]+(_[a-z0-9]+)*$', description: 'Category of causes' }),
    Type: literals(ERROR_TYPES, 'Group of the error'),
  },
  { additionalProperties: false },
);

/** How many items a page has. */
export const limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 100, description: 'How many at most; 20 if left out' }),
);
/** Where a page begins. */
export const cursor = Type.Optional(text(200, 'next_cursor of the page before'));

/** The query of a list without filters. */
export const PageQuery = Type.Object({ limit, cursor });

/** A page of a list. */
export function pageOf<Item extends object>(item: Item) {
  return Type.Unsafe<{ data: Item[]; next_cursor: string | null }>({
    type: 'object',
    required: ['data', 'next_cursor'],
    properties: {
      data: { type: 'array', items: item },
      next_cursor: { type: ['string', 'null'], description: 'Send it as cursor for the next page; null on the last' },
    },
  });
}

/** The query of a list without filters after reading. */
export type PageQuery = Static<typeof PageQuery>;
