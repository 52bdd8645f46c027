import { describe, expect, test } from 'vitest';
import { ArrayWriter, type ElementType } from './binary-array.ts';

// test/store/columns.test.ts tests that PostgreSQL reads these arrays correctly.

const UUID: ElementType<string> = { oid: 2950, write: (value, to) => to.uuid(value) };
const BIGINT: ElementType<bigint> = { oid: 20, write: (value, to) => to.bigint(value) };
const NUMBER: ElementType<number> = { oid: 20, write: (value, to) => to.wholeNumber(value) };
const TIME: ElementType<number> = { oid: 1184, write: (value, to) => to.moment(value) };
const TEXT: ElementType<string> = { oid: 25, write: (value, to) => to.text(value) };
const HEX: ElementType<string> = { oid: 17, write: (value, to) => to.hex(value) };

const ID = '01234567-89ab-cdef-0123-456789abcdef';

/** Returns the head of an array with one dimension, with indexes from 1. */
function headOf(oid: number, length: number, hasNull = false): Buffer {
  const head = Buffer.alloc(20);
  for (const [index, value] of [1, hasNull ? 1 : 0, oid, length, 1].entries()) head.writeInt32BE(value, index * 4);
  return head;
}

function elementOf(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function bigintsOf(array: Buffer): readonly bigint[] {
  const length = array.readInt32BE(12);
  return Array.from({ length }, (_, index) => array.readBigInt64BE(20 + index * 12 + 4));
}

describe('an array in binary form', () => {
  test('has a head, and the length before each element', () => {
    const rows = [{ id: ID, more: 1 }, { id: ID.toUpperCase() }];
    const bytes = Buffer.from(ID.replaceAll('-', ''), 'hex');
    expect(new ArrayWriter().write(UUID, rows, 'id')).toEqual(
      Buffer.concat([headOf(2950, 2), elementOf(bytes), elementOf(bytes)]),
    );
  });

  test('has no dimension when it is empty', () => {
    expect(new ArrayWriter().write(UUID, [], 'id')).toEqual(Buffer.from('000000000000000000000b86', 'hex'));
    expect(new ArrayWriter().writeAll(TEXT, [])).toEqual(Buffer.from('000000000000000000000019', 'hex'));
  });

  test('marks whether it has nulls, and treats undefined as null', () => {
    const none = Buffer.from('ffffffff', 'hex');
    const a = elementOf(Buffer.from('a'));
    const writer = new ArrayWriter();
    expect(writer.writeAll(TEXT, [null, 'a'])).toEqual(Buffer.concat([headOf(25, 2, true), none, a]));
    expect(writer.write(TEXT, [{ note: 'a' }, {}], 'note')).toEqual(Buffer.concat([headOf(25, 2, true), a, none]));
    expect(writer.writeAll(TEXT, ['a'])).toEqual(Buffer.concat([headOf(25, 1), a]));
  });

  test('encodes text of any length and script in UTF-8', () => {
    const texts = ['', 'a "b", {c}\\', 'grün', '💶', 'x'.repeat(5000), `${'x'.repeat(20)}é`, '\ud800'];
    const expected = texts.map((text) => elementOf(Buffer.from(text)));
    expect(new ArrayWriter().writeAll(TEXT, texts)).toEqual(Buffer.concat([headOf(25, texts.length), ...expected]));
  });

  test('does not change when later arrays are written, even into new blocks of memory', () => {
    const writer = new ArrayWriter();
    const lengths = [1, 400_000, 900_000, 3, 2_500_000, 2];
    const arrays = lengths.map((length) => writer.writeAll(TEXT, ['x'.repeat(length), 'y']));
    for (const [index, length] of lengths.entries()) {
      const elements = [elementOf(Buffer.alloc(length, 'x')), elementOf(Buffer.from('y'))];
      expect(arrays[index]?.equals(Buffer.concat([headOf(25, 2), ...elements]))).toBe(true);
    }
  });

  test('encodes whole numbers to the last digit', () => {
    const bigints = [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 4_294_967_296n];
    expect(bigintsOf(new ArrayWriter().writeAll(BIGINT, bigints))).toEqual(bigints);
    const numbers = [0, -1, 1, 4_294_967_295, 4_294_967_296, -4_294_967_297, 2 ** 53 - 1, 1 - 2 ** 53];
    expect(bigintsOf(new ArrayWriter().writeAll(NUMBER, numbers))).toEqual(numbers.map(BigInt));
  });

  test('encodes times in microseconds since 2000', () => {
    const times = ['2000-01-01', '1970-01-01', '1999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'].map(Date.parse);
    const microseconds = [0n, -946_684_800_000_000n, -1000n, 252_455_615_999_999_000n];
    expect(bigintsOf(new ArrayWriter().writeAll(TIME, times))).toEqual(microseconds);
  });

  test('refuses values outside the type, and still works afterwards', () => {
    const writer = new ArrayWriter();
    const refused: readonly (() => Buffer)[] = [
      ...['', ID.slice(1), `${ID}0`, ID.replace('a', 'g'), ID.replace('a', 'ａ'), ID.replaceAll('-', '0')].map(
        (id) => () => writer.writeAll(UUID, [ID, id]),
      ),
      ...[2n ** 63n, -(2n ** 63n) - 1n].map((value) => () => writer.writeAll(BIGINT, [1n, value])),
      ...[0.5, 2 ** 53, Number.NaN].map((value) => () => writer.writeAll(NUMBER, [1, value])),
      ...[Number.NaN, Number.POSITIVE_INFINITY].map((value) => () => writer.writeAll(TIME, [1, value])),
      ...['a', '0g', '0é'].map((digits) => () => writer.writeAll(HEX, ['00', digits])),
      ...[32_768, -32_769, 1.5].map(
        (value) => () => writer.writeAll({ oid: 21, write: (one: number, to) => to.smallint(one) }, [value]),
      ),
      ...[2 ** 31, -(2 ** 31) - 1, 1.5].map(
        (value) => () => writer.writeAll({ oid: 23, write: (one: number, to) => to.integer(one) }, [value]),
      ),
    ];
    for (const write of refused) {
      const before = writer.writeAll(TEXT, ['a']);
      expect(write).toThrow();
      expect(writer.writeAll(TEXT, ['a'])).toEqual(before);
    }
  });
});
