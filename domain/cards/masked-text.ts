/** Maximum number of consecutive digits that are shown. Longer runs can be part of a card number. */
const MAX_DIGITS = 7;

/** Maximum length of the separator between two digits of one number: "4111 - 1111" is one number. */
const MAX_SEPARATOR_LENGTH = 3;

/**
 * Returns a caller's text for a message, header or report: at most `maxLength` characters of printable ASCII. Runs of eight or more
 * digits are masked, even when they are grouped by blanks, dots or dashes, because they could be part of a card number.
 */
export function maskedText(text: string, maxLength = 40): string {
  const shown = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  const visible = shown.replaceAll(/[^\x20-\x7e…]/g, '?');
  return maskLongNumbers(visible);
}

/** Replaces every long run of digits with an ellipsis. */
export function maskLongNumbers(text: string): string {
  let result = '';
  let copied = 0;
  let at = 0;
  while (at < text.length) {
    if (!isDigit(text.charCodeAt(at))) {
      at += 1;
      continue;
    }
    const run = digitRun(text, at);
    if (run.digits > MAX_DIGITS) {
      result += `${text.slice(copied, at)}…`;
      copied = run.end;
    }
    at = run.end;
  }
  return copied === 0 ? text : result + text.slice(copied);
}

function digitRun(text: string, start: number): { readonly digits: number; readonly end: number } {
  let digits = 0;
  let end = start;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isDigit(code)) {
      digits += 1;
      end = at + 1;
    } else if (!isSeparator(code) || at - end >= MAX_SEPARATOR_LENGTH) {
      break;
    }
  }
  return { digits, end };
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isSeparator(code: number): boolean {
  return code === 0x20 || code === 0x2d || code === 0x2e;
}
