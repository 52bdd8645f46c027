import { describe, expect, it } from 'vitest';
import { highlighted, isLanguage, type Language } from './highlight.ts';

/** Returns the marked parts of a text, with their kinds. */
function marked(language: Language, text: string): readonly string[] {
  const markup = highlighted(text, language, (part) => part).join('');
  return [...markup.matchAll(/<span class="([a-z]+)">([^<]*)<\/span>/g)].map(
    ([, kind, part = '']) => `${kind}: ${part.replaceAll('&quot;', '"').replaceAll('&#39;', "'")}`,
  );
}

describe('a listing', () => {
  it.each([
    [
      'sh',
      `curl -i http://localhost # to try\n  -d '{"a": 1}'`,
      ['keyword: curl', 'value: -i', 'comment: # to try', 'value: -d', `string: '{"a": 1}'`],
    ],
    [
      'json',
      '{"a": "b", "c": [1, -2.5, true, null]}',
      ['string: "b"', 'value: 1', 'value: -2.5', 'value: true', 'value: null'],
    ],
    [
      'ts',
      "const url = 'http://x'; // why\nawait f(1);",
      ['keyword: const', "string: 'http://x'", 'comment: // why', 'keyword: await', 'value: 1'],
    ],
    ['py', 'import os\nprint(f"a", None) # b', ['keyword: import', 'string: f"a"', 'value: None', 'comment: # b']],
    ['go', 'package main\n\nx := `{"a"}` // b', ['keyword: package', 'string: `{"a"}`', 'comment: // b']],
    ['sql', "SELECT 'a' -- b", ['keyword: SELECT', "string: 'a'", 'comment: -- b']],
    ['yaml', 'a:\n  b: "c" # d', ['keyword: a', 'keyword:   b', 'string: "c"', 'comment: # d']],
    ['http', 'HTTP/1.1 200 OK\nA: b', ['keyword: HTTP/1.1 200 OK']],
  ] as const)('in %s has its comments, strings, keywords and values marked', (language, text, expected) => {
    expect(marked(language, text)).toEqual(expected);
  });

  it('keeps its text', () => {
    const text = '<b>"a" & \'c\'\n`d`';
    for (const language of ['sh', 'json', 'ts', 'py', 'go', 'sql', 'yaml', 'ini', 'http'] as const) {
      const plain = highlighted(text, language, (part) => part)
        .join('')
        .replaceAll(/<\/?span[^>]*>/g, '');
      expect(plain).toBe('&lt;b&gt;&quot;a&quot; &amp; &#39;c&#39;\n`d`');
    }
  });

  it('has a language only if it is known', () => {
    expect(['sh', 'constructor', ''].map(isLanguage)).toEqual([true, false, false]);
  });
});
