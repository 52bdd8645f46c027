import { EVENT_CATALOGUE, exampleEvent } from '../../../contract/events/catalogue.ts';
import { causingCommands, readingCommand, undoingCommands } from '../../../contract/events/examples.ts';
import { EventRecord } from '../../../contract/events.ts';
import { EVENT_TYPES, type EventType } from '../../../domain/event.ts';
import { type Html, html } from '../page-html.ts';
import { anchorOf, breakable, fields, listing, type Page, type PageContext } from '../page-layout.ts';
import { adjacentEntries, factList, sandboxOnly } from './catalogue-page.ts';
import { subjectOf, withNames } from './event-names.ts';

/** The page of one type of event. */
export function eventTypePage(type: EventType, context: PageContext): Page {
  const { summary, sent, notes } = EVENT_CATALOGUE[type];
  const subject = subjectOf(type);
  return {
    title: type,
    section: 'events',
    description: `${type}: ${summary}`,
    data: `/events/${type}.json`,
    content: html`<article>
<nav class="trail" aria-label="Breadcrumb"><ol><li><a href="/events">Events</a></li>
<li><a href="/events#${anchorOf(subject)}">${subject}</a></li></ol></nav>
<h1><code>${breakable(type)}</code></h1>
<p class="lead">${withNames(summary)}</p>
${facts(type)}
<h2>When it is sent</h2>
<ul>${sent.map((sentence) => html`<li>${withNames(sentence)}</li>`)}</ul>
${notes.length > 0 && html`<div class="remedy"><h2>Good to know</h2>${notes.map((note) => html`<p>${withNames(note)}</p>`)}</div>`}
<h2>Example</h2>
${listing('Event', JSON.stringify(exampleEvent(type), null, 2))}
${sandbox(type, context)}
${contents(type)}
${adjacentEntries('events', 'event', EVENT_TYPES, type)}
</article>`,
  };
}

function facts(type: EventType): Html {
  const { subject, subjectOtherwise, operation, listed, since } = EVENT_CATALOGUE[type];
  const id = html`<code>${breakable(`data.${subject}`)}</code>${subjectOtherwise !== undefined && html`, or <code>${subjectOtherwise}</code>`}`;
  return factList([
    ['subject_id', id],
    ['Subject now', operation === undefined ? 'only in the event' : (withNames(operation)[1] ?? operation)],
    ['Scope', listed ? html`<code>events:read</code>` : 'only sent to a webhook'],
    ['Since', `version ${since}`],
  ]);
}

function contents(type: EventType): Html {
  const { data } = EVENT_CATALOGUE[type];
  const { data: _, ...envelope } = EventRecord.properties;
  return html`<h2>Fields</h2>
<p>Ignore fields that you do not know: later versions can add some. Events that were stored before do not have them.</p>
<h3><code>data</code></h3>
${fields(data, 'event')}
<details><summary>Fields that every event has</summary>
${fields({ type: 'object', properties: envelope }, 'envelope')}
</details>`;
}

function sandbox(type: EventType, { base, mode }: PageContext): Html {
  const reading = readingCommand(type, base);
  const undoing = undoingCommands(type, base);
  return html`<h2>Cause it in the sandbox</h2>
${sandboxOnly(mode)}
<p>${withNames(EVENT_CATALOGUE[type].sample.reproduce)}</p>
${listing('Commands', causingCommands(type, base).join('\n\n'))}
${reading !== undefined && html`<p>Read the event:</p>${listing('Command', reading)}`}
${undoing.length > 0 && html`<p>Undo what you did:</p>${listing(undoing.length === 1 ? 'Command' : 'Commands', undoing.join('\n\n'))}`}`;
}
