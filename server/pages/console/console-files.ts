import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { constants } from 'node:zlib';
import { parseJson } from '../../../domain/parse-json.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { placeOf } from '../../../installation.mjs';
import { compressBest, type StoredBody, storedBody } from '../page-cache.ts';

export type ConsoleFile = Omit<StoredBody, 'compressed'> & {
  /** Undefined for a font, which is compressed by its format. */
  readonly compressed: Buffer | undefined;
  readonly type: string;
  /** Whether the name contains a hash of the content. If so, the file never changes. */
  readonly isHashed: boolean;
};

/** The report of the build, `build.json`, which tools/console/build.ts writes. */
type Build = { readonly files: readonly string[]; readonly failure?: string };

/** The folder that the build writes. */
export const BUILT_CONSOLE = placeOf('console/built');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

const PAGE = 'index.html';

/** The best compression is affordable, because half a megabyte is compressed once per process. */
const BEST = { level: constants.Z_BEST_COMPRESSION } as const;

/**
 * The files of the built console. The first request reads and compresses all of them. So files of two builds never mix, and later
 * requests do not wait for the disk.
 */
export class ConsoleFiles {
  readonly #folder: string;
  #files: Promise<ReadonlyMap<string, ConsoleFile>> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Returns the file at a path below /console. It is an asset or, for any other path, the page, which shows the screen for the
   * path.
   *
   * @throws {Refusal} route_not_found if there is no such asset, or if the console is not built
   */
  async find(path: string): Promise<ConsoleFile> {
    this.#files ??= readAll(this.#folder);
    const files = await this.#files.catch((error: unknown) => {
      // A failure is not cached, because the console may be built while the service runs.
      this.#files = undefined;
      throw error;
    });
    const isAsset = path.startsWith('assets/');
    const file = files.get(isAsset ? path : PAGE);
    if (file !== undefined) return file;
    throw new Refusal(
      'route_not_found',
      'The console has no such file. Reload the page: it may be from a different version.',
    );
  }
}

async function readAll(folder: string): Promise<ReadonlyMap<string, ConsoleFile>> {
  const { files, failure } = await readBuild(folder);
  if (failure !== undefined) {
    throw new Refusal('route_not_found', `The console could not be built when the service was started: ${failure}`);
  }
  return new Map(await Promise.all(files.map(async (name) => [name, await readOne(folder, name)] as const)));
}

async function readBuild(folder: string): Promise<Build> {
  try {
    return parseJson(await readFile(join(folder, 'build.json'), 'utf8')) as Build;
  } catch {
    throw new Refusal(
      'route_not_found',
      'The console is not built. Start the service with "npm start", which builds it.',
    );
  }
}

async function readOne(folder: string, name: string): Promise<ConsoleFile> {
  const { compressed, ...body } = await storedBody(await readFile(join(folder, name)), BEST);
  const type = TYPES[extname(name)] ?? 'application/octet-stream';
  const isFont = type.startsWith('font/');
  const isHashed = name.startsWith('assets/');
  let best: Promise<Buffer> | undefined;
  const brotli = (): Promise<Buffer> => {
    best ??= compressBest(body.bytes);
    return best;
  };
  return {
    ...body,
    compressed: isFont ? undefined : compressed,
    // A tenth smaller than gzip. The page itself is too short to profit.
    ...(isHashed && !isFont && { brotli }),
    type,
    isHashed,
  };
}
