/**
 * A PostgreSQL type for the elements of an array in binary form. https://www.postgresql.org/docs/current/protocol.html describes
 * the protocol. Only the server's source describes the layout, in the functions `array_recv` and `<type>_recv`.
 */
export type ElementType<Value> = {
  /** The type's number in `pg_type`, the same in every PostgreSQL. The server refuses an array if the number does not match. */
  readonly oid: number;
  /** Writes the length of a value in bytes, then the value. Throws if the value is not valid for the type. */
  write(value: NonNullable<Value>, to: ArrayWriter): void;
};

/** Large enough for many arrays of a group of transfers, so blocks are rarely allocated. */
const BLOCK_BYTES = 262_144;

/** Bytes before the elements: the number of dimensions, a flag for nulls, the type, the length and the lowest index. */
const HEAD_BYTES = 20;

/** Maximum number of bytes that one UTF-16 unit takes in UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

/** For ASCII up to this length, a loop is faster than a call into Node. */
const SHORT_TEXT = 12;

/** The start of PostgreSQL's time scale, 2000-01-01, in milliseconds since 1970. */
const POSTGRES_EPOCH = 946_684_800_000;

const MIN_BIGINT = -(2n ** 63n);
const MAX_BIGINT = 2n ** 63n - 1n;

/** Marks a character in {@link DIGITS} that is not a hexadecimal digit. */
const NO_DIGIT = 0xff;

/** The value of each UTF-16 unit as a hexadecimal digit. */
const DIGITS = new Uint8Array(65_536).fill(NO_DIGIT);
for (let digit = 0; digit < 16; digit += 1) {
  DIGITS[digit.toString(16).charCodeAt(0)] = digit;
  DIGITS[digit.toString(16).toUpperCase().charCodeAt(0)] = digit;
}

/** The value of four hexadecimal digits. Negative if one of the characters is not a digit. */
function readDigits(text: string, at: number): number {
  const first = DIGITS[text.charCodeAt(at)] as number;
  const second = DIGITS[text.charCodeAt(at + 1)] as number;
  const third = DIGITS[text.charCodeAt(at + 2)] as number;
  const fourth = DIGITS[text.charCodeAt(at + 3)] as number;
  return (first | second | third | fourth) > 0xf ? -1 : (first << 12) | (second << 8) | (third << 4) | fourth;
}

const HYPHEN = 0x2d;

function hasHyphens(uuid: string): boolean {
  return (
    uuid.charCodeAt(8) === HYPHEN &&
    uuid.charCodeAt(13) === HYPHEN &&
    uuid.charCodeAt(18) === HYPHEN &&
    uuid.charCodeAt(23) === HYPHEN
  );
}

/**
 * Writes arrays one after the other into a block of memory. Arrays in text form would need quoting here and parsing in PostgreSQL.
 * For a group of transfers, both took longer than the rest of the work on the values.
 */
export class ArrayWriter {
  #bytes: Buffer = Buffer.alloc(0);
  #view = new DataView(this.#bytes.buffer, 0, 0);
  #start = 0;
  #at = 0;
  #hasNull = false;

  /** Writes the array of one property's values in some rows, and returns it as a parameter. Undefined counts as null. */
  write<Value>(type: ElementType<Value>, rows: readonly Readonly<Record<string, unknown>>[], property: string): Buffer {
    this.#begin();
    for (let index = 0; index < rows.length; index += 1) {
      const value = (rows[index] as Readonly<Record<string, unknown>>)[property];
      if (value === null || value === undefined) this.#null();
      else type.write(value as NonNullable<Value>, this);
    }
    return this.#end(type.oid, rows.length);
  }

  writeAll<Value>(type: ElementType<Value>, values: readonly (Value | null | undefined)[]): Buffer {
    this.#begin();
    for (let index = 0; index < values.length; index += 1) {
      const value = values[index];
      if (value === null || value === undefined) this.#null();
      else type.write(value, this);
    }
    return this.#end(type.oid, values.length);
  }

  /** Reserves space for the head. Overwrites an array that was not finished because a value was refused. */
  #begin(): void {
    this.#at = this.#start;
    this.#hasNull = false;
    this.#reserve(HEAD_BYTES);
    this.#at += HEAD_BYTES;
  }

  #end(oid: number, length: number): Buffer {
    const view = this.#view;
    const start = this.#start;
    // An empty array has no dimension in PostgreSQL.
    view.setInt32(start, length === 0 ? 0 : 1);
    view.setInt32(start + 4, this.#hasNull ? 1 : 0);
    view.setInt32(start + 8, oid);
    view.setInt32(start + 12, length);
    view.setInt32(start + 16, 1);
    const end = length === 0 ? start + 12 : this.#at;
    this.#start = end;
    return this.#bytes.subarray(start, end);
  }

  /**
   * Reserves some bytes. If a new block is needed, it begins with a copy of the unfinished array. Finished arrays keep the old
   * block.
   */
  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const written = this.#at - this.#start;
    const block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, (written + bytes) * 2));
    this.#bytes.copy(block, 0, this.#start, this.#at);
    this.#bytes = block;
    this.#view = new DataView(block.buffer, block.byteOffset, block.length);
    this.#start = 0;
    this.#at = written;
  }

  #null(): void {
    this.#hasNull = true;
    this.#reserve(4);
    this.#view.setInt32(this.#at, -1);
    this.#at += 4;
  }

  boolean(value: boolean): void {
    this.#reserve(5);
    this.#view.setInt32(this.#at, 1);
    this.#bytes[this.#at + 4] = value ? 1 : 0;
    this.#at += 5;
  }

  smallint(value: number): void {
    if ((value << 16) >> 16 !== value) throw new RangeError('a value is not a smallint');
    this.#reserve(6);
    this.#view.setInt32(this.#at, 2);
    this.#view.setInt16(this.#at + 4, value);
    this.#at += 6;
  }

  integer(value: number): void {
    if ((value | 0) !== value) throw new RangeError('a value is not an integer');
    this.#reserve(8);
    this.#view.setInt32(this.#at, 4);
    this.#view.setInt32(this.#at + 4, value);
    this.#at += 8;
  }

  bigint(value: bigint): void {
    if (value < MIN_BIGINT || value > MAX_BIGINT) throw new RangeError('a value is not a bigint');
    this.#reserve(12);
    this.#view.setInt32(this.#at, 8);
    this.#view.setBigInt64(this.#at + 4, value);
    this.#at += 12;
  }

  /** Writes a whole number that JavaScript represents exactly as a `bigint`. */
  wholeNumber(value: number): void {
    if (!Number.isSafeInteger(value)) throw new RangeError('a value is not a whole number');
    this.#reserve(12);
    this.#view.setInt32(this.#at, 8);
    // The lower half is taken modulo 2^32, even for a negative number.
    this.#view.setInt32(this.#at + 4, Math.floor(value / 4_294_967_296));
    this.#view.setUint32(this.#at + 8, value);
    this.#at += 12;
  }

  /** Writes a time in milliseconds since 1970 as a `timestamptz`, in microseconds since 2000. */
  moment(time: number): void {
    const microseconds = (Math.trunc(time) - POSTGRES_EPOCH) * 1000;
    if (Number.isSafeInteger(microseconds)) this.wholeNumber(microseconds);
    // Throws a RangeError if the time is NaN.
    else this.bigint((BigInt(Math.trunc(time)) - BigInt(POSTGRES_EPOCH)) * 1000n);
  }

  uuid(value: string): void {
    const first = readDigits(value, 0);
    const second = readDigits(value, 4);
    const third = readDigits(value, 9);
    const fourth = readDigits(value, 14);
    const fifth = readDigits(value, 19);
    const sixth = readDigits(value, 24);
    const seventh = readDigits(value, 28);
    const eighth = readDigits(value, 32);
    const isMalformed = (first | second | third | fourth | fifth | sixth | seventh | eighth) < 0;
    if (value.length !== 36 || isMalformed || !hasHyphens(value)) throw new TypeError('a value is not a UUID');
    this.#reserve(20);
    const view = this.#view;
    const at = this.#at;
    view.setInt32(at, 16);
    view.setInt32(at + 4, (first << 16) | second);
    view.setInt32(at + 8, (third << 16) | fourth);
    view.setInt32(at + 12, (fifth << 16) | sixth);
    view.setInt32(at + 16, (seventh << 16) | eighth);
    this.#at = at + 20;
  }

  /** Writes text as UTF-8. A lone surrogate becomes U+FFFD. PostgreSQL refuses U+0000. */
  text(value: string): void {
    this.#reserve(4 + value.length * MAX_BYTES_PER_UNIT);
    const at = this.#at + 4;
    const written = this.#writeShortAscii(value, at) ? value.length : this.#bytes.write(value, at);
    this.#view.setInt32(this.#at, written);
    this.#at = at + written;
  }

  #writeShortAscii(value: string, at: number): boolean {
    const length = value.length;
    if (length > SHORT_TEXT) return false;
    const bytes = this.#bytes;
    for (let index = 0; index < length; index += 1) {
      const code = value.charCodeAt(index);
      if (code > 0x7f) return false;
      bytes[at + index] = code;
    }
    return true;
  }

  /** Writes JSON text as `jsonb`. The binary form begins with a version number. */
  jsonb(text: string): void {
    this.#reserve(5 + text.length * MAX_BYTES_PER_UNIT);
    const at = this.#at + 5;
    const written = this.#bytes.write(text, at);
    this.#view.setInt32(this.#at, written + 1);
    this.#bytes[this.#at + 4] = 1;
    this.#at = at + written;
  }

  bytes(value: Uint8Array): void {
    this.#reserve(4 + value.length);
    this.#view.setInt32(this.#at, value.length);
    this.#bytes.set(value, this.#at + 4);
    this.#at += 4 + value.length;
  }

  hex(digits: string): void {
    const length = digits.length / 2;
    this.#reserve(4 + Math.ceil(length));
    const written = this.#bytes.write(digits, this.#at + 4, 'hex');
    // Node stops at the first pair that is not hexadecimal.
    if (written !== length) throw new TypeError('a value is not in hexadecimal digits');
    this.#view.setInt32(this.#at, length);
    this.#at += 4 + length;
  }
}
