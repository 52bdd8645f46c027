import { isErrorCode } from '../../../contract/errors/catalogue.ts';
import { EVENT_CATALOGUE, exampleEvent, isEventType } from '../../../contract/events/catalogue.ts';
import { causingCommands, readingCommand, undoingCommands } from '../../../contract/events/examples.ts';
import { EventRecord } from '../../../contract/events.ts';
import { OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import { EVENT_TYPES, type EventType } from '../../../domain/event.ts';
import { type Html, html, joined } from '../page-html.ts';
import {
  adjacentEntries,
  anchorOf,
  breakable,
  factList,
  fields,
  listing,
  type Page,
  type PageContext,
  sandboxOnly,
} from '../page-layout.ts';

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
      html`<a href="/docs/list_events"><code>list_events</code></a> lists the events of a card program, waits for the next one, or streams them; operators read the events of all programs with <a href="/docs/search_events"><code>search_events</code></a>.`,
      html`Each event has a <code>position</code>: 1, 2, 3 and so on in its card program, without a gap. Remember the last one that you have processed, and continue after it.`,
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
  const { subject, subjectOtherwise, operation, listed, isOfService, since } = EVENT_CATALOGUE[type];
  const { scope } = OPERATIONS[isOfService ? 'search_events' : 'list_events'];
  const id = html`<code>${breakable(`data.${subject}`)}</code>${subjectOtherwise !== undefined && html`, or <code>${subjectOtherwise}</code>`}`;
  return factList([
    ['subject_id', id],
    ['Subject now', operation === undefined ? 'only in the event' : (withNames(operation)[1] ?? operation)],
    ['Scope', listed ? html`<code>${scope}</code>` : 'only sent to a webhook'],
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
  const causing = causingCommands(type, base);
  return html`<h2>Cause it in the sandbox</h2>
${sandboxOnly(mode)}
<p>${withNames(EVENT_CATALOGUE[type].sample.reproduce)}</p>
${causing.length > 0 ? listing('Commands', causing.join('\n\n')) : html`<p>The guide <a href="/guides/approvals">Approvals</a> has the commands.</p>`}
${reading !== undefined && html`<p>Read the event:</p>${listing('Command', reading)}`}
${undoing.length > 0 && html`<p>Undo what you did:</p>${listing(undoing.length === 1 ? 'Command' : 'Commands', undoing.join('\n\n'))}`}`;
}

/** The headings of the page, in order. The keys are the first words of the types. */
const SUBJECTS: Readonly<Record<string, string>> = {
  transfer: 'Transfers',
  reversal: 'Reversals',
  card: 'Cards',
  program: 'Card programs',
  funding: 'Funding',
  break: 'Breaks',
  settlement: 'Settlement files',
  day: 'Days',
  switch: 'Switch',
  key: 'API keys',
  approval: 'Approvals',
  error: 'Errors',
  webhook: 'Webhooks',
  case: 'Cases',
  incident: 'Incidents',
};

function subjectOf(type: EventType): string {
  return SUBJECTS[type.split('.')[0] ?? ''] ?? 'Others';
}

/**
 * Matches everything that is shown as code: text in backticks, names of types, operations and fields, and fields with a value.
 */
const NAMES = /(`[^`]+`|\b[a-z]+\.[a-z_]+\b|\b[a-z]+(?:_[a-z]+)+\b|"[a-z_]+": "?[a-z]+"?)/;

/** Renders a sentence of the catalogue with its names as code. The names are also links, unless the whole row is a link. */
export function withNames(text: string, hasLinks = true): readonly Html[] {
  return text.split(NAMES).map((part, at) => {
    if (at % 2 === 0) return html`${part}`;
    const code = html`<code>${part.replaceAll('`', '')}</code>`;
    if (hasLinks && isEventType(part)) return html`<a href="/events/${part}">${code}</a>`;
    if (hasLinks && isErrorCode(part)) return html`<a href="/errors/${part}">${code}</a>`;
    // A service in live mode has no pages about the operations of a sandbox.
    const isLink = hasLinks && isOperation(part) && OPERATIONS[part].reach !== 'sandbox';
    return isLink ? html`<a href="/docs/${part}">${code}</a>` : code;
  });
}

function isOperation(name: string): name is OperationId {
  return Object.hasOwn(OPERATIONS, name);
}
