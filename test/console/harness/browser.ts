import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type LaunchOptions } from 'playwright-core';

const UNPACKED = join(import.meta.dirname, '..', 'node_modules', '.browser');
const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** The Chromium that npm brought, else one of the machine. */
function programToLaunch(): Pick<LaunchOptions, 'executablePath' | 'env'> {
  const own = join(UNPACKED, 'chromium');
  if (existsSync(own)) {
    const settings = { LD_LIBRARY_PATH: join(UNPACKED, 'al2023', 'lib'), FONTCONFIG_PATH: join(UNPACKED, 'fonts') };
    return { executablePath: own, env: { PATH: process.env.PATH ?? '', ...settings } };
  }
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
  if (found !== undefined) return { executablePath: found };
  throw new Error('There is no browser for these tests: run "npm test -- console", or install Chromium.');
}

let launched: Promise<Browser> | undefined;

/**
 * The one browser of this process, for all files that run in it. It ends with the process: its connection is a pipe.
 * As root Chromium needs `--no-sandbox`; it loads only pages of our own services.
 */
export function sharedBrowser(): Promise<Browser> {
  launched ??= chromium.launch({ ...programToLaunch(), args: ['--no-sandbox', '--no-zygote', '--disable-gpu'] });
  return launched;
}
