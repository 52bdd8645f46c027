import { isAscii } from 'node:buffer';
import type { JsonValue } from '../../contract/reading/json.ts';
import { JsonFault, parseStrictText } from '../../contract/reading/strict-json.ts';

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses a body as {@link parseStrictText} does, and refuses invalid UTF-8. A byte order mark is skipped, and an empty body counts
 * as `{}`.
 *
 * @throws {JsonFault}
 */
export function parseStrictJson(bytes: Buffer): JsonValue {
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  return parseStrictText(decode(start === 0 ? bytes : bytes.subarray(start), start), 'body');
}

function decode(bytes: Buffer, skipped: number): string {
  // Most bodies are ASCII. For these, copying is several times faster than decoding.
  if (isAscii(bytes)) return bytes.toString('latin1');
  try {
    return DECODER.decode(bytes);
  } catch {
    const position = firstInvalidByte(bytes) + skipped + 1;
    throw new JsonFault(`The body is not UTF-8: byte ${position} is not part of a valid character.`);
  }
}

/** Returns the index of the first byte that is not valid UTF-8. */
function firstInvalidByte(bytes: Buffer): number {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  let at = 0;
  for (const character of text) {
    const isGenuine = bytes[at] === 0xef && bytes[at + 1] === 0xbf && bytes[at + 2] === 0xbd;
    if (character === '\ufffd' && !isGenuine) return at;
    at += Buffer.byteLength(character);
  }
  return at;
}
