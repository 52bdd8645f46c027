import { readsAsCardNumber } from './card-number.ts';

/** A percent sign that was encoded, perhaps several times: %25, %2525. */
const ENCODED_PERCENT = /%(?:25)+/g;

/** One character in percent-encoded UTF-8. An invalid sequence stays unchanged, and hides nothing next to it. */
const ENCODED_CHARACTER =
  /%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-4](?:%[89ab][0-9a-f]){3}/gi;

/** A plus sign within a number. Before a number it marks a telephone number. */
const PLUS_WITHIN = /(?<=\p{Nd}[ .+-]{0,3})\+(?=[ .+-]{0,3}\p{Nd})/gu;

/**
 * Decodes a URL, or part of one, fully: removes percent-encoding as often as it was applied, and turns a plus sign between
 * digits into a blank. The result is for searching the URL, not for sending it.
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

/** Whether a URL, or part of one, contains a match of {@link readsAsCardNumber} in any encoding. */
export function urlReadsAsCardNumber(text: string): boolean {
  return readsAsCardNumber(text) || (/[%+]/.test(text) && readsAsCardNumber(withoutUrlEncoding(text)));
}
