import type { SchemaShape } from '../schema-parts.ts';

/**
 * Maximum bytes of the request line and the headers together. Enough for every filter at its longest, percent-encoded, but not
 * for many cookies.
 */
export const MAX_HEAD_BYTES = 16_384;

/** Every operation accepts a body of this many bytes. That leaves room for white space and for unknown fields. */
export const MIN_MAX_BODY_BYTES = 16_384;

/**
 * Maximum bytes of a character. UTF-8 needs four. Many clients escape everything beyond ASCII, as Python does by default, and
 * then an emoji has two escape sequences of six bytes.
 */
const BYTES_OF_CHARACTER = 12;

/**
 * Room for 1,000 rows of 1,024 characters with four bytes each. Larger rows go into several batches, because each row has its own
 * key.
 */
const MAX_BATCH_BYTES = 1000 * 1024 * 4;

/** The digits of an amount or the name of a value, with its quotes and the comma after it. */
const BYTES_OF_WORD = 64;

/**
 * The maximum size of the body of an operation. Every body that its schema allows fits, in any encoding, except batches of very
 * large rows.
 */
export function maxBodyBytesOf(schema: SchemaShape): number {
  const derived = MIN_MAX_BODY_BYTES + bytesOf(schema);
  return Math.min(Math.ceil(derived / 1024) * 1024, MAX_BATCH_BYTES);
}

/** The maximum bytes of a value of a schema, with the comma after it. */
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
