import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** SHA-256 of a file, as `sha256sum` prints it. */
export function sumOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** Lists the differences between two tarballs, a sentence each. Empty if they have the same bytes. */
export function differences(one: string, other: string): readonly string[] {
  if (sumOf(one) === sumOf(other)) return [];
  const [left, right] = [entriesOf(one), entriesOf(other)];
  const paths = [...new Set([...left.keys(), ...right.keys()])].sort();
  const found = paths.flatMap((path) => {
    const [first, second] = [left.get(path), right.get(path)];
    if (first === undefined || second === undefined) return [`${path} is only in one of them.`];
    if (first.content !== second.content) return [`${path} has different content.`];
    return first.header === second.header ? [] : [`${path} has a different mode, owner or time.`];
  });
  return found.length > 0 ? found : ['The files are the same, but in a different order or compressed differently.'];
}

type Entry = { readonly header: string; readonly content: string };

/** The entries of a tarball by path, as hashes. npm's tarballs have the ustar format, with a header of 512 bytes. */
function entriesOf(path: string): ReadonlyMap<string, Entry> {
  const bytes = gunzipSync(readFileSync(path));
  const entries = new Map<string, Entry>();
  const hash = (part: Buffer): string => createHash('sha256').update(part).digest('hex');
  const text = (from: number, length: number) => bytes.toString('utf8', from, from + length).replace(/\0.*$/s, '');
  for (let at = 0; at < bytes.length && bytes[at] !== 0; ) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    const name = [text(at + 345, 155), text(at, 100)].filter((part) => part !== '').join('/');
    const content = bytes.subarray(at + 512, at + 512 + size);
    entries.set(name, { header: hash(bytes.subarray(at, at + 512)), content: hash(content) });
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return entries;
}
