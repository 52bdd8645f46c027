import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { placeOf } from '../../../installation.mjs';
import { markdownLink } from '../markdown/page-markdown.ts';
import { GUIDES, type Guide, RUNBOOK_GUIDES } from './guide-list.ts';

/** Returns a Markdown text in the form that the page shows: with tables instead of diagrams, and without comments. */
export function withoutDiagrams(text: string): string {
  return text
    .replaceAll(/```mermaid\n(.*?)```\n/gs, (_whole, diagram: string) => transitionTable(diagram))
    .replaceAll(/<!--.*?-->\n+/gs, '');
}

/**
 * Returns a Mermaid state diagram as a Markdown table of its transitions, because the pages have no script that draws diagrams.
 * Transitions from the same state with the same cause share a row.
 */
function transitionTable(diagram: string): string {
  const transitions = diagram.split('\n').flatMap((line) => {
    const [, from, to, by = ''] = /^\s*(\S+) --> ([^\s:]+)(?:: (.*))?$/.exec(line) ?? [];
    return from === undefined || to === undefined || to === '[*]' ? [] : [{ from, to, by }];
  });
  const rows = Map.groupBy(transitions, ({ from, by }) => `${from} ${by}`);
  const hasCauses = transitions.some(({ by }) => by !== '');
  const line = (from: string, to: string, by: string) => `| ${from} | ${to} |${hasCauses ? ` ${by} |` : ''}\n`;
  const lines = [...rows.values()].map((row) =>
    line(state(row[0]?.from ?? ''), row.map(({ to }) => state(to)).join(', '), row[0]?.by ?? ''),
  );
  return line('from', 'to', 'by') + line('---', '---', '---') + lines.join('');
}

function state(name: string): string {
  return name === '[*]' ? '(new)' : `\`${name}\``;
}

// Invariant: No link on a page or in a guide is broken
// Tested by: `test/guides/served.test.ts`

const PATHS: ReadonlyMap<string, string> = new Map([
  ...[...GUIDES, ...RUNBOOK_GUIDES].map(({ file, slug }) => [file, `/guides/${slug}`] as const),
  ['README.md', '/'],
  ['contract/openapi.json', '/openapi.json'],
  ['contract/processors/adapter-openapi.json', '/adapter-openapi.json'],
]);

/**
 * Returns the target of a guide's link on the service. A link to the file of a guide becomes a link to its page. Returns null for a
 * file that is not served. Such a link is shown as plain text.
 */
export function servedLink(file: string, link: string): string | null {
  if (/^(https?:|mailto:|#|\/)/.test(link)) return link;
  const [path = '', anchor] = link.split('#');
  const served = PATHS.get(posix.join(posix.dirname(file), path));
  if (served === undefined) return null;
  return anchor === undefined || served === '/' ? served : `${served}#${anchor}`;
}

/**
 * Returns the Markdown of a guide for serving: links to pages lead to their Markdown, and links to files that are not served become
 * text.
 */
export function withServedLinks(file: string, text: string): string {
  return text.replaceAll(/!?\[([^\]]+)\]\(([^()\s]+)\)/g, (whole, label: string, link: string) => {
    const served = whole.startsWith('!') ? null : servedLink(file, link);
    return served === null ? label : `[${label}](${markdownLink(served)})`;
  });
}

/** Returns a function that gives each heading of a page the same id as GitHub does, so that links to it work in both places. */
export function headingIds(): (text: string) => string {
  const used = new Map<string, number>();
  return (text) => {
    const id = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
      .replaceAll(' ', '-');
    const count = used.get(id) ?? 0;
    used.set(id, count + 1);
    return count === 0 ? id : `${id}-${count}`;
  };
}

/** The text below one heading of a guide. For text before the first heading, `section` and `id` are undefined. */
export type GuideText = {
  readonly section: string | undefined;
  readonly id: string | undefined;
  /** The prose below the heading, without listings. */
  readonly text: string;
  /** Its first paragraph. Empty if the section begins with a list or a table. */
  readonly lead: string;
};

/** Splits a guide into sections for the search. It uses regular expressions, because a Markdown parser takes ten times as long. */
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

function plain(text: string): string {
  return text
    .replaceAll(/!?\[([^\]]*)\]\([^()]*\)/g, '$1')
    .replaceAll(/\*\*|[`|]|\*(?=\w)|(?<=\w)\*/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
