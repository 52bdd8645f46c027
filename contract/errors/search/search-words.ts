/** Words that say nothing about an error. `not` and `no` are none of them: `card not found`. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about after again all also am an and any are as at be because been being but by can could did do does doing fail ' +
    'failed failing fails failure for from ' +
    'get gets getting got had has have he help her his how i if in into is it its just keep keeps may me my of on or our out ' +
    'please problem problems said say says she so some than that the their them then there these they this those to too up us was we were ' +
    'what when where which while who why will with would you your'
  ).split(' '),
);

/** The words of a text, in lower case. What is written in one word as `InsufficientFunds` or `card_closed` is several. */
export function wordsIn(text: string): readonly string[] {
  const plain = text
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .normalize('NFKC')
    .toLowerCase()
    // The apostrophe belongs to the word: `doesn't` is not `doesn`.
    .replaceAll(/(\p{L})['’](\p{L})/gu, '$1$2');
  return plain.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** The words of a text as they are compared: without those that say nothing, unless there are no others. */
export function stemsIn(text: string): readonly string[] {
  const words = wordsIn(text);
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  return [...new Set((telling.length > 0 ? telling : words).map(stemOf))];
}

/** Contractions and spellings of one word. */
const SAME: Readonly<Record<string, string>> = {
  dont: 'not',
  doesnt: 'not',
  didnt: 'not',
  isnt: 'not',
  arent: 'not',
  wasnt: 'not',
  cant: 'cannot',
  couldnt: 'cannot',
  wont: 'cannot',
  unable: 'cannot',
  without: 'no',
  none: 'no',
  cancelled: 'cancel',
  cancelling: 'cancel',
};

/**
 * A word without its ending, so that `charge`, `charged`, `charges` and `charging` are one. Only endings of grammar: what
 * makes another word of it stays, since `authorization` is not the author.
 */
export function stemOf(word: string): string {
  const same = SAME[word];
  if (same !== undefined) return same;
  if (word.length < 5 || /\p{N}/u.test(word)) return word.replace(/(?<=^\p{L}{3})s$/u, '');
  const bare = word
    .replace(/(?<=\p{L}{2})ies$/u, 'y')
    .replace(/(?<=[^s])s$/u, '')
    .replace(/(?<=\p{L}{3})(?:ing|ed)$/u, '');
  // `stopped` and `stop`, `captured` and `capture`.
  return bare.replace(/(?<=\p{L}{2})([bdgmnprt])\1$/u, '$1').replace(/(?<=\p{L}{3})e$/u, '');
}

/** Letters of a word from which on one of them may be wrong, and two. */
const MIN_LENGTH_OF_TYPO = 5;
const MIN_LENGTH_OF_TWO_TYPOS = 9;

/** How many letters were probably mistyped; undefined if these are different words. */
export function typosBetween(word: string, known: string): number | undefined {
  if (word.length < MIN_LENGTH_OF_TYPO || word[0] !== known[0] || /\p{N}/u.test(word)) return undefined;
  const most = word.length >= MIN_LENGTH_OF_TWO_TYPOS ? 2 : 1;
  if (Math.abs(word.length - known.length) > most) return undefined;
  const distance = distanceBetween(word, known);
  return distance <= most ? distance : undefined;
}

/** Letters to insert, remove, replace or swap with the next one, to make one word of the other. */
function distanceBetween(left: string, right: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1];
      let least = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isSwapped =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (isSwapped) least = Math.min(least, (beforeLast[column - 2] ?? 0) + 1);
      current.push(least);
    }
    beforeLast = last;
    last = current;
  }
  return last[right.length] ?? 0;
}
