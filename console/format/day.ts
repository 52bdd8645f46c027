import type { DayRecord } from '../../sdk/client.ts';
import { sentenceCase } from './names.ts';
import { formatNumber } from './operators/switch.ts';
import { toFieldValue, toIso } from './times.ts';

type Sheet = DayRecord['currencies'][number];

const ACCOUNTS = ['funding', 'cards', 'suspense', 'loss'] as const;

/** One line of a day's table, in minor units. `postings` is null for balances. */
export type DayLine = Sheet['opening'] & { readonly name: string; readonly postings: number | null };

const DAY_MILLISECONDS = 86_400_000;

/** Returns the day `count` days after a day such as `2026-01-30`, or before it if `count` is negative. */
export function addDays(day: string, count: number): string {
  return new Date(Date.parse(day) + count * DAY_MILLISECONDS).toISOString().slice(0, 10);
}

/** Returns the day of a moment (milliseconds since 1970) in the user's time zone, such as `2026-01-30`. */
export function dayOf(moment: number): string {
  return toFieldValue(new Date(moment).toISOString()).slice(0, 10);
}

/** Returns when a day begins and ends in the user's time zone, in ISO 8601. Undefined if the text is not a day. */
export function boundsOfDay(day: string): { readonly from: string; readonly to: string } | undefined {
  const from = toIso(`${day}T00:00`);
  if (from === undefined || !/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(day)) return undefined;
  const to = toIso(`${addDays(day, 1)}T00:00`);
  return to === undefined ? undefined : { from, to };
}

/** Formats a day: `30 January 2026`. `weekday` puts `Friday` before it. */
export function formatDay(day: string, weekday?: 'long'): string {
  const parts = { weekday, day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' } as const;
  // Some browsers put a comma after the weekday.
  return new Date(day).toLocaleDateString('en-GB', parts).replace(',', '');
}

/** Says in one sentence whether a day adds up, with the tone of an `answer`. */
export function verdictOf({ day, status, adds_up: addsUp, currencies, open_breaks: openBreaks }: DayRecord): {
  readonly tone: '' | 'unknown' | 'fault';
  readonly sentence: string;
} {
  const name = formatDay(day);
  if (!addsUp) {
    const wrong = currencies.filter((sheet) => !sheet.adds_up).map(({ currency }) => currency);
    const problem =
      wrong.length > 0
        ? `${name} does not add up in ${wrong.join(' and ')}.`
        : `${name} does not begin with the closing balances of the previous closed day.`;
    return { tone: 'fault', sentence: `${problem} Contact the people who run this ledger.` };
  }
  if (status === 'running') return { tone: 'unknown', sentence: `${name} is not over. So far, it adds up.` };
  if (openBreaks === 0) return { tone: '', sentence: `${name} adds up.` };
  const open = formatNumber(openBreaks, 'break');
  const since =
    status === 'closed' ? `was closed with ${open} open` : `${open} ${openBreaks === 1 ? 'is' : 'are'} open`;
  return { tone: 'unknown', sentence: `${name} adds up, but ${since}.` };
}

/** Returns the lines of a currency: opening, each movement, and closing. If it does not add up, the difference comes last. */
export function linesOf({ opening, movements, closing, adds_up: addsUp }: Sheet): readonly DayLine[] {
  const lines: readonly DayLine[] = [
    { name: 'Opening', postings: null, ...opening },
    ...movements.map(({ purpose, ...line }) => ({ name: `${sentenceCase(purpose)}s`, ...line })),
  ];
  const last: DayLine = { name: 'Closing', postings: null, ...closing };
  if (addsUp) return [...lines, last];
  const differences = ACCOUNTS.map((account) => {
    const expected = lines.reduce((sum, line) => sum + BigInt(line[account]), 0n);
    return [account, String(BigInt(closing[account]) - expected)];
  });
  return [
    ...lines,
    last,
    { name: 'Difference', postings: null, ...(Object.fromEntries(differences) as Sheet['closing']) },
  ];
}
