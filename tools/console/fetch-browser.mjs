// Installs or updates the browser for the tests of the console: `npm test` calls it, or by hand
// `node tools/console/fetch-browser.mjs`. Its packages have a lockfile of their own, so that `npm start` never downloads
// them. Plain JavaScript, like install.mjs.
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureInstalled } from '../../cli/install.mjs';
import { libraryOfC, SetupProblem } from '../../cli/service-node.mjs';

const tests = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', 'test', 'console');
const packages = join(tests, 'node_modules');

/** Fonts of the package first, then those of the machine: without any, a page has no text at all. */
const fontSettings = (fonts) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>${fonts}</dir>
  <cachedir>${fonts}/cache</cachedir>
</fontconfig>
`;

/**
 * Unpacks Chromium, the libraries it needs and a font into node_modules/.browser. Processes that do so at the same time
 * use separate folders, and the first to finish renames its own.
 */
async function unpack() {
  const place = join(packages, '.browser');
  if (existsSync(place)) return;
  const making = mkdtempSync(join(packages, '.unpacking-'));
  const chromium = join(packages, '@sparticuz', 'chromium');
  // The package unpacks into the directory for temporary files.
  process.env.TMPDIR = making;
  try {
    const { inflate } = await import(pathToFileURL(join(chromium, 'build', 'index.js')).href);
    await Promise.all(
      ['chromium.br', 'al2023.tar.br', 'fonts.tar.br'].map((file) => inflate(join(chromium, 'bin', file))),
    );
    writeFileSync(join(making, 'fonts', 'fonts.conf'), fontSettings(join(place, 'fonts')));
    renameSync(making, place);
  } catch (error) {
    rmSync(making, { recursive: true, force: true });
    if (!existsSync(place)) throw new SetupProblem(`The browser could not be unpacked: ${error.message}.`);
  }
}

try {
  const subject = { what: 'the browser for the tests of the console', withNode: false };
  await ensureInstalled(tests, { child: undefined, received: undefined }, subject);
  // Elsewhere the tests look for a Chromium of the machine.
  if (process.platform === 'linux' && process.arch === 'x64' && libraryOfC() === 'glibc') await unpack();
} catch (error) {
  if (!(error instanceof SetupProblem)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}
