import { randomFillSync } from 'node:crypto';
import { PERSON_VERSION } from '../../domain/identifier.ts';
import { databaseTime } from './database-clock.ts';

// Invariant: The time in an id is the database's time at the decision, even if the process's clock is wrong
// Tested by: `test/api/clocks.test.ts`

// Lists are sorted by id, and an id begins with its time. All ids use the same clock, the database's, so that a process with a
// wrong clock does not sort its rows into the past or the future.

/** `place` is used modulo this number. */
const MAX_SEQUENCE = 4096;

/** Returns a UUIDv7 with the current time, for ids that are needed before a transaction begins. */
export function newId(): string {
  return idAt(databaseTime());
}

/**
 * Returns the UUID of a new person. It begins with the given time, in milliseconds since 1970, and its version marks it
 * as a person.
 */
export function personIdAt(moment: number): string {
  const id = idAt(moment);
  return `${id.slice(0, 14)}${PERSON_VERSION}${id.slice(15)}`;
}

/** The latest time that a UUIDv7 can have, in milliseconds since 1970. */
const LAST_TIME = 2 ** 48 - 1;

/** Returns an id that is below all ids of a time, and above all earlier ids. */
export function lowestIdAt(moment: Date): string {
  const milliseconds = Math.min(Math.max(0, moment.getTime()), LAST_TIME);
  const time = milliseconds.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}

/**
 * Returns the id of a transaction. Its last 16 bits are zero: the ids of its events store the index of the event in these bits.
 * So two transactions must not have all other bits in common, and the key of `write_batch` ensures that.
 */
export function newBatchId(): string {
  return `${newId().slice(0, -4)}0000`;
}

/** Random bytes for many ids. Requesting them separately for each id would take longer than all other steps together. */
const randomBytes = Buffer.alloc(8192);
let nextRandomByte = randomBytes.length;

/** Reserves bytes of {@link randomBytes} for one id, and returns the index of the first. */
function takeRandomBytes(count: number): number {
  if (nextRandomByte + count > randomBytes.length) {
    randomFillSync(randomBytes);
    nextRandomByte = 0;
  }
  nextRandomByte += count;
  return nextRandomByte - count;
}

const DIGITS = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));

/** The characters of the last id. Its time is kept until the next millisecond. */
const characters = Buffer.from('00000000-0000-7000-8000-000000000000', 'latin1');
let momentOfCharacters = 0;

/** The positions of the last 15 digits of a UUID. These digits are random. */
const RANDOM_PLACES = Uint8Array.of(20, 21, 22, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35);

/**
 * Returns a UUIDv7 for a time in milliseconds since 1970. Rows get the time of their transaction's decision, so that ids and
 * `created_at` agree. `place` orders the ids of the same time.
 */
export function idAt(moment: number, place?: number): string {
  if (moment !== momentOfCharacters) {
    const time = moment.toString(16).padStart(12, '0');
    characters.write(`${time.slice(0, 8)}-${time.slice(8)}`, 0, 'latin1');
    momentOfCharacters = moment;
  }
  const at = takeRandomBytes(10);
  const sequence = place === undefined ? randomBytes.readUInt16BE(at) : place % MAX_SEQUENCE;
  characters[15] = digitOf(sequence >> 8);
  characters[16] = digitOf(sequence >> 4);
  characters[17] = digitOf(sequence);
  // The first two bits of this digit are the variant of RFC 9562.
  characters[19] = digitOf(((randomBytes[at + 2] as number) & 0x3) | 0x8);
  for (let index = 0; index < RANDOM_PLACES.length; index += 1) {
    const byte = randomBytes[at + 2 + ((index + 1) >> 1)] as number;
    characters[RANDOM_PLACES[index] as number] = digitOf(index % 2 === 0 ? byte >> 4 : byte);
  }
  return characters.toString('latin1');
}

/** Returns the hexadecimal digit of the lowest four bits. */
function digitOf(bits: number): number {
  return DIGITS[bits & 0xf] as number;
}
