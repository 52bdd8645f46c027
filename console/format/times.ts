const DAY: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short', year: 'numeric' };
const CLOCK: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' };

/** Formats a moment in the user's time zone: `22 Nov 2026, 14:05:33`. */
export function formatMoment(iso: string, timeZone?: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return date.toLocaleString('en-GB', { ...DAY, ...CLOCK, timeZone });
}

/**
 * Formats a moment in the user's time zone, as short as possible: `14:05:33` today, `22 Nov, 14:05` this year, and `22
 * Nov 2025` in a different year.
 */
export function formatShort(iso: string, now: number, timeZone?: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const dayOf = (at: Date) => at.toLocaleDateString('en-GB', { ...DAY, timeZone });
  const [day, today] = [dayOf(date), dayOf(new Date(now))];
  if (day === today) return formatClock(iso, timeZone);
  if (day.slice(-4) !== today.slice(-4)) return day;
  return `${day.slice(0, -5)}, ${formatClock(iso, timeZone).slice(0, -3)}`;
}

/** Formats a moment for lists: `12 min ago` or `in 3 h` within a day, and otherwise like {@link formatShort}. */
export function formatAgo(iso: string, now: number, timeZone?: string): string {
  const time = new Date(iso).getTime();
  const distance = Math.abs(time - now);
  // Also if the moment is invalid.
  if (!(distance < DAY_MILLISECONDS)) return formatShort(iso, now, timeZone);
  const step = STEPS.find(({ milliseconds }) => distance >= milliseconds);
  if (step === undefined) return 'now';
  const count = `${Math.floor(distance / step.milliseconds)} ${step.sign}`;
  return time < now ? `${count} ago` : `in ${count}`;
}

/** Formats a moment in UTC to the millisecond, as in logs and the API: `2026-11-22 14:05:33.123 UTC`. */
export function formatUtc(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : date.toISOString().replace('T', ' ').replace('Z', ' UTC');
}

/** Formats the time of day: `14:05:33`. */
export function formatClock(iso: string, timeZone?: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : date.toLocaleTimeString('en-GB', { ...CLOCK, timeZone });
}

const DAY_MILLISECONDS = 86_400_000;

const STEPS = [
  { unit: 'day', sign: 'd', milliseconds: DAY_MILLISECONDS },
  { unit: 'hour', sign: 'h', milliseconds: 3_600_000 },
  { unit: 'minute', sign: 'min', milliseconds: 60_000 },
  { unit: 'second', sign: 's', milliseconds: 1_000 },
] as const;

/**
 * Says how long ago a moment was, or how far ahead it is: `117 seconds ago`, `in 2 hours`, `now`. It uses the largest unit with
 * a count of at least two, because one hour could be nearly two.
 */
export function formatDistance(iso: string, now: number): string {
  const difference = new Date(iso).getTime() - now;
  const step = STEPS.find(({ milliseconds }) => Math.abs(difference) >= 2 * milliseconds) ?? STEPS.at(-1);
  if (step === undefined || Math.abs(difference) < step.milliseconds) return 'now';
  const count = Math.floor(Math.abs(difference) / step.milliseconds);
  const text = `${count} ${step.unit}${count === 1 ? '' : 's'}`;
  return difference < 0 ? `${text} ago` : `in ${text}`;
}

/** Formats a duration: `850 ms`, `12 s`, `1 min 57 s`, `3 h 20 min`, `2 d 4 h`. */
export function formatDuration(milliseconds: number): string {
  let rest = Math.round(milliseconds);
  if (rest < 1_000) return `${rest} ms`;
  const first = STEPS.findIndex((step) => rest >= step.milliseconds);
  return STEPS.slice(first, first + 2)
    .flatMap(({ milliseconds: length, sign }) => {
      const count = Math.floor(rest / length);
      rest -= count * length;
      return count === 0 ? [] : [`${count} ${sign}`];
    })
    .join(' ');
}

/** Converts a date and time field, which is in the user's time zone, to the API's format. Undefined if the field is empty. */
export function toIso(fieldValue: string): string | undefined {
  if (fieldValue === '') return undefined;
  const date = new Date(fieldValue);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** Returns the value of a date and time field for a moment, in the user's time zone. */
export function toFieldValue(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return '';
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString();
  return local.slice(0, local.slice(17, 19) === '00' ? 16 : 19);
}

/** Names the user's time zone and its offset from UTC at a moment: `Europe/Berlin, UTC+1`. */
export function zoneText(at: number, timeZone?: string): string {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone, timeZoneName: 'shortOffset' });
  const { timeZone: name } = format.resolvedOptions();
  const offset = format.formatToParts(Number.isNaN(at) ? 0 : at).find(({ type }) => type === 'timeZoneName')?.value;
  const text = (offset ?? '').replace('GMT', 'UTC');
  return name === 'UTC' ? name : `${name}, ${text}`;
}

type Preset = {
  readonly text: string;
  /** Returns the time in ISO 8601, as of `now` (milliseconds since 1970). */
  readonly at: (now: number) => string;
};

/** Returns the time of a day in the user's time zone. */
function atHour(now: number, days: number, hour: number): string {
  const day = new Date(now);
  day.setDate(day.getDate() + days);
  day.setHours(hour, 0, 0, 0);
  return day.toISOString();
}

/** Returns a time that is whole minutes away, without its seconds. */
function afterMinutes(now: number, minutes: number): string {
  return new Date(Math.floor(now / 60_000 + minutes) * 60_000).toISOString();
}

const MORNING_HOUR = 9;

const PRESETS = {
  past: [
    { text: 'An hour ago', at: (now) => afterMinutes(now, -60) },
    { text: 'Today, 00:00', at: (now) => atHour(now, 0, 0) },
    { text: 'Yesterday, 00:00', at: (now) => atHour(now, -1, 0) },
  ],
  soon: [
    { text: 'In an hour', at: (now) => afterMinutes(now, 60) },
    { text: 'Tomorrow, 09:00', at: (now) => atHour(now, 1, MORNING_HOUR) },
    { text: 'In a week, 09:00', at: (now) => atHour(now, 7, MORNING_HOUR) },
  ],
  distant: [
    { text: 'In 30 days', at: (now) => atHour(now, 30, 0) },
    { text: 'In 90 days', at: (now) => atHour(now, 90, 0) },
    { text: 'In 365 days', at: (now) => atHour(now, 365, 0) },
  ],
} as const satisfies Readonly<Record<string, readonly Preset[]>>;

export type PresetName = keyof typeof PRESETS;

/** Returns the times that a date and time field proposes. */
export function presetsOf(name: PresetName): readonly Preset[] {
  return PRESETS[name];
}

/** The periods to choose from, by their names in the URL. */
export const PERIODS = {
  hour: 'Last hour',
  today: 'Today',
  yesterday: 'Yesterday',
  night: 'Last night',
  day: 'Last 24 hours',
  week: 'Last 7 days',
} as const;

/** A key of {@link PERIODS}, `exact` for the other two fields, or empty for any time. */
export type Period = {
  readonly period: string;
  /** ISO 8601. Empty for no bound. */
  readonly from: string;
  readonly to: string;
};

const HOUR_MILLISECONDS = 3_600_000;
const HOURS = { hour: 1, day: 24, week: 7 * 24 } as const;

/** A night lasts from the end of a working day to the start of the next, in the user's time zone. */
const NIGHT_BEGINS_HOUR = 18;
const NIGHT_ENDS_HOUR = 8;

/** Returns the bounds of a period for the API, as of `now` (milliseconds since 1970). Missing for no bound. */
export function boundsOf({ period, from, to }: Period, now: number): { readonly from?: string; readonly to?: string } {
  if (period === 'night') return nightBefore(now);
  if (period === 'today') return { from: atHour(now, 0, 0) };
  if (period === 'yesterday') return { from: atHour(now, -1, 0), to: atHour(now, 0, 0) };
  if (Object.hasOwn(HOURS, period)) {
    const hours = HOURS[period as keyof typeof HOURS];
    return { from: new Date(now - hours * HOUR_MILLISECONDS).toISOString() };
  }
  return { ...(from === '' ? {} : { from }), ...(to === '' ? {} : { to }) };
}

/** Returns last night, or the current night. */
function nightBefore(now: number): { readonly from: string; readonly to: string } {
  const isEvening = new Date(now).toISOString() > atHour(now, 0, NIGHT_BEGINS_HOUR);
  return {
    from: atHour(now, isEvening ? 0 : -1, NIGHT_BEGINS_HOUR),
    to: atHour(now, isEvening ? 1 : 0, NIGHT_ENDS_HOUR),
  };
}

export function isBounded({ period, from, to }: Period): boolean {
  return Object.hasOwn(PERIODS, period) || from !== '' || to !== '';
}

/** The shortest pause between two polls. Automatic work, such as a delivery, takes about as long. */
export const MIN_PAUSE_MILLISECONDS = 1_000;

/** How long after its due time a change has usually happened and been stored. */
const USUAL_DELAY_MILLISECONDS = 500;

/**
 * Returns the pause before the next poll, in milliseconds. This is `every`, or less if the result will change earlier, at
 * `changesAt` (ISO 8601; `now` is in milliseconds since 1970). If the change is overdue by a whole poll, it no longer shortens
 * the pause.
 */
export function pauseUntilPoll(every: number, changesAt: string | null, now: number): number {
  if (changesAt === null) return every;
  const pause = Date.parse(changesAt) + USUAL_DELAY_MILLISECONDS - now;
  if (pause < -every) return every;
  return Math.min(every, Math.max(MIN_PAUSE_MILLISECONDS, pause));
}
