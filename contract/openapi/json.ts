/** A value of the document. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;

/** An object of the document; a field that is undefined is omitted. */
export type JsonObject = { readonly [name: string]: Json | undefined };

/** A reference to a component of the document. */
export function reference(kind: string, name: string): { readonly $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}
