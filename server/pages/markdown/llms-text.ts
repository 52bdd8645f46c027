import { ERRORS, FAMILY_PATTERNS, familyCodes, sharedCodesOf } from '../../../contract/errors/catalogue.ts';
import { ERROR_TYPES } from '../../../contract/errors/record.ts';
import { EVENT_CATALOGUE } from '../../../contract/events/catalogue.ts';
import { OPERATIONS } from '../../../contract/operations.ts';
import { EVENT_TYPES } from '../../../domain/event.ts';
import { GUIDE_GROUPS, type Guide, RUNBOOK_GUIDES } from '../guides/guide-list.ts';
import { LEAD } from '../home-page.ts';
import type { PageContext } from '../page-layout.ts';
import { sectionsOf } from '../reference/reference-page.ts';

type Entry = { readonly name: string; readonly path: string; readonly about: string };

/**
 * Returns the contents of the documentation for language models, in the format of llmstxt.org: a title, a summary, and sections of
 * links to Markdown.
 */
export function llmsText({ url, mode, needsKey }: PageContext): string {
  const section = (title: string, entries: readonly Entry[]): string => {
    const lines = entries.map(({ name, path, about }) => `- [${name}](${url}${path}.md): ${about}`);
    return `## ${title}\n\n${lines.join('\n')}\n`;
  };
  const guides = GUIDE_GROUPS.map(({ name, guides: own }) => section(`Guides: ${name}`, own.map(guideEntry)));
  const operations = sectionsOf(mode).map(({ title, operations: ids }) =>
    section(
      `Operations: ${title}`,
      ids.map((id) => {
        const { method, path, summary } = OPERATIONS[id];
        return { name: id, path: `/docs/${id}`, about: `${summary}. \`${method} ${path}\`` };
      }),
    ),
  );
  const errors = ERROR_TYPES.map((type) => section(`Errors: ${type}`, sharedCodesOf(type).map(errorEntry)));
  const families = (['schema', 'unknown'] as const).map(
    (kind) => `\`${FAMILY_PATTERNS[kind]}\` (such as \`${familyCodes(kind)[0]}\`)`,
  );
  return `# Transfer Service

> ${LEAD}

This is the documentation of a service in ${mode} mode at ${url}. Requests and responses are JSON, and amounts are whole numbers of minor units (1000 is 10.00 USD). ${needsKey ? 'Requests need an API key in the header `Authorization`.' : 'This sandbox accepts requests without a key.'}

Every guide, operation, error code and event is a page of Markdown: its address with \`.md\`. Two kinds of codes exist for each operation: ${families.join(' and ')}. For tools, [openapi.json](${url}/openapi.json) describes all operations, and [errors.json](${url}/errors.json) and [events.json](${url}/events.json) list all codes and events.

${[
  ...guides,
  section('API reference', [
    {
      name: 'Conventions',
      path: '/docs',
      about: 'Headers, errors and events of all requests, and a list of the operations.',
    },
  ]),
  ...operations,
  ...errors,
  section(
    'Events',
    EVENT_TYPES.map((type) => ({
      name: type,
      path: `/events/${type}`,
      about: EVENT_CATALOGUE[type].summary,
    })),
  ),
  section('Optional', RUNBOOK_GUIDES.map(guideEntry)),
].join('\n')}`;
}

const guideEntry = ({ name, slug, about }: Guide): Entry => ({ name, path: `/guides/${slug}`, about });

const errorEntry = (code: keyof typeof ERRORS): Entry => ({
  name: code,
  path: `/errors/${code}`,
  about: ERRORS[code].meaning,
});
