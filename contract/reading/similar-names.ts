/** A name in lower case, with only its letters and digits. */
export function bareName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** The minimum length of a misspelled name. Shorter names are often one letter away from another word. */
const MIN_MISSPELT_LENGTH = 3;

/** Whether `sent` is a variant of `known`, or one typo away from it. */
export function isMeantFor(sent: string, known: string): boolean {
  const [one, other] = [bareName(sent), bareName(known)];
  if (one === other) return true;
  return one.length >= MIN_MISSPELT_LENGTH && other.length > MIN_MISSPELT_LENGTH && isOneErrorApart(one, other);
}

/** Whether `sent` begins with the first word of `known`, as `capture_method` and `captureMode` do with `capture`. */
export function beginsAs(sent: string, known: string): boolean {
  const [first = ''] = wordsOf(known);
  return first.length > MIN_MISSPELT_LENGTH && wordsOf(sent)[0] === first;
}

function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
}

/** One character omitted, added or replaced, or two adjacent ones swapped. */
function isOneErrorApart(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1) return false;
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  let at = 0;
  while (at < short.length && short[at] === long[at]) at += 1;
  if (short.length < long.length) return short.slice(at) === long.slice(at + 1);
  if (short.slice(at + 1) === long.slice(at + 1)) return true;
  const isSwapped = short[at] === long[at + 1] && short[at + 1] === long[at];
  return isSwapped && short.slice(at + 2) === long.slice(at + 2);
}
