import { EVENT_CATALOGUE } from '../../../contract/events/catalogue.ts';
import { OPERATIONS } from '../../../contract/operations.ts';
import { EVENT_TYPES, type EventType } from '../../../domain/event.ts';
import { type Html, html, joined } from '../page-html.ts';
import { anchorOf, breakable, type Page } from '../page-layout.ts';
import { listHead, searchForm } from './catalogue-page.ts';
import { subjectOf, withNames } from './event-names.ts';
import { searchEventTypes } from './event-search.ts';

const EXAMPLES = html`For example <a href="/events?q=hold">hold</a>, <a href="/events?q=failed">failed</a>, <a href="/events?q=funds">funds</a>, or <a href="/events?q=update_card">update_card</a>.`;

/** The page of all types of events, or of the results of a search. */
export function eventListPage(query: string): Page {
  const isSearch = query.trim() !== '';
  return {
    ...listHead('events', query),
    description: 'All events of the Transfer Service: when each is sent, what it contains, and how to cause it.',
    content: html`<h1>Events</h1>
<p class="lead">Events tell you what happens, also without a request of yours: a hold expires, a scheduled transfer fails, the service is disabled. Look up here when each is sent and what it contains.</p>
${searchForm('events', query, 'Search by type, field or word', EXAMPLES)}
${isSearch ? results(query) : overview()}`,
  };
}

function overview(): Html {
  const subjects = [...new Set(EVENT_TYPES.map(subjectOf))];
  return html`<div class="remedy note"><h2>How to read events</h2>
<p>${joined(
    [
      html`<a href="/docs#list_events"><code>list_events</code></a> lists the events of a card program, waits for the next one, or streams them; operators read those of all programs with <a href="/docs#search_events"><code>search_events</code></a>.`,
      html`Each event has a <code>position</code>: 1, 2, 3 and so on in its card program, without a gap. Remember the last one that you have processed, and go on after it.`,
      html`Filter by one type, or by all of a subject: <code>type=transfer.*</code>.`,
    ],
    ' ',
  )}</p></div>
${subjects.map(group)}`;
}

function group(subject: string): Html {
  const types = EVENT_TYPES.filter((type) => subjectOf(type) === subject);
  return html`<section class="group" aria-labelledby="${anchorOf(subject)}">
<h2 id="${anchorOf(subject)}">${subject}</h2>
<ul class="codes events">${types.map(row)}</ul>
</section>`;
}

function row(type: EventType): Html {
  const { summary, sent } = EVENT_CATALOGUE[type];
  return html`<li><a href="/events/${type}">${breakable(type)}</a>
<p>${withNames(summary, false)}</p><p>${withNames(sent[0] ?? '', false)}</p></li>
`;
}

function results(query: string): Html {
  const { hits, isExact } = searchEventTypes(query);
  if (hits.length === 0) {
    return html`<h2>Nothing found</h2>
<p>No event contains these words. Try other words, or see <a href="/events">all ${EVENT_TYPES.length} events</a>.</p>`;
  }
  const count = `${hits.length} of ${EVENT_TYPES.length} events`;
  const verb = hits.length === 1 ? 'matches' : 'match';
  const said = isExact ? `${count} ${verb}.` : `No event matches all words. ${count} ${verb} some of them.`;
  const operation = query.trim();
  const reference =
    Object.hasOwn(OPERATIONS, operation) &&
    html` See also <a href="/docs#${operation}">${operation}</a> in the API reference.`;
  return html`<h2>Results</h2>
<p>${said} <a href="/events">Show all events</a>.${reference}</p>
<ul class="codes events">${hits.map(row)}</ul>`;
}
