import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Browser, LaunchOptions } from 'playwright-core';

const MISSING =
  'There is no browser for these tests. Run "node tools/console/fetch-browser.mjs", or install Chromium if that finds none.';
const UNPACKED = join(import.meta.dirname, '..', 'node_modules', '.browser');
const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Returns the Chromium from npm, or the machine's own if npm has none. */
function programToLaunch(): Pick<LaunchOptions, 'executablePath' | 'env'> {
  const own = join(UNPACKED, 'chromium');
  if (existsSync(own)) {
    const settings = { LD_LIBRARY_PATH: join(UNPACKED, 'al2023', 'lib'), FONTCONFIG_PATH: join(UNPACKED, 'fonts') };
    return { executablePath: own, env: { PATH: process.env.PATH ?? '', ...settings } };
  }
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
  if (found !== undefined) return { executablePath: found };
  throw new Error(MISSING);
}

let launched: Promise<Browser> | undefined;

/**
 * Returns the browser of this process, which all its test files share. A pipe connects the browser to the process, so
 * the browser ends with the process. As root, Chromium needs `--no-sandbox`, which is safe because the browser loads
 * only pages of our services.
 */
export function sharedBrowser(): Promise<Browser> {
  launched ??= launch();
  return launched;
}

async function launch(): Promise<Browser> {
  const { chromium } = await import('playwright-core').catch(() => {
    throw new Error(MISSING);
  });
  return chromium.launch({ ...programToLaunch(), args: ['--no-sandbox', '--no-zygote', '--disable-gpu'] });
}
