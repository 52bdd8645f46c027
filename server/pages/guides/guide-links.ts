import { posix } from 'node:path';
import { GUIDES, RUNBOOK_GUIDES } from './guide-list.ts';

// Invariant: No link on a page or in a guide is broken
// Tested by: `test/guides/served.test.ts`

const PATHS: ReadonlyMap<string, string> = new Map([
  ...[...GUIDES, ...RUNBOOK_GUIDES].map(({ file, slug }) => [file, `/guides/${slug}`] as const),
  ['README.md', '/'],
  ['contract/openapi.json', '/openapi.json'],
  ['contract/processors/adapter-openapi.json', '/adapter-openapi.json'],
]);

/**
 * The target of a guide's link when the guide is served: a link to the file of a guide becomes a link to its page. Null for
 * a file that is not served; such a link is shown as plain text.
 */
export function servedLink(file: string, link: string): string | null {
  if (/^(https?:|mailto:|#|\/)/.test(link)) return link;
  const [path = '', anchor] = link.split('#');
  const served = PATHS.get(posix.join(posix.dirname(file), path));
  if (served === undefined) return null;
  return anchor === undefined || served === '/' ? served : `${served}#${anchor}`;
}

/** The Markdown of a guide as it is served: links to guides lead to their Markdown, links to unserved files become text. */
export function withServedLinks(file: string, text: string): string {
  return text.replaceAll(/!?\[([^\]]+)\]\(([^()\s]+)\)/g, (whole, label: string, link: string) => {
    const served = whole.startsWith('!') ? null : servedLink(file, link);
    return served === null ? label : `[${label}](${served.replace(/^(\/guides\/[^#]+)/, '$1.md')})`;
  });
}

/** Gives each heading of a page an id as GitHub does, so that a link to it works in both places. */
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
