// Builds the files of a release from a commit twice, and compares the results byte by byte:
// npm run release -- <folder> [<commit>]. The folder gets the two tarballs, the bill of materials, and SHA256SUMS.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, join, resolve, sep } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { root } from '../command.ts';

/** Two environments that must produce the same bytes. A umask of 077 would not, because npm keeps the modes. */
const ENVIRONMENTS = [
  { folder: 'first', umask: '022', environment: { TZ: 'UTC', LC_ALL: 'C', LANG: 'C' } },
  { folder: 'second-with-a-longer-path', umask: '002', environment: { TZ: 'Asia/Kolkata', LC_ALL: 'C.UTF-8' } },
] as const;

/** The machine's own Node and npm, as in a release by hand. */
const path = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((entry) => !entry.split(sep).includes('node_modules'))
  .join(delimiter);

/** Runs `npm pack` in a fresh copy of the commit without node_modules. Returns the folder with the tarballs. */
function packFresh(commit: string, place: string, { umask, environment }: (typeof ENVIRONMENTS)[number]): string {
  const [sources, made] = [join(place, 'sources'), join(place, 'made')];
  const run = (command: string, cwd: string): void => {
    const env = { HOME: process.env.HOME, PATH: path, ...environment };
    execFileSync('sh', ['-c', `umask ${umask} && ${command}`], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  };
  mkdirSync(sources, { recursive: true });
  mkdirSync(made);
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 512 * 1024 * 1024 });
  execFileSync('tar', ['-x', '-C', sources], { input: archive });
  run(`npm pack --loglevel=error --pack-destination '${made}'`, sources);
  run(`npm pack --loglevel=error --pack-destination '${made}'`, join(sources, 'sdk'));
  run(`npm run --silent bill-of-materials -- '${made}/bill-of-materials.json'`, sources);
  return made;
}

/** SHA-256 of a file, as `sha256sum` prints it. */
function sumOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}

/** Returns one sentence for each difference between two tarballs. Empty if they have the same bytes. */
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

function release(folder: string, commit: string): number {
  const place = mkdtempSync(join(tmpdir(), 'transfer-service-release-'));
  try {
    const [first = '', second = ''] = ENVIRONMENTS.map((one) => packFresh(commit, join(place, one.folder), one));
    const files = readdirSync(first).sort();
    const found = files.flatMap((file) =>
      file.endsWith('.tgz')
        ? differences(join(first, file), join(second, file)).map((sentence) => `${file}: ${sentence}`)
        : sumOf(join(first, file)) === sumOf(join(second, file))
          ? []
          : [`${file} differs.`],
    );
    for (const sentence of found) console.error(sentence);
    if (found.length > 0) return 1;
    mkdirSync(folder, { recursive: true });
    for (const file of files) {
      copyFileSync(join(first, file), join(folder, file));
      chmodSync(join(folder, file), 0o644);
    }
    const sums = files.map((file) => `${sumOf(join(folder, file))}  ${file}\n`).join('');
    writeFileSync(join(folder, 'SHA256SUMS'), sums);
    console.log(`Made twice from ${commit}, with the same bytes, in ${basename(folder)}/:\n${sums.trimEnd()}`);
    return 0;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const [folder, reference = 'HEAD'] = process.argv.slice(2);
  if (folder === undefined) {
    console.error('Name the target folder: npm run release -- <folder> [<commit>]');
    process.exitCode = 2;
  } else {
    const commit = execFileSync('git', ['rev-parse', '--verify', `${reference}^{commit}`], {
      cwd: root,
      encoding: 'utf8',
    });
    process.exitCode = release(resolve(folder), commit.trim());
  }
}
