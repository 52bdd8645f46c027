/** A JSON number in its original spelling. It is not converted, so that checks see `85.5`, `1e999` and 2^53 + 1 unchanged. */
export class JsonNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** A JSON object without a prototype, so that a field can be called `constructor`. */
export type JsonObject = { readonly [name: string]: JsonValue };

/** A JSON value as parsed from a request. */
export type JsonValue = string | boolean | null | JsonNumber | readonly JsonValue[] | JsonObject;

/** Whether a value is an object (not an array, a number or null). */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);
}

/**
 * Returns the same text for equal values: fields sorted by name, no white space, numbers in their original spelling (1000 and 1e3
 * differ). Used for idempotency fingerprints.
 */
export function canonicalJson(value: JsonValue): string {
  if (value instanceof JsonNumber) return value.source;
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  let members = '';
  for (const name of Object.keys(value).sort()) {
    members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(value[name] ?? null)}`;
  }
  return `{${members}}`;
}
