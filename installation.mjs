// The only file that contains the paths of the others. It is at the root of a clone, and unchanged at the root of dist/ in the package.
// The modules there are bundled, so none of them can use its own path. Plain JavaScript without
// any package, because in a fresh clone it runs before anything is installed, on the machine's Node.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the clone, or dist/ of the package. Files that are no code have the same place below both. */
export const ROOT = dirname(fileURLToPath(import.meta.url));

/** Whether this is a clone: the package has no TypeScript. */
export const IS_CLONE = existsSync(join(ROOT, 'server', 'main.ts'));

/**
 * A file or folder, by its path from the root.
 *
 * @param {string} path
 */
export const placeOf = (path) => join(ROOT, path);

/**
 * Returns the path of a module that runs in a separate process or thread, given its path from the root without an extension. The
 * module is TypeScript in a clone, and JavaScript in the package.
 *
 * @param {string} path
 */
export const programAt = (path) => join(ROOT, `${path}.${IS_CLONE ? 'ts' : 'js'}`);

/**
 * The path of a file in an optional package. Found as Node finds packages, because a package manager may install it above
 * this one.
 *
 * @param {string} name
 * @throws {Error} if it is not installed
 */
export const inOptionalPackage = (name) => createRequire(import.meta.url).resolve(name);

/** The version of the service, from package.json. */
export const VERSION = /** @type {{ readonly version: string }} */ (
  JSON.parse(readFileSync(placeOf('package.json'), 'utf8'))
).version;
