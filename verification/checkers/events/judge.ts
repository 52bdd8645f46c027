import type { Timeline } from './event-books.ts';

/** The events that one reader received, in order. */
export type Reading = {
  readonly name: string;
  /** Whether the reader gets events of this type. */
  readonly wants: (type: string) => boolean;
  readonly seen: readonly string[];
};

/** An acknowledged request of a caller. Its event contains the mark. */
export type Fact = { readonly type: string; readonly mark: string };

/**
 * Returns the problems of a reading. It must equal the timeline from its beginning, without gaps or repeats and in the same
 * order. An event missing from the books was shown before its commit or lost afterwards. The reader must have received at
 * least `least` events.
 */
export function wrongReading({ name, wants, seen }: Reading, timeline: Timeline, least: number): readonly string[] {
  const wanted = timeline.filter(({ type }) => wants(type));
  for (const [index, text] of seen.entries()) {
    const booked = wanted[index]?.text;
    if (booked === text) continue;
    if (booked === undefined) return [`${name}: event ${index + 1} is not in the books: ${text}`];
    return [`${name}: event ${index + 1} is ${text} instead of ${booked}`];
  }
  return seen.length < least ? [`${name}: got ${seen.length} of ${least} events`] : [];
}

const MARK = /mark-[0-9]+-[0-9]+-[0-9]+/;

export function markOf(ledger: number, caller: number, step: number): string {
  return `mark-${ledger}-${caller}-${step}`;
}

/**
 * Returns the problems of the callers' events. Each acknowledged request must have its event, and no event may exist twice.
 * A caller sends its requests one after the other, so their events must be in the same order.
 */
export function wrongFacts(callers: readonly (readonly Fact[])[], timeline: Timeline): readonly string[] {
  const problems: string[] = [];
  const numbers = new Map<string, number>();
  for (const [index, { type, text }] of timeline.entries()) {
    const mark = MARK.exec(text)?.[0];
    if (mark === undefined) continue;
    const name = `${type} of ${mark}`;
    // A switch change has two events. Only the event for operators contains the reason, and with it the mark.
    if (numbers.has(name)) problems.push(`doubled: ${name}`);
    numbers.set(name, index + 1);
  }
  for (const facts of callers) {
    let before = { name: 'nothing', number: 0 };
    for (const { type, mark } of facts) {
      const name = `${type} of ${mark}`;
      const number = numbers.get(name);
      if (number === undefined) problems.push(`lost: ${name} was acknowledged but has no event`);
      else if (number <= before.number) problems.push(`${name} comes before ${before.name}, which was answered first`);
      else before = { name, number };
    }
  }
  return problems;
}
