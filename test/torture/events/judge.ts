import type { Timeline } from './event-books.ts';

/** The events of one reader, in the order in which they arrived. */
export type Reading = {
  readonly name: string;
  /** Whether it gets events of this type. */
  readonly wants: (type: string) => boolean;
  readonly seen: readonly string[];
};

/** An acknowledged request of a caller; its event contains the mark. */
export type Fact = { readonly type: string; readonly mark: string };

/**
 * The problems of a reading: it must be the timeline from its beginning, without a gap, a repeat or another order. An event
 * that is not in the books was shown before its commit, or lost afterwards. At least `least` events must have arrived.
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

/** The mark in the text of an event. */
const MARK = /mark-[0-9]+-[0-9]+-[0-9]+/;

/** A unique mark. */
export function markOf(ledger: number, caller: number, step: number): string {
  return `mark-${ledger}-${caller}-${step}`;
}

/**
 * The problems of the callers' events, whose requests were sent one after the other: each acknowledged request has its
 * event, no event exists twice, and a request sent after a response comes after the request of that response.
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
