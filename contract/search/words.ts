/** Words that do not help a search. `not` and `no` do help, as in `card not found`. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about after again all also am an and any are as at be because been being but by can could did do does doing for from ' +
    'get gets getting got had has have he help her his how i if in into is it its just keep keeps may me my of on or our out ' +
    'please problem problems said say says she so some than that the their them then there these they this those to too up us was we were ' +
    'what when where which while who why will with would you your'
  ).split(' '),
);

/** Words that are indexed as another word: contractions, synonyms and other spellings. */
const SAME: ReadonlyMap<string, string> = new Map([
  ['dont', 'not'],
  ['doesnt', 'not'],
  ['didnt', 'not'],
  ['isnt', 'not'],
  ['arent', 'not'],
  ['wasnt', 'not'],
  ['cant', 'cannot'],
  ['couldnt', 'cannot'],
  ['wont', 'cannot'],
  ['unable', 'cannot'],
  ['without', 'no'],
  ['none', 'no'],
  ['cancelled', 'cancel'],
  ['cancelling', 'cancel'],
]);

/** Returns the index terms of a text: words in lower case, without endings and without stop words. */
export function termsIn(text: string): string[] {
  return wordsIn(text).flatMap((word) => termOf(word) ?? []);
}

/** Returns the words of a text in lower case. `InsufficientFunds` and `card_closed` are two words each. */
function wordsIn(text: string): string[] {
  const plain = text
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .normalize('NFKC')
    .toLowerCase()
    // `up` is not in the index, and `back` alone is not about backups.
    .replaceAll(/\bback(?:s|ed|ing)? up\b/g, 'backup')
    // The apostrophe belongs to the word: `doesn't` is not `doesn`.
    .replaceAll(/(\p{L})['’](\p{L})/gu, '$1$2');
  return plain.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/**
 * The term of a word in the index: without its ending, so that `charge`, `charged` and `charges` are one. Null for a stop word.
 */
function termOf(word: string): string | null {
  if (STOP_WORDS.has(word)) return null;
  const same = SAME.get(word);
  if (same !== undefined) return same;
  if (word.length < 5 || /\p{N}/u.test(word)) return word.replace(/(?<=^\p{L}{3})s$/u, '');
  const bare = word
    .replace(/(?<=\p{L}{2})ies$/u, 'y')
    .replace(/(?<=[^s])s$/u, '')
    .replace(/(?<=\p{L}{3})(?:ing|ed)$/u, '');
  // Makes `stopped` the same as `stop`, and `captured` the same as `capture`.
  return bare.replace(/(?<=\p{L}{2})([bdgmnprt])\1$/u, '$1').replace(/(?<=\p{L}{3})e$/u, '');
}

/** The request to contact support, which says nothing about the error. */
const SUPPORT = /Please contact support(?: \([^)]{0,300}\))?(?: and quote the request id(?: [a-z]{3}_[0-9a-f]{32})?)?/g;

/** A status with its reason phrase. The phrase adds nothing, and `Conflict` would match one of the codes. */
const REASON = /\b([45][0-9]{2}) (?:Conflict|Failed Dependency|Not Found|Unprocessable (?:Content|Entity))\b/g;

/** Returns a message without its values. Values that callers choose, such as card ids, do not help to find the error. */
export function withoutValues(text: string): string {
  return text
    .replaceAll(SUPPORT, ' ')
    .replaceAll(REASON, '$1')
    .replaceAll(/(?<![\p{L}\p{N}])'[^']{0,300}'(?![\p{L}\p{N}])/gu, ' ')
    .replaceAll(/\b[a-z]{2,5}_[0-9a-f]{32}\b/g, ' ')
    .replaceAll(/\b[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+Z)?\b/g, ' ')
    .replaceAll(/\b[0-9][0-9.,]*(?: [A-Z]{3}\b)?/g, (number) => (/^[1-5][0-9]{2}$/.test(number) ? number : ' '));
}

/**
 * Returns the words that all messages of a kind have in common, in lower case. Quoted values, ids, times, numbers and the request
 * to contact support are removed.
 */
export function templateOf(message: string): string {
  return withoutValues(message)
    .replaceAll(/\b[A-Z]{3}\b/g, ' ')
    .replaceAll(/[^\p{L}]+/gu, ' ')
    .trim()
    .toLowerCase();
}
