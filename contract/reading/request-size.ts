import type { SchemaShape } from '../schema-parts.ts';

/** The request line and the headers together, in bytes: every filter at its longest, percent-encoded, but not many cookies. */
export const MAX_HEAD_BYTES = 16_384;

/** The body that every operation accepts, in bytes: room for white space, and for fields that it does not know. */
export const MIN_MAX_BODY_BYTES = 16_384;

/**
 * Bytes of a character at most. UTF-8 needs four, but many clients escape what is not ASCII, as Python does by default, and then an
 * emoji is two escape sequences of six.
 */
const BYTES_OF_CHARACTER = 12;

/** For each of 1,000 rows 1,024 characters of four bytes. Larger rows go into several batches: each has its own key. */
const MAX_BATCH_BYTES = 1000 * 1024 * 4;

/** The digits of an amount or the name of a value, with its quotes and the comma after it. */
const BYTES_OF_WORD = 64;

/**
 * The size up to which the body of an operation is read. Every body that its schema allows fits, however it is encoded, but for batches
 * of very large rows.
 */
export function maxBodyBytesOf(schema: SchemaShape): number {
  const derived = MIN_MAX_BODY_BYTES + bytesOf(schema);
  return Math.min(Math.ceil(derived / 1024) * 1024, MAX_BATCH_BYTES);
}

/** How many bytes a value of a schema needs at most, with the comma after it. */
function bytesOf(shape: SchemaShape): number {
  if (shape.anyOf !== undefined) return Math.max(...shape.anyOf.map(bytesOf));
  if (shape.properties !== undefined) {
    return Object.entries(shape.properties).reduce(
      (sum, [name, inner]) => sum + name.length + BYTES_OF_WORD + bytesOf(inner),
      0,
    );
  }
  if (shape.type === 'object')
    return (shape.maxProperties ?? 0) * (textBytes(shape.propertyNames ?? {}) + bytesOf(inner(shape)));
  if (shape.type === 'array') return (shape.maxItems ?? shape.items?.enum?.length ?? 0) * bytesOf(shape.items ?? {});
  return shape.enum === undefined ? textBytes(shape) : BYTES_OF_WORD;
}

function inner({ additionalProperties }: SchemaShape): SchemaShape {
  return typeof additionalProperties === 'object' ? additionalProperties : {};
}

function textBytes({ maxLength = 0 }: SchemaShape): number {
  return maxLength * BYTES_OF_CHARACTER + BYTES_OF_WORD;
}
