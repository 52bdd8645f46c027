/** Escapes the control characters in text from others, because a terminal would execute them. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Bidi_Control}/gu, (character) => {
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
  });
}

/**
 * A value as JSON, on one line or indented. JSON escapes only the control characters of ASCII, and a terminal also executes
 * others, so these are escaped too. Parsing the JSON still returns the same value.
 */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replaceAll(/[\u007f-\u009f]|\p{Bidi_Control}/gu, printable);
}
