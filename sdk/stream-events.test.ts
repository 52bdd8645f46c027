import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventStreamParser, type StreamMessage } from './stream-events.ts';

const encoder = new TextEncoder();

function readAll(chunks: readonly Uint8Array[]): readonly StreamMessage[] {
  const parser = new EventStreamParser();
  return chunks.flatMap((chunk) => parser.read(chunk));
}

function read(text: string): readonly StreamMessage[] {
  return readAll([encoder.encode(text)]);
}

describe('an event stream', () => {
  test.each<[string, string, readonly StreamMessage[]]>([
    [
      'has messages with id, event and data',
      'id: 1\nevent: a\ndata: x\n\nid: 2\ndata: y\n\n',
      [
        { id: '1', event: 'a', data: 'x' },
        { id: '2', event: 'message', data: 'y' },
      ],
    ],
    ['has comments', ': hello\n\n:\nid: 1\n: within\ndata: x\n\n: bye\n\n', [{ id: '1', event: 'message', data: 'x' }]],
    ['can end lines with CRLF', 'id: 1\r\ndata: x\r\n\r\n', [{ id: '1', event: 'message', data: 'x' }]],
    ['can end lines with CR', 'id: 1\rdata: x\r\r', [{ id: '1', event: 'message', data: 'x' }]],
    ['can mix line ends', 'id: 1\rdata: x\ndata: y\r\n\n', [{ id: '1', event: 'message', data: 'x\ny' }]],
    [
      'joins several lines of data',
      'data: x\ndata:\ndata:  y\n\n',
      [{ id: undefined, event: 'message', data: 'x\n\n y' }],
    ],
    ['can omit the space', 'id:1\nevent:a\ndata:x\n\n', [{ id: '1', event: 'a', data: 'x' }]],
    [
      'can have a colon in a value',
      'data: {"a":"b: c"}\n\n',
      [{ id: undefined, event: 'message', data: '{"a":"b: c"}' }],
    ],
    ['can begin with a byte order mark', '\ufeffdata: x\n\n', [{ id: undefined, event: 'message', data: 'x' }]],
    ['keeps other byte order marks', 'data: \ufeffx\n\n', [{ id: undefined, event: 'message', data: '\ufeffx' }]],
    [
      'keeps the last id',
      'id: 1\ndata: x\n\ndata: y\n\n',
      [
        { id: '1', event: 'message', data: 'x' },
        { id: '1', event: 'message', data: 'y' },
      ],
    ],
    ['can set only the id', 'id: 7\n\n', [{ id: '7', event: 'message', data: undefined }]],
    [
      'can clear the id',
      'id: 1\ndata: x\n\nid\ndata: y\n\n',
      [
        { id: '1', event: 'message', data: 'x' },
        { id: '', event: 'message', data: 'y' },
      ],
    ],
    ['ignores an id with a null character', 'id: 1\0\ndata: x\n\n', [{ id: undefined, event: 'message', data: 'x' }]],
    ['ignores other fields', 'retry: 10\nmore: 1\ndata: x\n\n', [{ id: undefined, event: 'message', data: 'x' }]],
    ['can have empty data', 'data\n\n', [{ id: undefined, event: 'message', data: '' }]],
    ['drops an event without data', 'event: a\n\ndata: x\n\n', [{ id: undefined, event: 'message', data: 'x' }]],
    [
      'drops a message that is cut off',
      'data: x\n\nid: 2\ndata: y\n',
      [{ id: undefined, event: 'message', data: 'x' }],
    ],
  ])('%s', (_, text, messages) => {
    expect(read(text)).toEqual(messages);
  });

  test('can be split anywhere, within characters and line ends too', () => {
    const lineEnd = fc.constantFrom('\n', '\r', '\r\n');
    const line = fc.oneof(
      fc.constantFrom('', '', 'id: 1', 'event: ü', 'data: €', 'data: 😀\ufeff', ':', ': comment', 'data', 'id'),
      fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => `data:${text.replaceAll(/[\r\n]/g, '')}`),
    );
    const stream = fc.tuple(fc.boolean(), fc.array(fc.tuple(line, lineEnd), { maxLength: 30 }));
    fc.assert(
      fc.property(stream, fc.infiniteStream(fc.integer({ min: 0, max: 5 })), ([hasMark, lines], sizes) => {
        const bytes = encoder.encode((hasMark ? '\ufeff' : '') + lines.flat().join(''));
        const chunks: Uint8Array[] = [];
        for (let at = 0; at < bytes.length; ) {
          const size = sizes.next().value ?? 1;
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(readAll(chunks)).toEqual(readAll([bytes]));
      }),
      { numRuns: 1000 },
    );
  });

  test('is refused if it is not UTF-8', () => {
    expect(() => readAll([Uint8Array.of(0x64, 0xff, 0x0a)])).toThrow(TypeError);
  });

  test.each(['x', 'data: x\n'])('is refused if it never completes a message', (text) => {
    const chunk = encoder.encode(text.repeat(100_000));
    const parser = new EventStreamParser();
    expect(() => {
      for (let count = 0; count < 20; count += 1) parser.read(chunk);
    }).toThrow('too long');
  });
});
