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
  /** The maximum of deliveries without a stored outcome, which may be repeated after a kill. */
  readonly maxInFlight: number;
};

/** The kills during the deliveries, and what must have arrived. */
export type Circumstances = {
  /** When something was killed, in milliseconds since 1970. */
  readonly kills: readonly number[];
  /** The timeline that must have arrived completely; none while events are still delivered. */
  readonly due?: Timeline;
};

/** The events of the timeline that a webhook is to get, in their order. */
export function wantedOf({ types, after }: Expectation, timeline: Timeline): readonly ToldEvent[] {
  const wants = (type: string) =>
    types === null || types.some((one) => one === type || one === `${type.split('.')[0]}.*`);
  return timeline.filter(({ type, place }) => place > after && wants(type));
}

/**
 * The problems of a webhook's deliveries, in the order of their arrival. Each must be a subscribed event of the books, so
 * none came before its commit, with the event's body, signed with the first secret. A strict webhook gets the next event
 * only after the one before was accepted. Accepted events are repeated only after a kill, and only those in flight. At the
 * end every event was accepted.
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

/** How often an event came again after it was accepted. */
export function countRepeats(deliveries: readonly Delivery[]): number {
  return repeatsOf(deliveries).length;
}

/** The maximum of reported problems. */
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
    if (booked === undefined) problems.push(`${eventId} is not in the books, or not asked for`);
    else if (booked !== hash) problems.push(`the body of ${eventId} is not ${bodies.get(eventId)}`);
    if (!verified.includes(0)) problems.push(`the signature of ${eventId} is wrong`);
  }
  return problems;
}

/** Each event comes after the one before was accepted; it is repeated until it is accepted, and after a crash. */
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

/** A repeat of an accepted event: when it was accepted, and when it was repeated. */
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

/** How long deliveries in flight at a kill may still be accepted, in milliseconds. */
const STILL_ACCEPTED = 2_000;

/**
 * Each repeat must be explained by a kill between the two deliveries, and each kill explains at most as many repeats as can
 * be in flight. Repeats that no later kill can explain are assigned first.
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
  if (between === 0) return [`${eventId} came again, and nothing had been killed`];
  return [`${left.length} more events came again than the ${most} that can be in flight at a kill, such as ${eventId}`];
}

function lostEvents(deliveries: readonly Delivery[], wanted: readonly ToldEvent[]): readonly string[] {
  const lost = notAccepted(deliveries, wanted);
  const places = lost.slice(0, ENOUGH).map(({ place, type }) => `${place} (${type})`);
  return lost.length === 0 ? [] : [`lost: ${lost.length} of ${wanted.length} events, such as ${places.join(', ')}`];
}

/** The events without an accepted delivery. */
export function notAccepted(deliveries: readonly Delivery[], wanted: readonly ToldEvent[]): readonly ToldEvent[] {
  const accepted = new Set(deliveries.filter(({ status }) => isSuccess(status)).map(({ eventId }) => eventId));
  return wanted.filter(({ eventId }) => !accepted.has(eventId));
}

function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status < 300;
}
