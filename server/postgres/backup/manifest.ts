import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '../../../domain/parse-json.ts';
import { codeOf } from '../../foundation/startup-problem.ts';
import { parsePosition, segmentAt } from './wal-files.ts';

/** The contents of a copy of the ledger's files, and the facts that a restore needs to know about it. */
export type Manifest = {
  readonly format: 1;
  /** The identifier of the PostgreSQL cluster. It is the same for a ledger and everything that was restored from it. */
  readonly systemIdentifier: string;
  readonly postgresVersion: number;
  readonly timeline: number;
  /** The start and the end of the WAL that is part of the copy. */
  readonly startPosition: string;
  readonly stopPosition: string;
  /** RFC 3339, by the clock of the database. A restore can go to any time from `endedAt` on. */
  readonly startedAt: string;
  readonly endedAt: string;
  readonly bytes: number;
  readonly directories: readonly string[];
  readonly files: readonly CopiedFile[];
};

/** The path relative to the copy, the size in bytes, and the SHA-256 in hex. */
export type CopiedFile = readonly [path: string, bytes: number, sha256: string];

export type Copy = {
  /** The name of the copy's directory: the time when the copy began. */
  readonly name: string;
  readonly path: string;
  /** Undefined if the copy cannot be used. */
  readonly manifest: Manifest | undefined;
  readonly problem: string | undefined;
};

export const FILES_DIRECTORY = 'files';
export const MANIFEST_FILE = 'manifest.json';
/** The SHA-256 of the manifest. Without it, a damaged manifest could match damaged files. */
export const MANIFEST_SUM_FILE = 'manifest.sha256';

export function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export function segmentsOf({ startPosition, stopPosition }: Manifest): {
  readonly first: number;
  readonly last: number;
} {
  // The position after the end may be the first position of the next file, which the copy does not need.
  return { first: segmentAt(parsePosition(startPosition)), last: segmentAt(parsePosition(stopPosition) - 1n) };
}

const COPY_NAME = /^\d{8}T\d{6}Z$/;

/** Returns the name of a copy that begins at a time, such as `20300131T120000Z`. */
export function copyName(time: Date): string {
  return time.toISOString().replace(/\.\d+/, '').replaceAll(/[-:]/g, '');
}

/**
 * Returns the copies in `base`, oldest first, including unusable ones. Copies that are not finished have a different name and are
 * not included.
 */
export async function listCopies(base: string): Promise<readonly Copy[]> {
  const names = (await readdir(base)).filter((name) => COPY_NAME.test(name)).sort();
  return Promise.all(names.map((name) => readCopy(join(base, name), name)));
}

async function readCopy(path: string, name: string): Promise<Copy> {
  try {
    const manifest = await readManifest(path);
    return { name, path, manifest, problem: undefined };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return {
      name,
      path,
      manifest: undefined,
      problem: codeOf(error) === 'ENOENT' ? 'its manifest is missing' : problem,
    };
  }
}

async function readManifest(path: string): Promise<Manifest> {
  const text = await readFile(join(path, MANIFEST_FILE), 'utf8');
  const sum = (await readFile(join(path, MANIFEST_SUM_FILE), 'utf8')).trim();
  if (sumOf(text) !== sum) throw new Error('its manifest is damaged');
  // Only this service writes the file, and the checksum proves that it is unchanged.
  const manifest = parseJson(text) as Manifest;
  if (manifest.format !== 1) throw new Error(`its format, ${manifest.format}, is not known to this version`);
  return manifest;
}

/** Returns the first file that is missing in a copy, or that has the wrong size. Only a restore compares the contents. */
export async function findIncompleteFile({ path, manifest }: Copy): Promise<string | undefined> {
  for (const [file, bytes] of manifest?.files ?? []) {
    const size = await stat(join(path, FILES_DIRECTORY, file)).then(
      (found) => found.size,
      () => undefined,
    );
    if (size !== bytes) return file;
  }
  return undefined;
}

/** The prefix of a copy's name while the copy is not complete. */
export const UNFINISHED = '.unfinished-';

/** A copy that is being taken, or that a killed process left incomplete. */
export type Unfinished = {
  /** RFC 3339. */
  readonly startedAt: string;
  readonly bytes: number;
};

export async function findUnfinished(base: string): Promise<readonly Unfinished[]> {
  const found: Unfinished[] = [];
  for (const name of await readdir(base)) {
    const [, date, hour, minute, second] = /^\.unfinished-(\d{8})T(\d{2})(\d{2})(\d{2})Z$/.exec(name) ?? [];
    if (date === undefined) continue;
    let bytes = 0;
    for (const path of await readdir(join(base, name), { recursive: true }).catch(() => [])) {
      // Files can appear and disappear during the copy.
      const file = await stat(join(base, name, path)).catch(() => undefined);
      if (file?.isFile() === true) bytes += file.size;
    }
    const day = `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}`;
    found.push({ startedAt: `${day}T${hour}:${minute}:${second}Z`, bytes });
  }
  return found;
}
