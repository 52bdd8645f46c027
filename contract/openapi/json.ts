/** A JSON value in the OpenAPI document. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

/** An object in the document. Undefined fields are omitted. */
export type JsonObject = { readonly [name: string]: Json | undefined };

/** Returns a reference to a component of the document. */
export function reference(kind: string, name: string): { readonly $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}
