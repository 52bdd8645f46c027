import type { Json, JsonObject } from './shared-schemas.ts';

/** A successful response: its schema and its example. */
export type ShownReply = { readonly schema: Json; readonly example: Json };

/** The example of each record, by the name of its component. */
export type RecordExamples = ReadonlyMap<string, Json>;

/** Returns an example of each record that responses return, alone or in a page: the one in the first such response. */
export function recordExamples(replies: readonly ShownReply[]): RecordExamples {
  const examples = new Map<string, Json>();
  for (const { name, example } of replies.flatMap(recordsIn)) {
    if (!examples.has(name)) examples.set(name, example);
  }
  return examples;
}

/** Whether an example contains the example of another record, whose component already shows it. */
export function isComposed(example: Json, examples: RecordExamples): boolean {
  const texts = new Set([...examples.values()].map((one) => JSON.stringify(one)));
  const contains = (value: Json | undefined): boolean =>
    typeof value === 'object' &&
    value !== null &&
    (Array.isArray(value) ? value : Object.values(value)).some(
      (inner: Json | undefined) => texts.has(JSON.stringify(inner)) || contains(inner),
    );
  return contains(example);
}

/** The name of the record that a response is, alone or as the only item of a last page. */
export function recordIn(reply: ShownReply): string | undefined {
  return recordsIn(reply)[0]?.name;
}

type Found = { readonly name: string; readonly example: Json };

/** The record of a response, or the only item of a last page. */
function recordsIn({ schema, example }: ShownReply): readonly Found[] {
  const alone = nameOf(schema);
  if (alone !== undefined) return [{ name: alone, example }];
  const name = nameOf(membersOf(membersOf(membersOf(schema).properties).data).items);
  const { data, next_cursor: next = null, ...others } = membersOf(example);
  const isPage = Array.isArray(data) && data.length === 1 && next === null && Object.keys(others).length === 0;
  return name === undefined || !isPage ? [] : [{ name, example: data[0] }];
}

function nameOf(schema: Json | undefined): string | undefined {
  const { $ref } = membersOf(schema);
  return typeof $ref === 'string' ? $ref.split('/').at(-1) : undefined;
}

function membersOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}
