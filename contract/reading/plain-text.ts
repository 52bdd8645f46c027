/**
 * The purpose of a text in a request. A `line` is a name or a title. A `text` may have line breaks and tabs. White space at the
 * ends of both is removed. A `reference` is compared with others, so it is stored unchanged or refused.
 */
export type TextKind = 'line' | 'text' | 'reference';

/**
 * Characters that are invisible, or that change the order of other characters: controls, line separators, and
 * characters that Unicode lets programs ignore. Joiners, variation selectors and the fillers of Korean jamo are
 * allowed, because scripts and emoji need them.
 */
const HIDDEN =
  /[[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]--[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f\u{e0100}-\u{e01ef}]]/v;
const HIDDEN_IN_TEXT = new RegExp(HIDDEN.source.replace(']--[', ']--[\\t\\n\\r\\u2028\\u2029'), 'v');

/** Only white space and characters that show nothing, such as the empty Braille pattern. */
const BLANK = /^[\s\p{Default_Ignorable_Code_Point}\u2800]*$/u;

/** Reads a text for people. Returns the text to store, or the end of a sentence about the problem. */
export function readPlainText(kind: TextKind, text: string): { readonly value: string } | { readonly wrong: string } {
  if (BLANK.test(text)) return { wrong: 'is blank: it must have a character that can be seen' };
  const value = text.trim();
  if (kind === 'reference' && value !== text) return { wrong: 'begins or ends with white space: remove it' };
  const hidden = (kind === 'text' ? HIDDEN_IN_TEXT : HIDDEN).exec(value)?.[0];
  if (hidden === undefined) return { value };
  const code = (hidden.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const place = [...value.slice(0, value.indexOf(hidden))].length + 1;
  return { wrong: `has the character U+${code} as character ${place}, which cannot be seen: remove it` };
}
