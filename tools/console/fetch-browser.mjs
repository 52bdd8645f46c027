// Installs or updates the browser for the console's tests. `npm test` calls it. To call it by hand: `node
// tools/console/fetch-browser.mjs`. The packages have a separate lockfile, so `npm start` never downloads them. Plain JavaScript,
// like install.mjs.
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureInstalled } from '../../cli/install.mjs';
import { libraryOfC, SetupProblem } from '../../cli/service-node.mjs';

const tests = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', 'test', 'console');
const packages = join(tests, 'node_modules');

/** Uses the package's fonts first, then the machine's. Without any font, a page shows no text. */
const fontSettings = (fonts) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>${fonts}</dir>
  <cachedir>${fonts}/cache</cachedir>
</fontconfig>
`;

/**
 * Unpacks Chromium, the libraries it needs and a font into node_modules/.browser. Simultaneous processes use separate folders,
 * and the first one to finish renames its folder.
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
  // On other machines the tests look for an installed Chromium.
  if (process.platform === 'linux' && process.arch === 'x64' && libraryOfC() === 'glibc') await unpack();
} catch (error) {
  if (!(error instanceof SetupProblem)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}
