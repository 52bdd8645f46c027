// Whether the built console is that of the present sources.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Where the built console is, below the project; not committed. */
export const BUILT = 'console/built';

/** What the bundle is made of, and what makes it. */
const SOURCES = ['console', 'sdk', 'tools/console', 'package-lock.json'];

/** What is among the sources without being one: the built console, and the package of the SDK. */
const NO_SOURCE = /^(?:console\/built|sdk\/dist|sdk\/(?!.*\.ts$))|\.test\.ts$/;

/** A hash over every file that the build reads: paths and contents. */
export function stampOf(root: string): string {
  const hash = createHash('sha256');
  for (const path of SOURCES.flatMap((source) => filesBelow(root, source))) {
    hash
      .update(path)
      .update('\0')
      .update(readFileSync(join(root, path)))
      .update('\0');
  }
  return hash.digest('hex');
}

function filesBelow(root: string, source: string): readonly string[] {
  if (statSync(join(root, source)).isFile()) return [source];
  return readdirSync(join(root, source), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1))
    .filter((path) => !NO_SOURCE.test(path))
    .sort();
}

/** What the build says about itself; the service reads the files and the failure. */
export type Build = {
  readonly stamp: string;
  readonly files: readonly string[];
  /** The packages in them, by their paths in the clone. */
  readonly packages: readonly string[];
  readonly failure?: string;
};

/** What the last build said. Throws if there was none. */
export function readBuild(root: string): Build {
  return JSON.parse(readFileSync(join(root, BUILT, 'build.json'), 'utf8')) as Build;
}

/** Whether the sources with this stamp have been built, with success or without. */
export function isBuilt(root: string, stamp: string): boolean {
  try {
    return readBuild(root).stamp === stamp;
  } catch {
    return false;
  }
}
