import { isErrorCode } from '../../../contract/errors/catalogue.ts';
import { isEventType } from '../../../contract/events/catalogue.ts';
import { OPERATIONS, type OperationId } from '../../../contract/operations.ts';
import type { EventType } from '../../../domain/event.ts';
import { type Html, html } from '../page-html.ts';

/** The headings of the page, in its order, by the first word of a type. */
const SUBJECTS: Readonly<Record<string, string>> = {
  transfer: 'Transfers',
  reversal: 'Reversals',
  card: 'Cards',
  program: 'Card programs',
  funding: 'Funding',
  switch: 'Switch',
  key: 'API keys',
  error: 'Errors',
  webhook: 'Webhooks',
};

/** The heading under which the page lists a type. */
export function subjectOf(type: EventType): string {
  return SUBJECTS[type.split('.')[0] ?? ''] ?? 'Others';
}

/** Text in backticks, and names of types, operations and fields, and fields with a value: all of it is set as code. */
const NAMES = /(`[^`]+`|\b[a-z]+\.[a-z_]+\b|\b[a-z]+(?:_[a-z]+)+\b|"[a-z_]+": "?[a-z]+"?)/;

/** A text of the catalogue with its names as code and, unless the whole row is a link, as links. */
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
