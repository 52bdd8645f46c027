/** A name without what variants of it differ in: case, and anything that is neither letter nor digit. */
export function bareName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** Shorter names are too often one letter from another word to be taken for it. */
const MISSPELT_LEAST = 3;

/** Whether somebody who sent `sent` probably meant `known`: a variant of it, or one typing error away from it. */
export function isMeantFor(sent: string, known: string): boolean {
  const [one, other] = [bareName(sent), bareName(known)];
  if (one === other) return true;
  return one.length >= MISSPELT_LEAST && other.length > MISSPELT_LEAST && isOneErrorApart(one, other);
}

/** Whether `sent` begins with the first word of `known`, as `capture_method` and `captureMode` do with `capture`. */
export function beginsAs(sent: string, known: string): boolean {
  const [first = ''] = wordsOf(known);
  return first.length > MISSPELT_LEAST && wordsOf(sent)[0] === first;
}

function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
}

/** One character left out, added or replaced, or two neighbours swapped. */
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
