import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject, JsonNumber, type JsonValue } from '../../contract/reading/json.ts';
import { JsonFault } from '../../contract/reading/strict-json.ts';
import { parseStrictJson } from '../../server/calls/strict-json.ts';

/** The value that JSON.parse would return. */
function plain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) return Number(value.source);
  if (Array.isArray(value)) return value.map(plain);
  if (isJsonObject(value)) return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item)]));
  return value;
}

function faultOf(body: string | Buffer): JsonFault {
  try {
    parseStrictJson(Buffer.from(body));
  } catch (fault) {
    if (fault instanceof JsonFault) return fault;
    throw fault;
  }
  throw new Error('The body was accepted.');
}

/** Generates JSON that every strict parser accepts: no repeated names, no __proto__, well-formed text without NUL. */
const wellFormed = fc
  .json({ stringUnit: 'binary', maxDepth: 8 })
  .filter((text) => !text.includes('__proto__') && !/\\u0000|\\u[dD][89a-fA-F]/.test(text) && text.isWellFormed());

describe('unambiguous JSON', () => {
  it('has the same result as with JSON.parse', () => {
    fc.assert(
      fc.property(wellFormed, (text) => {
        expect(plain(parseStrictJson(Buffer.from(text)))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('has the same result with white space and a byte order mark', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ noUnicodeString: true } as never),
        fc.constantFrom('\t', '\n', ' ', '\r\n'),
        (value, gap) => {
          const text = `\ufeff${gap}${JSON.stringify(value, undefined, gap)}${gap}`;
          if (text.includes('__proto__') || text.includes('\\u0000') || /\\ud[89a-f]/.test(text)) return;
          expect(plain(parseStrictJson(Buffer.from(text)))).toEqual(JSON.parse(JSON.stringify(value)));
        },
      ),
    );
  });

  it('is never accepted if JSON.parse refuses it', () => {
    const near = fc
      .tuple(wellFormed, fc.nat(), fc.constantFrom('', '"', '\\', ',', '}', '0', '-', ' ', '\u0001', 'e'))
      .map(([text, at, put]) => text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + 1));
    fc.assert(
      fc.property(near, (text) => {
        if (text.trim() === '') return;
        let taken = true;
        try {
          parseStrictJson(Buffer.from(text));
        } catch {
          taken = false;
        }
        if (taken) expect(() => JSON.parse(text)).not.toThrow();
      }),
      { numRuns: 500 },
    );
  });

  it.each(['0', '-0', '85.5', '1e999', '9007199254740993', '1E+3', '-0.0e-0'])(
    'keeps the number %s as written',
    (source) => {
      expect(parseStrictJson(Buffer.from(`[${source}]`))).toEqual([new JsonNumber(source)]);
    },
  );

  it('may contain every escape', () => {
    expect(parseStrictJson(Buffer.from('"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00é😀"'))).toBe(
      '"\\/\b\f\n\r\té😀é😀',
    );
  });

  it.each(['', ' ', '\n\t', '\ufeff'])('accepts the empty body %j as an empty object', (text) => {
    expect(Object.keys(Object(parseStrictJson(Buffer.from(text))))).toEqual([]);
  });

  it('is parsed into objects without a prototype', () => {
    const value = parseStrictJson(Buffer.from('{"constructor":{"prototype":{"a":1}},"toString":1}'));
    expect(Object.getPrototypeOf(value)).toBeNull();
    expect(Object.keys(Object(value))).toEqual(['constructor', 'toString']);
  });

  it('may be nested 32 levels deep', () => {
    expect(() => parseStrictJson(Buffer.from(`${'['.repeat(32)}${']'.repeat(32)}`))).not.toThrow();
  });
});

describe('JSON that most parsers accept silently', () => {
  it.each([
    ['{"a":1,"a":2}', "line 1, column 8, the field 'a' is repeated"],
    ['{"a":1,"\\u0061":2}', "the field 'a' is repeated"],
    ['{"a":{"b":1,"b":1}}', "column 13, the field 'b' is repeated"],
    ['{"__proto__":1}', "'__proto__' is not allowed"],
    ['{"\\u005f_proto__":1}', "'__proto__' is not allowed"],
    ['"\\u0000"', '\\u0000 is not allowed'],
    ['"\\ud800"', 'surrogate must be part of a pair'],
    ['"\\ud800x"', 'surrogate must be part of a pair'],
    ['"\\ud800\\u0041"', 'surrogate must be part of a pair'],
    ['"\\udc00\\ud800"', 'surrogate must be part of a pair'],
    ['"\\ud83d\\n"', 'backslash'],
    [`${'['.repeat(33)}${']'.repeat(33)}`, 'nested deeper than 32 levels'],
    ['{}x', "the body must end after its value, but it is 'x'"],
    ['{} {}', "must end after its value, but it is '{'"],
  ])('refuses %s', (text, says) => {
    expect(faultOf(text).message).toContain(says);
  });

  it.each([
    [[0x22, 0xff, 0x22], 'byte 2 is'],
    [[0x22, 0xc3, 0x22], 'byte 2 is'],
    [[0x22, 0xed, 0xa0, 0x80, 0x22], 'byte 2 is'],
    [[0x22, 0xef, 0xbf, 0xbd, 0xc0, 0xaf, 0x22], 'byte 5 is'],
    [[0xef, 0xbb, 0xbf, 0x22, 0xf5, 0x22], 'byte 5 is'],
  ])('refuses the invalid UTF-8 %j', (bytes, says) => {
    expect(faultOf(Buffer.from(bytes)).message).toContain(`not UTF-8: ${says} not part of a valid character`);
  });
});

describe('a fault', () => {
  it.each([
    ['{', 'line 1, column 2, a member name in double quotes was expected, but the body ends there'],
    ['{"a"', "':' was expected after the field name, but the body ends there"],
    ['{"a":', 'a value was expected, but the body ends there'],
    ['{\n  "a": 1,\n}', 'line 3, column 1'],
    ["{'a':1}", 'strings are written in double quotes'],
    ['[1 2]', "',' or ']' was expected, but it is '2'"],
    ['{"a":1 "b":2}', "',' or '}' was expected"],
    ['truth', 'a value was expected'],
    ['NaN', "a value was expected, but it is 'N'"],
    ['+1', "a value was expected, but it is '+'"],
    ['.5', "a value was expected, but it is '.'"],
    ['01', 'must not begin with a zero'],
    ['-01', 'must not begin with a zero'],
    ['1.', 'a digit was expected'],
    ['1e+', 'a digit was expected'],
    ['-', 'a digit was expected'],
    ['"abc', 'column 1, the string that begins here is not terminated'],
    ['"ab\\', 'backslash'],
    ['"a\nb"', 'control character in a string must be escaped'],
    ['"\\x41"', 'backslash'],
    ['"\\u00g0"', 'backslash'],
    ['"\\n\u0001"', 'control character in a string must be escaped'],
    ['\u00a0{}', 'U+00A0'],
  ])('in %j is described with its position', (text, says) => {
    expect(faultOf(text).message).toContain(says);
  });

  it('names a field that appears twice', () => {
    expect(faultOf('{"a/b":1,"a/b":2}').field).toBe('/a~1b');
    expect(faultOf('{"x":{"a":1,"a":2}}').field).toBeUndefined();
  });

  it('shows no possible card number', () => {
    const number = '4111111111111111';
    for (const text of [`{"${number}":1,"${number}":2}`, `{"a" ${number}}`, `${number}x`, `[${number} ${number}]`]) {
      expect(faultOf(text).message).not.toMatch(/\d{8}/);
    }
  });

  it('is found in linear time', () => {
    const long = (piece: string): string => piece.repeat(Math.floor(1_000_000 / piece.length));
    for (const text of [`"${long('\\n')}`, `[${long('1,')}`, `"${long('a')}`, long(' '), `{${long('"a":1')}`]) {
      const start = process.cpuUsage();
      try {
        parseStrictJson(Buffer.from(text));
      } catch {
        // The message is tested above.
      }
      // Linear time takes milliseconds, quadratic time takes minutes. The limit separates them on any machine.
      expect(process.cpuUsage(start).user).toBeLessThan(20_000_000);
    }
  });
});
