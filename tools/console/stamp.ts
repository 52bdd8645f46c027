// Finds out whether the built console is current.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of the built console, relative to the root of the project. Not committed. */
export const BUILT = 'console/built';

/** The sources of the bundle, and the code that builds it. */
const SOURCES = ['console', 'sdk', 'tools/console', 'package-lock.json'];

/** Files in these folders that are not sources: the built console, the package of the SDK, and tests. */
const NO_SOURCE = /^(?:console\/built|sdk\/dist|sdk\/(?!.*\.ts$))|\.test\.ts$/;

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

/** The record of a build. The service reads the files and the failure. */
export type Build = {
  readonly stamp: string;
  readonly files: readonly string[];
  /** The paths of the packages that these files contain. */
  readonly packages: readonly string[];
  readonly failure?: string;
};

/** The record of the last build. Throws if there was none. */
export function readBuild(root: string): Build {
  return JSON.parse(readFileSync(join(root, BUILT, 'build.json'), 'utf8')) as Build;
}

/** Whether the sources with this stamp have been built, successfully or not. */
export function isBuilt(root: string, stamp: string): boolean {
  try {
    return readBuild(root).stamp === stamp;
  } catch {
    return false;
  }
}
