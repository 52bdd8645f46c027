const MAX_DIGITS = 7;

/** Characters between two digits, at most, that do not end a number: "4111 - 1111" is one. */
const MAX_SEPARATOR_LENGTH = 3;

/**
 * Text of the caller as a message, header or report may show it: short, printable, and without anything that could be
 * (part of) a card number. Eight or more digits in a row, also when grouped by blanks, dots or dashes, are left out.
 */
export function quotable(text: string, most = 40): string {
  const shown = text.length > most ? `${text.slice(0, most)}…` : text;
  const visible = shown.replaceAll(/[^\x20-\x7e…]/g, '?');
  return withoutLongNumbers(visible);
}

/** The same text with every long run of digits replaced by an ellipsis. */
export function withoutLongNumbers(text: string): string {
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

/**
 * A path without long numbers, escaped digits among them, and whatever stands around them. Where there are none it stays
 * as it was sent.
 */
export function pathWithoutLongNumbers(path: string): string {
  const decoded = path.replaceAll(/%([2-7][0-9a-f])/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  const shown = withoutLongNumbers(decoded);
  return shown === decoded ? path : shown;
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
