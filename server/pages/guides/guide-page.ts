import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { maskedText } from '../../../domain/cards/masked-text.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { placeOf } from '../../../installation.mjs';
import { Html, html } from '../page-html.ts';
import type { Page, PageContext } from '../page-layout.ts';
import { GUIDE_GROUPS, GUIDES, type Guide, RUNBOOK_GUIDES } from './guide-list.ts';
import { type GuideSection, renderGuide } from './guide-markdown.ts';
import { withoutDiagrams, withServedLinks } from './guide-text.ts';

/** Pages with at least this many sections begin with a table of contents. */
const MIN_SECTIONS_FOR_CONTENTS = 4;

const ALL: ReadonlyMap<string, Guide> = new Map([...GUIDES, ...RUNBOOK_GUIDES].map((guide) => [guide.slug, guide]));

/** Finds the guide of a path, which may end in `.md`. If there is none, throws a Refusal: route_not_found. */
export function findGuide(name: string): { readonly guide: Guide; readonly isData: boolean } {
  const isData = name.endsWith('.md');
  const slug = isData ? name.slice(0, -3) : name;
  const guide = ALL.get(slug);
  if (guide !== undefined) return { guide, isData };
  throw new Refusal('route_not_found', `There is no guide '${maskedText(slug)}'. See /guides for all guides.`);
}

/** Returns the Markdown of a guide, with links that work on the service. */
export function guideMarkdown({ file }: Guide): string {
  return withServedLinks(file, withoutDiagrams(readFileSync(placeOf(file), 'utf8')));
}

export function guideData(): object {
  const data = GUIDE_GROUPS.flatMap(({ name: group, guides }) =>
    guides.map(({ slug, name, about }) => ({
      group,
      name,
      about,
      path: `/guides/${slug}`,
      markdown: `/guides/${slug}.md`,
    })),
  );
  return { data };
}

export function guideListPage(): Page {
  const groups = GUIDE_GROUPS.map(
    ({ name, guides }) => html`<section class="group" aria-label="${name}">
<h2>${name}</h2>
<ul class="guides">${guides.map(
      ({ slug, name: title, about }) => html`<li><a href="/guides/${slug}">${title}</a> <span>${about}</span></li>
`,
    )}</ul>
</section>`,
  );
  return {
    title: 'Guides',
    section: 'guides',
    description: 'How to call, run and support the Transfer Service, step by step.',
    data: '/guides.json',
    content: html`<h1>Guides</h1>
<p class="lead">How to call, run and support the service, in the order in which the questions come up. Every command in a guide works as it is typed.</p>
${groups}`,
  };
}

export function guidePage(guide: Guide, { base, mode }: PageContext): Page {
  const source = readFileSync(placeOf(guide.file), 'utf8');
  const text = mode === 'sandbox' ? withBase(source, base) : source;
  const { title, lead, content, sections } = renderGuide(guide.file, text, (path) =>
    drawing(join(dirname(guide.file), path)).toString(),
  );
  const isRunbookPage = guide.slug.startsWith('runbook/');
  const trail = isRunbookPage && html`<li><a href="/guides/runbook">Runbook</a></li>`;
  return {
    title,
    section: 'guides',
    description: guide.about,
    data: undefined,
    content: html`<div class="guide">
${navigation(isRunbookPage ? 'runbook' : guide.slug)}
<article>
<nav class="trail" aria-label="Breadcrumb"><ol><li><a href="/guides">Guides</a></li>${trail}</ol></nav>
<h1>${title}</h1>
${lead !== undefined && html`<div class="first">${lead}</div>`}
${sections.length >= MIN_SECTIONS_FOR_CONTENTS && !isRunbookPage && contents(sections)}
${content}
${adjacent(isRunbookPage ? RUNBOOK_GUIDES : GUIDES, guide)}
</article>
</div>`,
  };
}

/** Puts the address of the sandbox into the commands of a guide. */
function withBase(text: string, base: string): string {
  return text.replaceAll('http://localhost:8080', base).replaceAll('localhost:8080', new URL(base).host);
}

/** Returns a drawing for inclusion in a page, without its own stylesheet. The stylesheet of the page applies to it. */
export function drawing(file: string): Html {
  const svg = readFileSync(placeOf(file), 'utf8');
  return new Html(svg.replace(/^<\?xml.*?\?>\s*/, '').replace(/<style>.*?<\/style>\s*/s, ''));
}

function navigation(current: string): Html {
  const groups = GUIDE_GROUPS.map(
    ({ name, guides }) => html`<p>${name}</p>
<ul>${guides.map(
      ({ slug, name: title }) =>
        html`<li><a href="/guides/${slug}"${slug === current && html` aria-current="page"`}>${title}</a></li>
`,
    )}</ul>`,
  );
  return html`<nav class="side" aria-label="Guides">${groups}</nav>`;
}

function contents(sections: readonly GuideSection[]): Html {
  const isIndex = sections.every(({ title }) => title.length === 1);
  return html`<nav class="onpage${isIndex && ' letters'}" aria-label="On this page"><p>On this page</p>
<ul>${sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul></nav>`;
}

function adjacent(guides: readonly Guide[], guide: Guide): Html {
  const at = guides.indexOf(guide);
  const link = (other: Guide | undefined, label: string) =>
    html`<p>${other !== undefined && html`<span>${label}</span><a href="/guides/${other.slug}">${other.name}</a>`}</p>`;
  return html`<nav class="adjacent" aria-label="Previous and next guide">
${link(guides[at - 1], 'Previous')}
${link(guides[at + 1], 'Next')}
</nav>`;
}
