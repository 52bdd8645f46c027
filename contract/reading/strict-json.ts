import { maskedText } from '../../domain/cards/masked-text.ts';
import { JsonNumber, type JsonValue } from './json.ts';

const MAX_DEPTH = 32;

/** A text is not valid JSON. The message gives the location. `field` is set if the problem concerns one field. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault';
  readonly field: string | undefined;

  constructor(message: string, field?: string) {
    super(message);
    this.field = field;
  }
}

/**
 * Parses a text as JSON, as strictly as RFC 8259 allows. Refuses input that parsers treat differently: repeated fields, `__proto__`,
 * lone surrogates, `\u0000`, nesting deeper than 32. Numbers keep their digits, and objects have no prototype. An empty text counts
 * as `{}`. `what` names the text in messages.
 *
 * @throws {JsonFault}
 */
export function parseStrictText(text: string, what: 'body' | 'line'): JsonValue {
  return new Reader(text, what).document();
}

type Members = { [name: string]: JsonValue };

function emptyObject(): Members {
  const members: Members = Object.create(null);
  return members;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const ZERO = 0x30;

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/** Parses the text in one pass. Strings are sliced out of it instead of being built character by character. */
class Reader {
  readonly #text: string;
  readonly #what: string;
  #at = 0;
  #depth = 0;

  constructor(text: string, what: string) {
    this.#text = text;
    this.#what = what;
  }

  document(): JsonValue {
    // A text that contains only white space counts as empty.
    if (Number.isNaN(this.#peek())) return emptyObject();
    const value = this.#value();
    if (!Number.isNaN(this.#peek())) throw this.#unexpected(`the ${this.#what} must end after its value`);
    return value;
  }

  /** Returns the next character that is not white space. NaN at the end. */
  #peek(): number {
    const text = this.#text;
    let at = this.#at;
    let code = text.charCodeAt(at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      at += 1;
      code = text.charCodeAt(at);
    }
    this.#at = at;
    return code;
  }

  #value(): JsonValue {
    const code = this.#peek();
    switch (code) {
      case QUOTE:
        return this.#string();
      case 0x7b:
        return this.#object();
      case 0x5b:
        return this.#array();
      case 0x74:
        return this.#word('true', true);
      case 0x66:
        return this.#word('false', false);
      case 0x6e:
        return this.#word('null', null);
      default:
        if (code === 0x2d || isDigit(code)) return this.#number();
        throw this.#unexpected('a value was expected');
    }
  }

  #object(): JsonValue {
    this.#descend();
    const members = emptyObject();
    this.#at += 1;
    if (this.#peek() === 0x7d) return this.#ascend(members);
    for (;;) {
      if (this.#peek() !== QUOTE) throw this.#unexpected('a member name in double quotes was expected');
      const start = this.#at;
      const name = this.#string();
      if (name === '__proto__') throw this.#fault("the field name '__proto__' is not allowed", start);
      if (members[name] !== undefined) throw this.#repeated(name, start);
      if (this.#peek() !== COLON) throw this.#unexpected("':' was expected after the field name");
      this.#at += 1;
      members[name] = this.#value();
      const code = this.#peek();
      if (code === 0x7d) return this.#ascend(members);
      if (code !== COMMA) throw this.#unexpected("',' or '}' was expected");
      this.#at += 1;
    }
  }

  #array(): JsonValue {
    this.#descend();
    const items: JsonValue[] = [];
    this.#at += 1;
    if (this.#peek() === 0x5d) return this.#ascend(items);
    for (;;) {
      items.push(this.#value());
      const code = this.#peek();
      if (code === 0x5d) return this.#ascend(items);
      if (code !== COMMA) throw this.#unexpected("',' or ']' was expected");
      this.#at += 1;
    }
  }

  #descend(): void {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw this.#fault(`it is nested deeper than ${MAX_DEPTH} levels`, this.#at);
  }

  #ascend<Container extends JsonValue>(container: Container): Container {
    this.#depth -= 1;
    this.#at += 1;
    return container;
  }

  #word<Value extends JsonValue>(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected('a value was expected');
    this.#at += word.length;
    return value;
  }

  #number(): JsonNumber {
    const start = this.#at;
    if (this.#text.charCodeAt(start) === 0x2d) this.#at += 1;
    const integer = this.#at;
    this.#digits();
    if (this.#text.charCodeAt(integer) === ZERO && this.#at - integer > 1) {
      throw this.#fault('a number must not begin with a zero', start);
    }
    if (this.#text.charCodeAt(this.#at) === 0x2e) {
      this.#at += 1;
      this.#digits();
    }
    const exponent = this.#text.charCodeAt(this.#at);
    if (exponent === 0x65 || exponent === 0x45) {
      this.#at += 1;
      const sign = this.#text.charCodeAt(this.#at);
      if (sign === 0x2b || sign === 0x2d) this.#at += 1;
      this.#digits();
    }
    return new JsonNumber(this.#text.slice(start, this.#at));
  }

  #digits(): void {
    const start = this.#at;
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at += 1;
    if (this.#at === start) throw this.#unexpected('a digit was expected');
  }

  #string(): string {
    const text = this.#text;
    const start = this.#at + 1;
    for (let at = start; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#at = at + 1;
        return text.slice(start, at);
      }
      if (code === BACKSLASH) return this.#stringWithEscapes(start, at);
      if (code < 0x20) throw this.#fault('a control character in a string must be escaped', at);
    }
    throw this.#fault('the string that begins here is not terminated', start - 1);
  }

  #stringWithEscapes(start: number, firstEscape: number): string {
    const text = this.#text;
    let result = '';
    let copied = start;
    for (let at = firstEscape; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#at = at + 1;
        return result + text.slice(copied, at);
      }
      if (code < 0x20) throw this.#fault('a control character in a string must be escaped', at);
      if (code !== BACKSLASH) continue;
      result += text.slice(copied, at);
      const simple = ESCAPES.get(text.charAt(at + 1));
      if (simple !== undefined) {
        result += simple;
        at += 1;
      } else {
        const character = this.#unicodeEscape(at);
        result += character;
        at += character.length === 2 ? 11 : 5;
      }
      copied = at + 1;
    }
    throw this.#fault('the string that begins here is not terminated', start - 1);
  }

  /** Returns the character of a `\uXXXX`, or of two if they are a surrogate pair. */
  #unicodeEscape(at: number): string {
    const unit = this.#hexadecimal(at);
    if (unit === 0) throw this.#fault('the character \\u0000 is not allowed', at);
    if (unit < 0xd800 || unit > 0xdfff) return String.fromCharCode(unit);
    const isPair = unit < 0xdc00 && this.#text.charCodeAt(at + 6) === BACKSLASH;
    const low = isPair ? this.#hexadecimal(at + 6) : 0;
    if (low < 0xdc00 || low > 0xdfff) throw this.#fault('a surrogate must be part of a pair', at);
    return String.fromCharCode(unit, low);
  }

  #hexadecimal(at: number): number {
    const digits = this.#text.slice(at + 2, at + 6);
    if (this.#text.charAt(at + 1) !== 'u' || !/^[0-9a-fA-F]{4}$/.test(digits)) {
      throw this.#fault('a backslash must begin a JSON escape sequence', at);
    }
    return Number.parseInt(digits, 16);
  }

  #repeated(name: string, at: number): JsonFault {
    const field = this.#depth === 1 ? `/${maskedText(name).replaceAll('~', '~0').replaceAll('/', '~1')}` : undefined;
    return this.#fault(`the field '${maskedText(name)}' is repeated`, at, field);
  }

  #unexpected(expected: string): JsonFault {
    const code = this.#text.charCodeAt(this.#at);
    const hint = code === 0x27 ? ' (strings are written in double quotes)' : '';
    return this.#fault(`${expected}, but ${nameOf(code, this.#what)}${hint}`, this.#at);
  }

  #fault(what: string, at: number, field?: string): JsonFault {
    const before = this.#text.slice(0, at);
    const line = before.split('\n').length;
    const column = at - before.lastIndexOf('\n');
    const place = this.#what === 'body' ? `at line ${line}, column ${column}` : `at column ${column}`;
    return new JsonFault(`The ${this.#what} is not valid JSON: ${place}, ${what}.`, field);
  }
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= 0x39;
}

function nameOf(code: number, what: string): string {
  if (Number.isNaN(code)) return `the ${what} ends there`;
  if (code > 0x20 && code < 0x7f) return `it is '${String.fromCharCode(code)}'`;
  return `it is the character U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
