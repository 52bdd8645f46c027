/** Text from others, with control characters escaped: a terminal would execute them. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Bidi_Control}/gu, (character) => {
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;
  });
}
