import type { Statement } from './connection/database.ts';

const texts = new Map<string, string>();

/**
 * Several writes as one statement, so that a group of transfers is saved with one message and one answer. They see the
 * tables as they were before it, so none may build on a row that another one writes.
 */
export function mergeWrites(writes: readonly Statement[]): Statement {
  const name = writes.map((write) => write.name).join('_and_');
  let text = texts.get(name);
  if (text === undefined) {
    text = mergeTexts(writes);
    texts.set(name, text);
  }
  return { name: shortName(name), text, values: writes.flatMap((write) => write.values) };
}

function mergeTexts(writes: readonly Statement[]): string {
  let before = 0;
  const parts = writes.map((write) => {
    const shifted = write.text.replaceAll(/\$(\d+)/g, (_place, number: string) => `$${Number(number) + before}`);
    before += write.values.length;
    return `${write.name} as (${shifted})`;
  });
  return `with ${parts.join(', ')} select`;
}

const shortNames = new Map<string, string>();

/** PostgreSQL cuts names after 63 bytes. */
function shortName(name: string): string {
  const known = shortNames.get(name) ?? `merged_writes_${shortNames.size}`;
  shortNames.set(name, known);
  return known;
}
