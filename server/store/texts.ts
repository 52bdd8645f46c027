/** Stands between texts that are sent as one. No JSON text holds it: JSON escapes control characters. */
const SEPARATOR = '\u001e';

/**
 * Many JSON texts as one parameter. An array parameter would have every quote in them escaped here and unescaped there,
 * which for a group of transfers took more time than all decisions together. Null stands for no text.
 */
export function joinTexts(texts: readonly (string | null)[]): string {
  return texts.map((text) => text ?? '').join(SEPARATOR);
}

/** SQL that takes apart what {@link joinTexts} has joined: a text array, with null where there was no text. */
export function splitTexts(parameter: string): string {
  return `string_to_array(${parameter}::text, chr(30), '')`;
}

/**
 * An array parameter of values that need no quotes in PostgreSQL's array syntax: UUIDs, numbers, words of the schema.
 * Never for anything that a caller has written.
 */
export function plainArray(values: readonly (string | bigint | number | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}
