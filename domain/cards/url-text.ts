import { readsAsCardNumber } from './card-number.ts';

/** A percent sign that was encoded, perhaps several times: %25, %2525. */
const ENCODED_PERCENT = /%(?:25)+/g;

/** One character in percent-encoded UTF-8. An invalid sequence stays as it is, and hides nothing next to it. */
const ENCODED_CHARACTER =
  /%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-4](?:%[89ab][0-9a-f]){3}/gi;

/** A plus sign within a number. In front of a number it marks a telephone number. */
const PLUS_WITHIN = /(?<=\p{Nd}[ .+-]{0,3})\+(?=[ .+-]{0,3}\p{Nd})/gu;

/**
 * A URL, or a part of one, fully decoded: percent-encoding is removed as often as it was applied, and a plus sign
 * between digits becomes a blank. For searching it, not for sending it.
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

/** Whether a URL or a part of one contains what {@link readsAsCardNumber} finds, however it is encoded. */
export function urlReadsAsCardNumber(text: string): boolean {
  return readsAsCardNumber(text) || (/[%+]/.test(text) && readsAsCardNumber(withoutUrlEncoding(text)));
}
