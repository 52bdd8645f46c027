import { EVERY_PROGRAM, SERVICE_ITSELF } from '../../../domain/event.ts';
import { fromWireId } from '../../../domain/identifier.ts';
import {
  ALL_BY_NUMBER,
  type EventTables,
  type PlacedEvent,
  type PositionRow,
  placeEvent,
  type Timeline,
  type Timelines,
  timelineOf,
} from './history.ts';

/** The timelines in the tables, and the violations of the tables themselves. */
export type Placed = { readonly timelines: Timelines; readonly violations: readonly string[] };

/**
 * Orders each program's events by position, and the events of all programs by number. Positions and numbers must be 1, 2, 3
 * and so on up to the head. Each event must have at most one position, and exactly one when no transaction waits. A shared
 * event must have a position in each of `programs` (wire ids).
 */
export function placeEvents({ events, positions, heads, waiting }: EventTables, programs: readonly string[]): Placed {
  const violations: string[] = [];
  const uuids = programs.map((program) => fromWireId('prog', program) ?? '');
  const groups = Map.groupBy(events, ({ batchId, programId }) => `${batchId} ${programId ?? SERVICE_ITSELF}`);
  const placed = Map.groupBy(positions, groupOf);
  const timelines = new Map<string, PlacedEvent[]>();
  const numbered: PlacedEvent[] = [];
  for (const row of positions) {
    const { programId, position, count, number, isShared } = row;
    const group = groupOf(row);
    const own = groups.get(group) ?? [];
    if (own.length !== count) violations.push(`${group} has ${own.length} events and positions for ${count}`);
    const timeline = timelines.get(programId) ?? [];
    timelines.set(programId, timeline);
    if (position !== timeline.length + 1)
      violations.push(`position ${position} of ${programId} comes after ${timeline.length}`);
    for (const [offset, event] of own.entries()) {
      const owner = isShared ? programId : event.programId;
      timeline.push(placeEvent(event, owner, position + offset));
      if (!isShared) numbered.push(placeEvent(event, owner, position + offset, number + offset));
    }
  }
  numbered.sort((left, right) => left.place - right.place);
  const wrongNumber = numbered.find(({ place }, index) => place !== index + 1);
  if (wrongNumber !== undefined) violations.push(`number ${wrongNumber.place} is repeated, or comes after a gap`);
  timelines.set(ALL_BY_NUMBER, numbered);
  for (const [programId, head] of heads) {
    const { length } = timelines.get(programId) ?? [];
    if (head !== length) violations.push(`the head of ${programId} is ${head}, but it has ${length} events`);
  }
  for (const group of groups.keys()) {
    const found = (placed.get(group) ?? []).map(({ programId }) => programId);
    if (new Set(found).size < found.length)
      violations.push(`duplicated: the events of ${group} have several positions`);
    const isForAll = group.endsWith(EVERY_PROGRAM);
    const isMissing = isForAll ? uuids.some((uuid) => !found.includes(uuid)) : found.length === 0;
    if (waiting === 0 && isMissing) violations.push(`missing: the events of ${group} have no positions`);
  }
  for (const group of placed.keys()) if (!groups.has(group)) violations.push(`${group} has positions but no events`);
  return { timelines, violations };
}

/** The events of one transaction: in one program, or shared by all programs. */
function groupOf({ batchId, programId, isShared }: PositionRow): string {
  return `${batchId} ${isShared ? EVERY_PROGRAM : programId}`;
}

/** The events that one reader received, in order. */
export type Reading = {
  readonly name: string;
  /** The program whose events the reader reads. Undefined means all programs. */
  readonly programId: string | undefined;
  /** Whether the reader gets events of this type. */
  readonly wants: (type: string) => boolean;
  readonly seen: readonly string[];
};

/** Returns the events that a reader must get, in order. */
export function wantedBy({ programId, wants }: Omit<Reading, 'seen'>, timelines: Timelines): Timeline {
  return timelineOf(programId, timelines).filter(({ type }) => wants(type));
}

/**
 * Compares a reading with its timeline. They must be equal from the beginning, without gaps or repeats and in the same order.
 * An event missing from the timeline was shown before its commit or lost afterwards. The reader must have received at
 * least as many events as `due` has for it.
 */
export function checkReading(reading: Reading, timelines: Timelines, due: Timelines): readonly string[] {
  const { name, seen } = reading;
  const wanted = wantedBy(reading, timelines);
  for (const [index, text] of seen.entries()) {
    const stored = wanted[index]?.text;
    if (stored === text) continue;
    if (stored === undefined) return [`${name}: event ${index + 1} is not in the timeline: ${text}`];
    return [`${name}: event ${index + 1} is ${text} instead of ${stored}`];
  }
  const least = wantedBy(reading, due).length;
  return seen.length < least ? [`${name}: got ${seen.length} of ${least} events`] : [];
}

/** An acknowledged request of a caller. Its event contains the mark. */
export type Acknowledged = { readonly type: string; readonly mark: string };

const MARK = /mark-[0-9]+-[0-9]+-[0-9]+/;

export function markOf(ledger: number, caller: number, step: number): string {
  return `mark-${ledger}-${caller}-${step}`;
}

/**
 * Compares the callers' acknowledged requests with the timeline of all events. Each must have its event, and no event may
 * exist twice. A caller sends its requests one after another, so their events must be in the same order.
 */
export function checkAcknowledged(
  callers: readonly (readonly Acknowledged[])[],
  timeline: Timeline,
): readonly string[] {
  const violations: string[] = [];
  const numbers = new Map<string, number>();
  for (const { type, text, place } of timeline) {
    const mark = MARK.exec(text)?.[0];
    if (mark === undefined) continue;
    const name = `${type} of ${mark}`;
    // A switch change has two events. Only the event for operators contains the reason, and with it the mark.
    if (numbers.has(name)) violations.push(`duplicated: ${name}`);
    numbers.set(name, place);
  }
  for (const acknowledged of callers) {
    let before = { name: 'nothing', number: 0 };
    for (const { type, mark } of acknowledged) {
      const name = `${type} of ${mark}`;
      const number = numbers.get(name);
      if (number === undefined) violations.push(`lost: ${name} was acknowledged but has no event`);
      else if (number <= before.number)
        violations.push(`${name} comes before ${before.name}, which was answered first`);
      else before = { name, number };
    }
  }
  return violations;
}
