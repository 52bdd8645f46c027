import { readFileSync } from 'node:fs';
import { placeOf } from '../../../installation.mjs';
import { withoutDiagrams } from './guide-diagrams.ts';
import { headingIds } from './guide-links.ts';
import type { Guide } from './guide-list.ts';

/** The text below one heading of a guide; for the text before the first heading, `section` and `id` are undefined. */
export type GuideText = {
  readonly section: string | undefined;
  readonly id: string | undefined;
  /** The prose below the heading, without listings. */
  readonly text: string;
  /** Its first paragraph; empty if it begins with a list or a table. */
  readonly lead: string;
};

/** The sections of a guide, for the search. Splits it by patterns, because a Markdown parser takes ten times as long. */
export function sectionsOf({ file }: Guide): readonly GuideText[] {
  const idOf = headingIds();
  const text = withoutDiagrams(readFileSync(placeOf(file), 'utf8')).replaceAll(/^```.*?^```$/gms, '');
  const parts = text.split(/^(#{2,4} .*)$/m);
  return parts.flatMap((part, at): GuideText[] => {
    if (at % 2 === 1) return [];
    const lead = plain(/^\s*(?:# [^\n]*\n+)?([^\s|*\d#-].*?)(?:\n\s*\n|$)/s.exec(part)?.[1] ?? '');
    const prose = plain(part.replaceAll(/^# .*$|^ *(?:[-*>]|\d+\.) |^\|[-| ]+\|$/gm, ' '));
    const heading = parts[at - 1];
    if (heading === undefined) return [{ section: undefined, id: undefined, text: prose, lead }];
    const section = plain(heading.replace(/^#+ /, ''));
    return [{ section, id: idOf(section), text: prose, lead }];
  });
}

/** A text without its Markdown syntax. */
function plain(text: string): string {
  return text
    .replaceAll(/!?\[([^\]]*)\]\([^()]*\)/g, '$1')
    .replaceAll(/\*\*|[`|]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
