import { createHash } from 'node:crypto';
import { type Timeline, type Timelines, timelineOf } from '../events/history.ts';

/** The events that a webhook must get. */
export type Subscription = {
  readonly name: string;
  /** The program whose events the webhook gets. Undefined means all programs. */
  readonly programId: string | undefined;
  readonly order: 'parallel' | 'strict';
  readonly payload: 'full' | 'thin';
  /** Event types, or groups such as `transfer.*`. Null means all types. */
  readonly types: readonly string[] | null;
  /** The webhook gets only events after this position or number. */
  readonly after: number;
  /** The maximum number of deliveries without a stored outcome. They may be repeated after a kill. */
  readonly maxInFlight: number;
};

/** A request that arrived at a receiver. */
export type Delivery = {
  /** The time of arrival, in milliseconds since 1970. */
  readonly at: number;
  readonly eventId: string;
  /** The SHA-256 hash of the body, in Base64. */
  readonly hash: string;
  /** The indexes of the secrets that signed it. */
  readonly verified: readonly number[];
  /** The status of the response, or undefined if there was none. */
  readonly status: number | undefined;
};

/** The deliveries of one webhook, and what happened around them. */
export type DeliveryHistory = {
  readonly subscription: Subscription;
  /** The deliveries, in order of arrival. */
  readonly deliveries: readonly Delivery[];
  /** All committed events. */
  readonly timelines: Timelines;
  /** The events that must have arrived: none while deliveries continue. */
  readonly due: Timelines;
  /** When services or their database were killed, in milliseconds since 1970. */
  readonly kills: readonly number[];
};

/** Returns the events that a webhook must get, in order. */
function wantedBy({ programId, types, after }: Subscription, timelines: Timelines): Timeline {
  const wants = (type: string) =>
    types === null || types.some((one) => one === type || one === `${type.split('.')[0]}.*`);
  return timelineOf(programId, timelines).filter(({ type, place }) => place > after && wants(type));
}

/** Counts the events repeated after they were accepted. */
export function countRepeats(deliveries: readonly Delivery[]): number {
  return repeatsOf(deliveries).length;
}

/**
 * Checks the deliveries of a webhook. Each must be a subscribed, committed event, so none came before its commit. It must have
 * the event's body and a signature of the first secret. A strict webhook gets the next event only after the previous one was
 * accepted. An accepted event is repeated only if it was in flight at a kill. All events in `due` must have been accepted.
 */
export function checkDeliveries(history: DeliveryHistory): readonly string[] {
  const { subscription, deliveries, timelines, due } = history;
  const wanted = wantedBy(subscription, timelines);
  return [
    ...checkContents(subscription, deliveries, wanted),
    ...(subscription.order === 'strict' ? checkOrder(deliveries, wanted) : []),
    ...checkRepeats(history),
    ...checkArrival(deliveries, wantedBy(subscription, due)),
  ].map((violation) => `${subscription.name}: ${violation}`);
}

/** The maximum number of reported violations of one kind. */
const ENOUGH = 5;

function checkContents(
  { payload }: Subscription,
  deliveries: readonly Delivery[],
  wanted: Timeline,
): readonly string[] {
  const violations: string[] = [];
  const bodies = new Map(wanted.map(({ eventId, body }) => [eventId, body[payload]]));
  for (const { eventId, hash, verified } of deliveries) {
    if (violations.length >= ENOUGH) break;
    const body = bodies.get(eventId);
    if (body === undefined) violations.push(`${eventId} does not exist, or is not subscribed`);
    else if (hashOf(body) !== hash) violations.push(`the body of ${eventId} is not ${body}`);
    if (!verified.includes(0)) violations.push(`the signature of ${eventId} is wrong`);
  }
  return violations;
}

export function hashOf(body: string | Buffer): string {
  return createHash('sha256').update(body).digest('base64');
}

/** Checks that each event comes after the previous one was accepted. Repeats of the current event are allowed. */
function checkOrder(deliveries: readonly Delivery[], wanted: Timeline): readonly string[] {
  const places = new Map(wanted.map(({ eventId }, index) => [eventId, index]));
  const name = (index: number): string => `${wanted[index]?.place ?? 'nothing'}`;
  let last = -1;
  let isLastAccepted = true;
  for (const delivery of deliveries) {
    const index = places.get(delivery.eventId);
    // Events that are not in the books are reported elsewhere.
    if (index === undefined) continue;
    if (index === last + 1 && !isLastAccepted) return [`${name(index)} came before ${name(last)} was accepted`];
    if (index !== last && index !== last + 1) return [`${name(index)} came after ${name(last)}`];
    isLastAccepted = isAccepted(delivery) || (index === last && isLastAccepted);
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
  for (const delivery of deliveries) {
    const { eventId, at } = delivery;
    const before = accepted.get(eventId);
    if (before?.isRepeated === false) {
      repeats.push({ eventId, acceptedAt: before.at, at });
      before.isRepeated = true;
    }
    if (isAccepted(delivery)) accepted.set(eventId, { at, isRepeated: false });
  }
  return repeats;
}

/** The longest time after a kill that a delivery in flight may still be accepted, in milliseconds. */
const STILL_ACCEPTED = 2_000;

/**
 * Each repeat must be explained by a kill between the two deliveries. One kill explains at most as many repeats as
 * deliveries can be in flight. The earliest repeats are assigned first, because later kills cannot explain them.
 */
function checkRepeats({ subscription: { maxInFlight, order }, deliveries, kills }: DeliveryHistory): readonly string[] {
  const most = order === 'strict' ? 1 : maxInFlight;
  const isBetween = (kill: number, { acceptedAt, at }: Repeat): boolean =>
    acceptedAt - STILL_ACCEPTED <= kill && kill <= at;
  let left = repeatsOf(deliveries).toSorted((one, other) => one.at - other.at);
  for (const kill of kills) {
    const explained = new Set(left.filter((repeat) => isBetween(kill, repeat)).slice(0, most));
    left = left.filter((repeat) => !explained.has(repeat));
  }
  const [first] = left;
  if (first === undefined) return [];
  if (!kills.some((kill) => isBetween(kill, first))) return [`${first.eventId} was repeated without a kill`];
  return [
    `${left.length} more events were repeated than the ${most} that can be in flight at a kill, such as ${first.eventId}`,
  ];
}

function checkArrival(deliveries: readonly Delivery[], wanted: Timeline): readonly string[] {
  const accepted = new Set(deliveries.filter(isAccepted).map(({ eventId }) => eventId));
  const lost = wanted.filter(({ eventId }) => !accepted.has(eventId));
  const places = lost.slice(0, ENOUGH).map(({ place, type }) => `${place} (${type})`);
  return lost.length === 0 ? [] : [`lost: ${lost.length} of ${wanted.length} events, such as ${places.join(', ')}`];
}

function isAccepted({ status }: Delivery): boolean {
  return status !== undefined && status >= 200 && status < 300;
}
