/** The maximum number of parts that the ticks divide an axis of values into. */
const MAX_PARTS = 4;

/** Keeps a line at the maximum off the upper edge. */
const HEADROOM = 1.04;

/**
 * Returns the ticks of an axis of values, from 0 to a number above the maximum. There are three to five, even if all values are 0.
 * Set `isWhole` for counts, so that no tick lies between two whole numbers.
 */
export function valueTicks(max: number, isWhole: boolean): number[] {
  const highest = Math.max(max, 0) * HEADROOM;
  const step = highest === 0 ? 1 : stepFor(highest, isWhole);
  const parts = Math.max(Math.ceil(highest / step), 2);
  return Array.from({ length: parts + 1 }, (_, at) => exact(at * step));
}

/** Returns 1, 2 or 5 times a power of ten. */
function stepFor(highest: number, isWhole: boolean): number {
  const power = 10 ** Math.floor(Math.log10(highest / MAX_PARTS));
  const step = [1, 2, 5].map((digit) => digit * power).find((one) => highest / one <= MAX_PARTS) ?? 10 * power;
  return isWhole ? Math.max(1, step) : step;
}

/** Removes the error of a multiplication: 0.30000000000000004 becomes 0.3. */
function exact(value: number): number {
  return Number(value.toPrecision(12));
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The steps between the ticks of a time axis. People read clocks in these. */
const TIME_STEPS = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 3, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 4, 6, 8, 12].map((hours) => hours * HOUR),
  ...[1, 2, 3, 7, 14, 28].map((days) => days * DAY),
];

const MIN_TIME_TICKS = 3;

/** The difference between the local time and UTC in seconds, which changes twice a year in many places. */
type Offset = (seconds: number) => number;

const localOffset: Offset = (seconds) => -MINUTE * new Date(seconds * 1000).getTimezoneOffset();

export type TimeTicks = { readonly times: readonly number[]; readonly stepSeconds: number };

/**
 * Returns the ticks of a time axis at round local times, in seconds since 1970. There are at most `most`, except that an axis of
 * at least three seconds never has fewer than three.
 */
export function timeTicks(first: number, last: number, most: number, offsetOf: Offset = localOffset): TimeTicks {
  let finer: TimeTicks | undefined;
  for (const stepSeconds of TIME_STEPS) {
    // Skips steps that are much too fine.
    if ((last - first) / stepSeconds > Math.max(most, MIN_TIME_TICKS) * MIN_TIME_TICKS) continue;
    const ticks = { times: timesAt(first, last, stepSeconds, offsetOf), stepSeconds };
    if (ticks.times.length < MIN_TIME_TICKS && finer !== undefined) return finer;
    if (ticks.times.length <= most) return ticks;
    finer = ticks;
  }
  return finer ?? { times: [first, last], stepSeconds: last - first };
}

function timesAt(first: number, last: number, step: number, offsetOf: Offset): number[] {
  const start = Math.ceil((first + offsetOf(first)) / step) * step;
  const end = last + offsetOf(last);
  const count = Math.max(0, Math.floor((end - start) / step) + 1);
  const times = Array.from({ length: count }, (_, at) => {
    const local = start + at * step;
    return local - offsetOf(local - offsetOf(local));
  });
  return times.filter((time) => time >= first && time <= last);
}

/** Formats a tick of a time axis: the time, or the date if the tick is at midnight and the axis has only hours or days. */
export function timeLabel(seconds: number, stepSeconds: number): string {
  const date = new Date(seconds * 1000);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
  if (stepSeconds >= DAY || (stepSeconds >= HOUR && isMidnight)) {
    return date.toLocaleString('en-GB', { day: 'numeric', month: 'short' });
  }
  const second = stepSeconds < MINUTE ? ({ second: '2-digit' } as const) : {};
  return date.toLocaleString('en-GB', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', ...second });
}
