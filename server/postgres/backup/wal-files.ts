/** Size of a WAL file, as set by initdb. */
export const SEGMENT_BYTES = 16_777_216;

/** Number of WAL files that share the first half of their number. */
const SEGMENTS_PER_LOG = 0x1_0000_0000 / SEGMENT_BYTES;

export type Segment = { readonly timeline: number; readonly number: number };

/** The point where the next timeline branched off. Everything before the position `end` belongs to `timeline`. */
export type Branch = { readonly timeline: number; readonly end: bigint };

const SEGMENT_NAME = /^([0-9A-F]{8})([0-9A-F]{8})([0-9A-F]{8})$/;
const HISTORY_NAME = /^([0-9A-F]{8})\.history$/;
const HISTORY_LINE = /^\s*(\d+)\s+([0-9A-F]+)\/([0-9A-F]+)\b/;

const hex = (value: number): string => value.toString(16).toUpperCase().padStart(8, '0');

export function segmentName({ timeline, number }: Segment): string {
  return hex(timeline) + hex(Math.floor(number / SEGMENTS_PER_LOG)) + hex(number % SEGMENTS_PER_LOG);
}

/** Parses the name of a WAL file. Undefined for other files, such as the history of a timeline. */
export function parseSegment(name: string): Segment | undefined {
  const [, timeline, log, rest] = SEGMENT_NAME.exec(name) ?? [];
  if (timeline === undefined || log === undefined || rest === undefined) return undefined;
  const number = Number.parseInt(log, 16) * SEGMENTS_PER_LOG + Number.parseInt(rest, 16);
  return { timeline: Number.parseInt(timeline, 16), number };
}

export function historyName(timeline: number): string {
  return `${hex(timeline)}.history`;
}

/** Returns the timeline of a history file. Undefined for other files. */
export function parseHistoryName(name: string): number | undefined {
  const [, timeline] = HISTORY_NAME.exec(name) ?? [];
  return timeline === undefined ? undefined : Number.parseInt(timeline, 16);
}

/** Parses a position in the WAL in PostgreSQL's form, such as `1/2A000060`. */
export function parsePosition(text: string): bigint {
  const [, high, low] = /^([0-9A-F]+)\/([0-9A-F]+)$/i.exec(text) ?? [];
  if (high === undefined || low === undefined) throw new TypeError(`'${text}' is not a position in the WAL`);
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`);
}

export function segmentAt(position: bigint): number {
  return Number(position / BigInt(SEGMENT_BYTES));
}

/** Returns the earlier timelines of a timeline, oldest first, from the content of its history file. */
export function parseHistory(text: string): readonly Branch[] {
  return text.split('\n').flatMap((line) => {
    const [, timeline, high, low] = HISTORY_LINE.exec(line) ?? [];
    return timeline === undefined ? [] : [{ timeline: Number(timeline), end: parsePosition(`${high}/${low}`) }];
  });
}

/**
 * Returns the timeline whose file with this number a recovery reads. It is the last timeline that contains a part of the file.
 *
 * @param branches the timelines before `timeline`, oldest first.
 */
export function timelineOfSegment(number: number, timeline: number, branches: readonly Branch[]): number {
  return branches.find(({ end }) => number < segmentAt(end))?.timeline ?? timeline;
}

/** The archived files for a recovery: consecutive files, and whether there are others after the first missing file. */
export type Chain = {
  /** Undefined if even the first file is missing. */
  readonly last: Segment | undefined;
  /** Whether there are later files although the file after `last` is missing. */
  readonly isBroken: boolean;
  readonly missing: Segment;
};

/** Follows the files that a recovery reads, beginning with a number. */
export function followChain(
  names: ReadonlySet<string>,
  first: number,
  timeline: number,
  branches: readonly Branch[],
): Chain {
  const at = (number: number): Segment => ({ timeline: timelineOfSegment(number, timeline, branches), number });
  let number = first;
  while (names.has(segmentName(at(number)))) number += 1;
  let isBroken = false;
  for (const name of names) {
    const segment = parseSegment(name);
    if (segment === undefined || segment.number <= number) continue;
    isBroken ||= segment.timeline === at(segment.number).timeline;
  }
  return { last: number === first ? undefined : at(number - 1), isBroken, missing: at(number) };
}
