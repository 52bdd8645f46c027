/**
 * A JSON number exactly as it was written. Numbers are not converted while parsing, so that `85.5`, `1e999` and
 * 2^53 + 1 reach the check that is about them as what they are.
 */
export class JsonNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** A JSON object; it has no prototype, so that a member called `constructor` is just a member. */
export type JsonObject = { readonly [name: string]: JsonValue };

/** A JSON value as parsed from a request. */
export type JsonValue = string | boolean | null | JsonNumber | readonly JsonValue[] | JsonObject;

/** Whether a value is an object (not an array, a number or null). */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);
}

/**
 * One text for equal values: members sorted by name, no white space, numbers as they were written (so 1000 and 1e3
 * differ, as the specification of a request does). The base of idempotency fingerprints.
 */
export function canonicalJson(value: JsonValue): string {
  if (value instanceof JsonNumber) return value.source;
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isJsonObject(value)) {
    const members = Object.keys(value).sort();
    return `{${members.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] ?? null)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}
