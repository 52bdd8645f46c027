import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '../../harness/random.ts';
import { type Draft, encode, type Plain } from './draft.ts';
import { FAULTY_BODY } from './faulty-body.ts';
import { FAULTY_HEAD } from './faulty-head.ts';
import { type Change, HARMLESS } from './harmless.ts';
import { PLANTS } from './plants.ts';

/** Spells the request differently without changing its meaning. */
export function respellBytes(made: Draft, random: Random): void {
  for (const change of new Set(Array.from({ length: 1 + random.below(3) }, () => random.pick(HARMLESS)))) {
    change.apply(made, random);
  }
}

/**
 * Adds one or two faults, and sometimes a card number. The faults are added last, so that no other change undoes them.
 */
export function addFaults(made: Draft, random: Random): void {
  if (random.chance(0.3)) respellBytes(made, random);
  if (random.chance(0.2)) random.pick(PLANTS).apply(made, random);
  const [inBody, inHead] = random.pick([
    [true, false],
    [true, false],
    [false, true],
    [true, true],
  ]);
  if (inBody) addFault(made, FAULTY_BODY, random);
  if (inHead || made.faults.length === 0) addFault(made, FAULTY_HEAD, random);
}

function addFault(made: Draft, faults: readonly Change[], random: Random): void {
  const { name, apply } = random.pick(faults);
  if (apply(made, random)) made.faults.push(name);
}

/** Strings that often have a special meaning for a parser of HTTP or JSON. */
const PIECES = ['\r\n', '\r\n\r\n', '\n', ':', ' ', '\0', '%', '"', ',', '{', '}', '0', '9', 'e', '\\', '\x7f', '\xff'];

/** Returns up to three copies of the request's bytes in a row, with bytes removed, replaced or inserted at random. */
export function damage(made: Draft, random: Random): Buffer {
  const whole = encode(made);
  let bytes: Buffer = Buffer.concat(Array.from({ length: 1 + random.below(3) }, () => whole));
  for (let times = 1 + random.below(4); times > 0; times -= 1) {
    const at = random.below(bytes.length + 1);
    const put = random.chance(0.5)
      ? Buffer.from(random.pick([...PIECES, 'Host: a\r\n']), 'latin1')
      : Buffer.from(Array.from({ length: random.below(6) }, () => random.below(256)));
    bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + random.pick([0, 0, 1, 1, 2, 8, 40]))]);
  }
  return bytes;
}

/** The maximum length of a command. If it would be longer, it reads the bytes from a file. */
const MAX_COMMAND = 4000;

/**
 * Returns a shell command that sends the bytes. Writes the bytes to a file if the command would be too long to read.
 */
export function toShell(bytes: Buffer, url: string): string {
  const { hostname, port } = new URL(url);
  const text = bytes.toString('latin1').replaceAll(/[^ -~]|['\\%]/g, (unit) => {
    return `\\x${unit.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  if (text.length <= MAX_COMMAND) return `printf '${text}' | nc ${hostname} ${port}`;
  const file = join(tmpdir(), `contract-${createHash('sha256').update(bytes).digest('hex').slice(0, 12)}.http`);
  writeFileSync(file, bytes);
  return `nc ${hostname} ${port} < ${file}`;
}

/** Returns the curl command that sends a request. */
export function toCurl(url: string, { method, target, headers, body }: Plain): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const shown = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  return [
    'curl',
    '-X',
    method,
    quoted(url + target),
    ...shown,
    ...(body === undefined ? [] : ['-d', quoted(body)]),
  ].join(' ');
}
