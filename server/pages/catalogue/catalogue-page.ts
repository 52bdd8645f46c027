import { type Html, html } from '../page-html.ts';
import { breakable, type Page } from '../page-layout.ts';

/** The catalogues: of error codes, and of types of events. */
type Catalogue = 'errors' | 'events';

/** Title and data of the page with all entries of a catalogue, or with the results of a search. */
export function listHead(section: Catalogue, query: string): Pick<Page, 'title' | 'section' | 'data'> {
  const name = section === 'errors' ? 'Errors' : 'Events';
  if (query.trim() === '') return { title: name, section, data: `/${section}.json` };
  const data = `/${section}.json?q=${encodeURIComponent(query.slice(0, 200).toWellFormed())}`;
  return { title: `${name}: ${query.slice(0, 60)}`, section, data };
}

/** The form that searches a catalogue. */
export function searchForm(section: Catalogue, query: string, label: string, examples: Html): Html {
  return html`<search><form action="/${section}" method="get">
<label class="label" for="q">${label}</label>
<div class="search"><input id="q" name="q" type="search" value="${query}" maxlength="1000" autocomplete="off" autocapitalize="off" spellcheck="false"><button type="submit">Search</button></div>
<p>${examples}</p>
</form></search>`;
}

/** The facts of an entry, as names and values. */
export function factList(facts: readonly (readonly [string, string | Html])[]): Html {
  return html`<dl class="facts">${facts.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>
`,
  )}</dl>`;
}

/** Says that the commands below are for a sandbox, where the service is none. */
export function sandboxOnly(mode: 'sandbox' | 'live'): Html | false {
  return mode === 'live' && html`<p>This service runs in live mode. Run these commands against a sandbox.</p>`;
}

/** Links to the entries before and after an entry. */
export function adjacentEntries(section: Catalogue, what: string, all: readonly string[], entry: string): Html {
  const at = all.indexOf(entry);
  const link = (other: string | undefined, name: string) =>
    html`<p>${other !== undefined && html`<span>${name}</span><a href="/${section}/${other}"><code>${breakable(other)}</code></a>`}</p>`;
  return html`<nav class="adjacent" aria-label="Previous and next ${what}">
${link(all[at - 1], 'Previous')}
${link(all[at + 1], 'Next')}
</nav>`;
}
