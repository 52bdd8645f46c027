import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readListings } from '../../test/guides/guide-runner.ts';
import { root } from '../command.ts';

/** A command that a guide shows, and its line. */
export type GuideCommand = { readonly line: number; readonly command: string };

/** The commands of a guide, in their order. */
export function commandsOf(guide: string): readonly GuideCommand[] {
  const listings = readListings(readFileSync(join(root, guide), 'utf8'));
  return listings.flatMap((listing) => (listing.kind === 'command' ? [listing] : []));
}
