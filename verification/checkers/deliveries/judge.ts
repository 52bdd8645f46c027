import { createHash } from 'node:crypto';
import type { Timeline, ToldEvent } from '../events/event-books.ts';
import type { Delivery } from './notes.ts';

/** The events that a webhook must get. */
export type Expectation = {
  readonly name: string;
  readonly order: 'parallel' | 'strict';
  readonly payload: 'full' | 'thin';
  /** Types or groups such as `transfer.*`; null for all. */
  readonly types: readonly string[] | null;
  /** Only events after this position or number. */
  readonly after: number;
  /** The maximum number of deliveries without a stored outcome. They may be repeated after a kill. */
  readonly maxInFlight: number;
};

/** The kills during the deliveries, and the events that must have arrived. */
export type Circumstances = {
  /** The times of the kills, in milliseconds since 1970. */
  readonly kills: readonly number[];
  /** The timeline that must have arrived completely. Undefined while deliveries continue. */
  readonly due?: Timeline;
};

/** Returns the events of the timeline that a webhook must get, in order. */
export function wantedOf({ types, after }: Expectation, timeline: Timeline): readonly ToldEvent[] {
  const wants = (type: string) =>
    types === null || types.some((one) => one === type || one === `${type.split('.')[0]}.*`);
  return timeline.filter(({ type, place }) => place > after && wants(type));
}

/**
 * Returns the problems of a webhook's deliveries, which are in order of arrival. Each must be a subscribed event of the
 * books, so none came before its commit. It must have the event's body and a signature of the first secret. A strict
 * webhook gets the next event only after the previous one was accepted. An accepted event is repeated only if it was in
 * flight at a kill. All events in `due` must have been accepted.
 */
export function wrongDeliveries(
  expectation: Expectation,
  deliveries: readonly Delivery[],
  timeline: Timeline,
  circumstances: Circumstances,
): readonly string[] {
  const wanted = wantedOf(expectation, timeline);
  const problems = [
    ...wrongContents(expectation, deliveries, wanted),
    ...(expectation.order === 'strict' ? wrongOrder(deliveries, wanted) : []),
    ...wrongRepeats(expectation, deliveries, circumstances),
    ...lostEvents(deliveries, wantedOf(expectation, circumstances.due ?? [])),
  ];
  return problems.map((problem) => `${expectation.name}: ${problem}`);
}

/** Counts the events repeated after they were accepted. */
export function countRepeats(deliveries: readonly Delivery[]): number {
  return repeatsOf(deliveries).length;
}

/** The maximum number of reported problems of one kind. */
const ENOUGH = 5;

function wrongContents(
  { payload }: Expectation,
  deliveries: readonly Delivery[],
  wanted: readonly ToldEvent[],
): readonly string[] {
  const problems: string[] = [];
  const hashes = new Map<string, string>();
  const bodies = new Map(wanted.map(({ eventId, body }) => [eventId, body[payload]]));
  const hashOf = (eventId: string): string | undefined => {
    const body = bodies.get(eventId);
    if (body === undefined) return undefined;
    const hash = hashes.get(eventId) ?? createHash('sha256').update(body).digest('base64');
    hashes.set(eventId, hash);
    return hash;
  };
  for (const { eventId, hash, verified } of deliveries) {
    if (problems.length >= ENOUGH) break;
    const booked = hashOf(eventId);
    if (booked === undefined) problems.push(`${eventId} is not in the books, or not subscribed`);
    else if (booked !== hash) problems.push(`the body of ${eventId} is not ${bodies.get(eventId)}`);
    if (!verified.includes(0)) problems.push(`the signature of ${eventId} is wrong`);
  }
  return problems;
}

/** Checks that each event comes after the previous one was accepted. Repeats of the current event are allowed. */
function wrongOrder(deliveries: readonly Delivery[], wanted: readonly ToldEvent[]): readonly string[] {
  const places = new Map(wanted.map(({ eventId }, index) => [eventId, index]));
  let last = -1;
  let isAccepted = true;
  for (const { eventId, status } of deliveries) {
    const index = places.get(eventId);
    // Events that are not in the books are reported elsewhere.
    if (index === undefined) continue;
    const name = (at: number) => `${wanted[at]?.place ?? 'nothing'}`;
    if (index === last + 1 && !isAccepted) return [`${name(index)} came before ${name(last)} was accepted`];
    if (index !== last && index !== last + 1) return [`${name(index)} came after ${name(last)}`];
    isAccepted = isSuccess(status) || (index === last && isAccepted);
    last = index;
  }
  return [];
}

/** A repeat of an accepted event. Times are in milliseconds since 1970. */
type Repeat = { readonly eventId: string; readonly acceptedAt: number; readonly at: number };

/** A repeat that fails and is retried counts once. */
function repeatsOf(deliveries: readonly Delivery[]): readonly Repeat[] {
  const accepted = new Map<string, { readonly at: number; isRepeated: boolean }>();
  const repeats: Repeat[] = [];
  for (const { eventId, at, status } of deliveries) {
    const before = accepted.get(eventId);
    if (before?.isRepeated === false) {
      repeats.push({ eventId, acceptedAt: before.at, at });
      before.isRepeated = true;
    }
    if (isSuccess(status)) accepted.set(eventId, { at, isRepeated: false });
  }
  return repeats;
}

/** The longest time after a kill that a delivery in flight may still be accepted, in milliseconds. */
const STILL_ACCEPTED = 2_000;

/**
 * A kill must explain each repeat: it must be between the two deliveries. Each kill explains at most as many repeats as can
 * be in flight. The earliest repeats are assigned first, because later kills cannot explain them.
 */
function wrongRepeats(
  { maxInFlight, order }: Expectation,
  deliveries: readonly Delivery[],
  { kills }: Circumstances,
): readonly string[] {
  const most = order === 'strict' ? 1 : maxInFlight;
  let left = repeatsOf(deliveries).toSorted((one, other) => one.at - other.at);
  for (const kill of kills) {
    const possible = left.filter(({ acceptedAt, at }) => acceptedAt - STILL_ACCEPTED <= kill && kill <= at);
    const counted = new Set(possible.slice(0, most));
    left = left.filter((repeat) => !counted.has(repeat));
  }
  const [first] = left;
  if (first === undefined) return [];
  const { eventId, acceptedAt, at } = first;
  const between = kills.filter((kill) => acceptedAt - STILL_ACCEPTED <= kill && kill <= at).length;
  if (between === 0) return [`${eventId} was repeated without a kill`];
  return [
    `${left.length} more events were repeated than the ${most} that can be in flight at a kill, such as ${eventId}`,
  ];
}

function lostEvents(deliveries: readonly Delivery[], wanted: readonly ToldEvent[]): readonly string[] {
  const lost = notAccepted(deliveries, wanted);
  const places = lost.slice(0, ENOUGH).map(({ place, type }) => `${place} (${type})`);
  return lost.length === 0 ? [] : [`lost: ${lost.length} of ${wanted.length} events, such as ${places.join(', ')}`];
}

/** Returns the events without an accepted delivery. */
export function notAccepted(deliveries: readonly Delivery[], wanted: readonly ToldEvent[]): readonly ToldEvent[] {
  const accepted = new Set(deliveries.filter(({ status }) => isSuccess(status)).map(({ eventId }) => eventId));
  return wanted.filter(({ eventId }) => !accepted.has(eventId));
}

function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300;
}
