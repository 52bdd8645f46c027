import type { TObject } from 'typebox';
import { describe, expect, it } from 'vitest';
import { OPERATION_IDS, OPERATIONS } from '../operations.ts';
import type { SchemaShape } from '../schema-parts.ts';
import { readPlainText } from './plain-text.ts';

const read = readPlainText;

describe('readPlainText', () => {
  it.each(['', ' ', '\t\n', '\u00a0', '\u200b', '\u2800', '\u3164 ', '\u200d', '\ufe0f'])(
    'refuses the blank text %j',
    (text) => {
      for (const kind of ['line', 'text', 'reference'] as const) expect(read(kind, text)).toHaveProperty('wrong');
    },
  );

  it.each([
    '\u202e',
    '\u2066',
    '\u200e',
    '\u061c',
    '\u200b',
    '\u2060',
    '\ufeff',
    '\u00ad',
    '\u0000',
    '\u001b',
    '\u007f',
    '\u0085',
    '\u{e0041}',
    '\ufff9',
  ])('refuses a text with %j and says which character it is', (hidden) => {
    const code = (hidden.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    for (const kind of ['line', 'text', 'reference'] as const) {
      expect(read(kind, `🎁a${hidden}b`)).toEqual({
        wrong: `has the character U+${code} as character 3, which cannot be seen: remove it`,
      });
    }
  });

  it.each(['Zoë 🎁', '👩‍👩‍👧', '❤️', 'می‌خواهم', 'שלום', 'مرحبا', 'ക്‍', '각', '葛󠄀', '<b>&"\''])('accepts %j', (text) => {
    for (const kind of ['line', 'text', 'reference'] as const) expect(read(kind, text)).toEqual({ value: text });
  });

  it('removes white space at the ends, and refuses it in a reference', () => {
    expect(read('line', '\u00a0 Gift shop\n')).toEqual({ value: 'Gift shop' });
    expect(read('text', ' a\n\tb ')).toEqual({ value: 'a\n\tb' });
    for (const text of [' A-1', 'A-1 ', '\ufeffA-1'])
      expect(read('reference', text)).toEqual({ wrong: 'begins or ends with white space: remove it' });
  });

  it('allows line breaks only in texts that people write to each other', () => {
    for (const text of ['a\nb', 'a\tb', 'a\u2028b']) {
      expect(read('text', text)).toEqual({ value: text });
      for (const kind of ['line', 'reference'] as const) expect(read(kind, text)).toHaveProperty('wrong');
    }
  });
});

/** Texts in bodies that people do not read: ids, and texts with separate rules. */
const OTHERS: readonly string[] = [
  ...[
    'card_id',
    'destination_card_id',
    'person_id',
    'program_id',
    'transfer_id',
    'request_id',
    'event_id',
    'operation',
    'time_zone',
    'url',
  ],
];

describe('bodies of requests', () => {
  it('have a kind for every text that people read', () => {
    const texts = OPERATION_IDS.filter((id) => OPERATIONS[id].reach !== 'connector').flatMap((id) => {
      const { properties = {} } = (OPERATIONS[id].body ?? {}) as Partial<TObject>;
      return Object.entries(properties).map(([name, shape]) => ({ id, name, shape: shape as SchemaShape }));
    });
    const free = texts.filter(({ name, shape }) => {
      const { type, pattern, format, 'x-text': kind, ...rest } = shape.anyOf?.[0] ?? shape;
      return (
        type === 'string' &&
        !('enum' in rest) &&
        [pattern, format, kind].every((one) => one === undefined) &&
        !OTHERS.includes(name)
      );
    });
    expect(free.map(({ id, name }) => `${id} ${name}`)).toEqual([]);
    expect(texts.filter(({ shape }) => (shape.anyOf?.[0] ?? shape)['x-text'] !== undefined).length).toBeGreaterThan(20);
  });
});
