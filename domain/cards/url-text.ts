import { readsAsCardNumber } from './card-number.ts';

/** A percent sign that was encoded, also several times: %25, %2525. */
const ENCODED_PERCENT = /%(?:25)+/g;

/** One character in percent-encoded UTF-8. What is none stays as it is, and hides nothing beside it. */
const ENCODED_CHARACTER =
  /%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-4](?:%[89ab][0-9a-f]){3}/gi;

/** A plus sign within a number. One in front of it begins a telephone number. */
const PLUS_WITHIN = /(?<=\p{Nd}[ .+-]{0,3})\+(?=[ .+-]{0,3}\p{Nd})/gu;

/**
 * A URL, or a part of one, as it reads when nothing in it is encoded any more: percent-encoding is decoded as often as it
 * was applied, and a plus sign between digits is a blank. To look for numbers in it, not to send it.
 */
export function withoutUrlEncoding(text: string): string {
  let plain = text;
  for (let before = ''; plain !== before && plain.includes('%'); ) {
    before = plain;
    plain = plain.replaceAll(ENCODED_PERCENT, '%').replaceAll(ENCODED_CHARACTER, decoded);
  }
  return plain.includes('+') ? plain.replaceAll(PLUS_WITHIN, ' ') : plain;
}

function decoded(character: string): string {
  try {
    return decodeURIComponent(character);
  } catch {
    return character;
  }
}

/** Whether a URL or a part of one has what {@link readsAsCardNumber} finds, however it is encoded. */
export function urlReadsAsCardNumber(text: string): boolean {
  return readsAsCardNumber(text) || (/[%+]/.test(text) && readsAsCardNumber(withoutUrlEncoding(text)));
}
