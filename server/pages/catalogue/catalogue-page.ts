import { type Html, html } from '../page-html.ts';
import { breakable } from '../page-layout.ts';

type Catalogue = 'errors' | 'events';

export function factList(facts: readonly (readonly [string, string | Html])[]): Html {
  return html`<dl class="facts">${facts.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>
`,
  )}</dl>`;
}

export function sandboxOnly(mode: 'sandbox' | 'live'): Html | false {
  return mode === 'live' && html`<p>This service runs in live mode. Run these commands against a sandbox.</p>`;
}

export function adjacentEntries(section: Catalogue, what: string, all: readonly string[], entry: string): Html {
  const at = all.indexOf(entry);
  const link = (other: string | undefined, name: string) =>
    html`<p>${other !== undefined && html`<span>${name}</span><a href="/${section}/${other}"><code>${breakable(other)}</code></a>`}</p>`;
  return html`<nav class="adjacent" aria-label="Previous and next ${what}">
${link(all[at - 1], 'Previous')}
${link(all[at + 1], 'Next')}
</nav>`;
}
