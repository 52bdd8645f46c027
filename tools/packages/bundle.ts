import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { root } from '../command.ts';
import { packagesAmong, readManifest } from '../supply-chain/packages.ts';

// Invariant: The service's package needs only Node and PostgreSQL, includes the licenses of its contents,
//   and loads metrics, traces and texts only when they are used
// Kept by: rolldown bundles it (`noticesFor`)
// Tested by: `test/packages/service-contents.test.ts`, `service-load.test.ts`, `service-host.test.ts`

/**
 * The programs that run in a separate process or thread, by folder. In the package they have the same paths. Each file that the
 * command line loads delays it by about 2 ms. So it shares no file with the service, and only one with its own parts that are
 * loaded on demand.
 */
const PROGRAMS = {
  cli: {
    names: ['main'],
    splitting: {
      groups: [
        { name: 'shared', test: /\/(?:cli\/(?!move-in\/|files\/csv-file)|sdk\/|domain\/)/, minShareCount: 2 },
        // They load the contract, so only commands that read such files load them.
        { name: 'files', test: /\/cli\/(?:move-in\/|files\/csv-file|settlement-)/ },
      ],
    },
  },
  server: {
    names: ['main', 'host/administration', 'background/delivery/worker', 'postgres/backup/copy-worker'],
    splitting: true,
  },
  simulator: { names: ['main'], splitting: true },
};

/** Not bundled: the file that must stay at the root, and the unused native client of pg. */
const EXTERNAL = [/\/installation\.mjs$/, 'pg-native'];

/**
 * Bundles the programs with the packages that they import. Returns the paths of these packages in the clone. Code that is loaded
 * on demand becomes a separate file. Nothing is minified, so that stack traces stay readable. Minified, the tarball would be only
 * a sixth smaller.
 */
export async function bundlePrograms(target: string): Promise<readonly string[]> {
  const modules: string[] = [];
  for (const folder of ['cli', 'server', 'simulator'] as const)
    modules.push(...(await bundleFolder(folder, join(target, folder))));
  return packagesAmong(root, modules);
}

/** Bundles the programs of a folder. Returns the modules in them. */
export async function bundleFolder(folder: keyof typeof PROGRAMS, target: string): Promise<readonly string[]> {
  const { names, splitting } = PROGRAMS[folder];
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(names.map((name) => [name, join(folder, `${name}.ts`)])),
    external: EXTERNAL,
    platform: 'node',
    tsconfig: join(root, 'tsconfig.json'),
    onLog: (level, log) => {
      // Otherwise, the cause of a warning would show only when the bundle runs.
      if (level === 'warn') throw new Error(`The service cannot be bundled: ${log.message}`);
    },
  });
  const { output } = await bundle.write({
    dir: target,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    codeSplitting: splitting,
    // The licenses are in a separate file.
    comments: false,
  });
  await bundle.close();
  return output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
}

/**
 * Packages under the MIT license that only name it in their manifest or Readme. Their notice is the text of our license with their author.
 * Before you add one, check that it names no other license.
 */
const ONLY_LINKED: readonly string[] = ['abstract-logging', '@nodable/entities'];

/**
 * Returns the license texts that must be distributed with the packages in a bundle. Each text appears once, below the names of
 * its packages.
 *
 * @throws {Error} if a package has no license text
 */
export function noticesFor(packages: readonly string[]): string {
  const namesByText = new Map<string, string[]>();
  for (const path of [...new Set(packages)].sort()) {
    const folder = join(root, path);
    const { name, version } = readManifest(folder);
    const text = textOf(folder);
    namesByText.set(text, [...(namesByText.get(text) ?? []), `${name} ${version}`]);
  }
  const opening = 'The service, its command line and its console contain these packages.\n';
  return [opening, ...[...namesByText].map(([text, names]) => `${names.join('\n')}\n\n${text}\n`)].join('\n\n');
}

/** The license files of a package, or the license section of its Readme. */
function textOf(folder: string): string {
  const names = readdirSync(folder).sort();
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim();
  const files = names.filter((name) => /^(?:licen[cs]e|copying|notice)/i.test(name));
  if (files.length > 0) return files.map(read).join('\n\n');
  const readme = names.find((name) => /^readme/i.test(name));
  const [, section = ''] = /^#+ licen[cs]e\s*$(.*)/ims.exec(readme === undefined ? '' : read(readme)) ?? [];
  if (/^Permission is hereby granted/m.test(section)) return section.trim();
  const { name, author } = readManifest(folder);
  if (ONLY_LINKED.includes(name)) return ownLicense().replace(/^Copyright .*$/m, `Copyright (c) ${author}`);
  throw new Error(`${name} has no license text, which must be distributed with it: see tools/packages/bundle.ts.`);
}

const ownLicense = (): string => readFileSync(join(root, 'LICENSE'), 'utf8').trim();
