/** The median; NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  if (sorted.length % 2 === 1) return sorted[Math.floor(middle)] ?? Number.NaN;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

/** The means of the numbers in two results of the same shape. Other values come from the first result. */
export function meanOf<Result>(first: Result, second: Result): Result {
  if (typeof first === 'number') return ((first + (second as number)) / 2) as Result;
  if (typeof first !== 'object' || first === null || Array.isArray(first)) return first;
  const figures = Object.entries(first).map(([name, value]) => [name, meanOf(value, second[name as keyof Result])]);
  return Object.fromEntries(figures) as Result;
}

/** Formats 12345.6 as 12,346. */
export function whole(value: number): string {
  return Number.isFinite(value) ? Math.round(value).toLocaleString('en-US') : '?';
}

/** Formats a number with three significant digits: 0.123, 1.23, 12.3, 123. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '?';
  if (Math.abs(value) >= 100) return whole(value);
  return value.toFixed(Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3);
}

/** Formats 5000000 as 5 million, and 100000 as 100,000. */
export function inWords(count: number): string {
  return count >= 1_000_000 ? `${short(count / 1_000_000).replace(/\.?0+$/, '')} million` : whole(count);
}
