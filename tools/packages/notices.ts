import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../command.ts';
import { readManifest } from '../supply-chain/packages.ts';

/**
 * Packages under the MIT licence that only link to it in their Readme. Their notice is the text of our own licence, with
 * their author. Before adding one, check that it really names no other licence.
 */
const ONLY_LINKED: readonly string[] = ['abstract-logging'];

/**
 * The licence texts that must be distributed with the packages in a bundle, each once, below the names of its packages.
 *
 * @throws {Error} if a package has no text of its licence
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

/** The licence files of a package; else the licence section of its Readme. */
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
  throw new Error(`${name} has no licence text, which must be distributed with it: see tools/packages/notices.ts.`);
}

const ownLicense = (): string => readFileSync(join(root, 'LICENSE'), 'utf8').trim();
