import type { Timeline } from './event-books.ts';

/** What one reader has got, in the order in which it came. */
export type Reading = {
  readonly name: string;
  /** Whether it gets events of this type. */
  readonly wants: (type: string) => boolean;
  readonly seen: readonly string[];
};

/** Something that a caller did and was told so; the mark is in the event that tells of it. */
export type Fact = { readonly type: string; readonly mark: string };

/**
 * What is wrong with a reading: it must be the timeline, from its beginning, without a gap, a repeat or another order. What
 * was read and is not in the books was shown before it was committed, or lost afterwards. `least` events must have come.
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

/** In the text of an event, the mark of what it tells of. */
const MARK = /mark-[0-9]+-[0-9]+-[0-9]+/;

/** A mark that nobody else has. */
export function markOf(ledger: number, caller: number, step: number): string {
  return `mark-${ledger}-${caller}-${step}`;
}

/**
 * What is wrong with the events of what callers did, each one thing after the other: what was acknowledged has its event,
 * no event is there twice, and what was done after a response comes after what the response was about.
 */
export function wrongFacts(callers: readonly (readonly Fact[])[], timeline: Timeline): readonly string[] {
  const problems: string[] = [];
  const numbers = new Map<string, number>();
  for (const [index, { type, text }] of timeline.entries()) {
    const mark = MARK.exec(text)?.[0];
    if (mark === undefined) continue;
    const name = `${type} of ${mark}`;
    // The events of a switch are two: for operators, with the reason and so the mark, and for card programs.
    if (numbers.has(name)) problems.push(`doubled: ${name}`);
    numbers.set(name, index + 1);
  }
  for (const facts of callers) {
    let before = { name: 'nothing', number: 0 };
    for (const { type, mark } of facts) {
      const name = `${type} of ${mark}`;
      const number = numbers.get(name);
      if (number === undefined) problems.push(`lost: ${name} was acknowledged and has no event`);
      else if (number <= before.number) problems.push(`${name} comes before ${before.name}, which was answered first`);
      else before = { name, number };
    }
  }
  return problems;
}
