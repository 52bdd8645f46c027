import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from './parse-json.ts';

/** Makes V8 remember names that begin like names with an escape. */
function poison(): void {
  for (const name of ['\\', 'a\\', '\\u', '\\u0', '\\\\']) JSON.parse(JSON.stringify({ X: 1, [name]: 2 }));
}

describe('parseJson', () => {
  it.each(['"', '\n', '\\', 'a"', 'a\t', '"x', '\u0001', '\u0001"', '\ue0000'])(
    'reads the name %j correctly after JSON with a name that begins the same way',
    (name) => {
      poison();
      const text = JSON.stringify({ X: 1, [name]: 2 });
      expect(Object.entries(parseJson(text) as object)).toEqual([
        ['X', 1],
        [name, 2],
      ]);
      const { rows } = parseJson(`{"rows":[${text}]}`) as { readonly rows: readonly object[] };
      expect(Object.keys(rows[0] ?? {})).toEqual(['X', name]);
    },
  );

  it('returns any written value unchanged', () => {
    poison();
    const name = fc.string({ unit: fc.constantFrom('"', '\\', '\n', '\ue000', '0', ':', 'u', 'a', '{') });
    const { value: written } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, fc.jsonValue(), fc.array(tie('value')), tie('members')),
      members: fc.dictionary(name, tie('value')),
    }));
    fc.assert(
      fc.property(written, fc.constantFrom('', ' ', '\n\t'), (value, gap) => {
        const text = JSON.stringify(value, undefined, gap);
        expect(JSON.stringify(parseJson(text), undefined, gap)).toBe(text);
      }),
    );
  });

  it.each([
    '{"\\u0061":1,"a":2}',
    '{"a":1,"\\u0061":2,"b\\n":{"\\u005f_proto__":3}}',
    '{"\\u0031":1,"b":2,"0":3}',
    '"\\ud800"',
    '{"\\u0000\\ud800":"\\u0000"} ',
  ])('reads %s as the JSON standard says', (text) => {
    const value = parseJson(text);
    expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)));
    expect(value).toEqual(JSON.parse(text));
  });

  it.each(['{"a\\n" 1}', '{"a\\n":1', '{"a\\n', '{"\\x":1}', '{"a\\', '"a\\n":1', '{"a\\n":"b\n"}', '\\'])(
    'refuses %j',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );
});
