import { EVENT_CATALOGUE } from '../../../contract/events/catalogue.ts';
import { EVENT_TYPES, type EventType } from '../../../domain/event.ts';
import { type Html, html, joined } from '../page-html.ts';
import { anchorOf, breakable, type Page } from '../page-layout.ts';
import { subjectOf, withNames } from './event-names.ts';

/** The page of all types of events. */
export function eventListPage(): Page {
  return {
    title: 'Events',
    section: 'events',
    data: '/events.json',
    description: 'All events of the Transfer Service: when each is sent, what it contains, and how to cause it.',
    content: html`<h1>Events</h1>
<p class="lead">Events tell you what happens, even without your request: a hold expires, a scheduled transfer fails, the service is disabled. Each has a page that says when it is sent and what it contains.</p>
${overview()}`,
  };
}

function overview(): Html {
  const subjects = [...new Set(EVENT_TYPES.map(subjectOf))];
  return html`<div class="remedy note"><h2>How to read events</h2>
<p>${joined(
    [
      html`<a href="/docs/list_events"><code>list_events</code></a> lists the events of a card program, waits for the next one, or streams them; operators read those of all programs with <a href="/docs/search_events"><code>search_events</code></a>.`,
      html`Each event has a <code>position</code>: 1, 2, 3 and so on in its card program, without a gap. Remember the last one that you have processed, and go on after it.`,
      html`Filter by type, or by all types of a subject; separate several by commas: <code>type=transfer.*,card.created</code>.`,
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
