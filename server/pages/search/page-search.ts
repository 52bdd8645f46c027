import { setImmediate as nextTurn } from 'node:timers/promises';
import { ERRORS, FAMILY_PATTERNS } from '../../../contract/errors/catalogue.ts';
import { EVENT_CATALOGUE } from '../../../contract/events/catalogue.ts';
import { type Field, fieldsOf } from '../../../contract/openapi/fields.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId, SECTIONS } from '../../../contract/operations.ts';
import { type ErrorHit, errorEntries, errorSearch, FAMILY_MEANINGS } from '../../../contract/search/error-search.ts';
import {
  type EntryKind,
  type EntryText,
  type Found,
  nearest,
  type SearchEntry,
  SearchIndex,
} from '../../../contract/search/search-index.ts';
import { EVENT_TYPES } from '../../../domain/event.ts';
import { GUIDES, type Guide, RUNBOOK_GUIDES } from '../guides/guide-list.ts';
import { sectionsOf } from '../guides/guide-text.ts';
import { type FieldList, fieldAnchor } from '../page-layout.ts';

export type PageSearch = {
  readonly errors: (query: string) => readonly ErrorHit[];
  /** Returns all entries except errors, best first. In live mode, entries about the sandbox are omitted. */
  readonly others: (query: string, mode: 'sandbox' | 'live') => readonly Found[];
};

let made: Promise<PageSearch> | undefined;

/** Returns the search over everything. Its index is built for the first search, because many services are never searched. */
export function pageSearch(): Promise<PageSearch> {
  if (made === undefined) {
    made = make();
    // If this fails, the next search tries again.
    made.catch(() => {
      made = undefined;
    });
  }
  return made;
}

async function make(): Promise<PageSearch> {
  const errors = errorEntries();
  const index = await SearchIndex.inTurns([...errors, ...(await pageEntries())]);
  const entryOf = new Map<object, (typeof errors)[number]>(errors.map((entry) => [entry, entry]));
  const find = (text: string) =>
    index
      .find(text, ({ kind }) => kind === 'error')
      .flatMap((found) => {
        const entry = entryOf.get(found.entry);
        return entry === undefined ? [] : [{ ...found, entry }];
      });
  return {
    errors: errorSearch(errors, find),
    others: (query, mode) =>
      index.find(query, ({ kind, isOfSandbox }) => kind !== 'error' && (mode === 'sandbox' || isOfSandbox !== true)),
  };
}

/** Returns the results of one kind whose scores are close to the best score of that kind. */
export function nearestOf(found: readonly Found[], kind: EntryKind): readonly Found[] {
  return nearest(found.filter(({ entry }) => entry.kind === kind));
}

/**
 * Returns entries for everything on the pages except error codes. Before it reads the file of each guide, it lets other work run.
 */
async function pageEntries(): Promise<readonly SearchEntry[]> {
  const entries: SearchEntry[] = [...OPERATION_IDS.map(operationEntry), ...EVENT_TYPES.map(eventEntry)];
  await nextTurn();
  entries.push(...fieldEntries());
  for (const guide of [...GUIDES, ...RUNBOOK_GUIDES]) {
    await nextTurn();
    entries.push(...guideEntries(guide));
  }
  return entries;
}

function guideEntries(guide: Guide): readonly SearchEntry[] {
  return sectionsOf(guide).map(({ section, id, text, lead }) => {
    const name = section === undefined ? guide.name : `${guide.name}: ${section}`;
    return {
      kind: 'guide',
      name,
      path: `/guides/${guide.slug}${id === undefined ? '' : `#${id}`}`,
      summary: summaryOf(lead === '' ? guide.about : lead, text),
      texts: [
        { text: section ?? guide.name, weight: 0.9 },
        ...(section === undefined ? [{ text: guide.about, weight: 0.8 }] : [{ text: name, weight: 0.7 }]),
        { text, weight: 0.5, isLong: true },
      ],
    };
  });
}

const MAX_SUMMARY_CHARACTERS = 180;

/** Returns the first sentence of a section. A sentence that introduces a list includes the beginning of the list. */
function summaryOf(lead: string, text: string): string {
  const at = text.indexOf(lead);
  const isOpen = lead.endsWith(':') && at !== -1 && text.length > at + lead.length;
  return firstSentence(isOpen ? text.slice(at) : lead).replace(/:$/, '.');
}

function firstSentence(text: string): string {
  const [sentence = text] = /^.{20,}?[.?](?=\s|$)/.exec(text) ?? [];
  if (sentence.length <= MAX_SUMMARY_CHARACTERS) return sentence;
  return `${sentence.slice(0, MAX_SUMMARY_CHARACTERS).replace(/\s+\S*$/, '')} …`;
}

function operationEntry(id: OperationId): SearchEntry {
  const { method, path, summary, scope, reach } = OPERATIONS[id];
  const section = SECTIONS.find(({ operations }) => operations.includes(id))?.title ?? '';
  return {
    kind: 'operation',
    name: id,
    path: `/docs/${id}`,
    summary,
    isOfSandbox: reach === 'sandbox',
    texts: [
      { text: id, weight: 1 },
      { text: summary, weight: 1 },
      ...(ALSO_CALLED[id] ?? []).map((text) => ({ text, weight: 1 })),
      { text: `${method} ${path}`, weight: 0.8 },
      { text: `${section} ${scope ?? ''}`, weight: 0.5 },
    ],
  };
}

/** Other names for operations, for words that their descriptions do not contain. */
const ALSO_CALLED: Readonly<Partial<Record<OperationId, readonly string[]>>> = {
  create_transfer: [
    'load a card',
    'unload a card',
    'top up',
    'pay',
    'payment',
    'charge',
    'card to card',
    'authorize',
    'hold money',
  ],
  explain_transfer: ['dry run', 'simulate', 'why declined', 'would it succeed', 'check first'],
  create_transfer_batch: ['bulk', 'many transfers', 'payroll'],
  capture_transfer: ['partial capture', 'settle', 'complete a hold'],
  cancel_transfer: ['void', 'release a hold', 'stop a scheduled transfer'],
  reverse_transfer: ['refund', 'partial refund', 'give money back', 'undo a transfer', 'chargeback'],
  get_transfer_timeline: ['where is my money', 'history of a transfer'],
  list_likely_duplicates: ['charged twice', 'double charge', 'paid twice'],
  update_card: [
    'freeze a card',
    'block a card',
    'unfreeze a card',
    'close a card',
    'activate a card',
    'suspend a card',
    'set limits',
  ],
  erase_card_holder: ['gdpr', 'delete personal data', 'right to be forgotten'],
  get_card: ['balance of a card'],
  list_postings: ['statement', 'account history'],
  roll_key: ['rotate a key', 'replace a key', 'leaked key'],
  revoke_key: ['delete a key', 'disable a key'],
  create_session: ['sign in', 'log in'],
  delete_session: ['sign out', 'log out'],
  change_switch: [
    'stop loads',
    'stop transfers',
    'kill switch',
    'pause',
    'maintenance',
    'disable transfers',
    'emergency stop',
  ],
  create_deposit: ['add funds', 'fund a card program', 'top up a card program'],
  create_withdrawal: ['take funds out', 'withdraw funds'],
  list_audit_entries: ['who did it', 'who changed it'],
  move_clock: ['time travel', 'fast forward'],
};

type Place = { readonly id: OperationId; readonly field: Field; readonly anchor: string };

/** Returns the fields of requests and responses. There is one entry for each name, because operations share most names. */
function fieldEntries(): readonly SearchEntry[] {
  const places = OPERATION_IDS.flatMap((id): readonly Place[] => {
    const { body, query, reply } = OPERATIONS[id];
    return [
      ...(query === undefined ? [] : placesOf(id, fieldsOf(query), 'query')),
      ...(body === undefined ? [] : placesOf(id, fieldsOf(body), 'body')),
      ...placesOf(id, fieldsOf(reply), 'response'),
    ];
  });
  return [...Map.groupBy(places, ({ field }) => field.name)].flatMap(([name, all]) => {
    const [first] = all;
    if (first === undefined) return [];
    const ids = [...new Set(all.map(({ id }) => id))];
    const others = ids.length === 1 ? '' : `, and ${ids.length - 1} more`;
    const described = new Set(all.map(({ field }) => field.description));
    return {
      kind: 'field',
      name,
      path: `/docs/${first.id}#${first.anchor}`,
      summary: `${plain(first.field.description)}. In ${first.id}${others}.`,
      isOfSandbox: ids.every((id) => OPERATIONS[id].reach === 'sandbox'),
      texts: [{ text: name, weight: 1 }, ...[...described].map((text): EntryText => ({ text, weight: 0.5 }))],
    };
  });
}

function placesOf(id: OperationId, fields: readonly Field[], list: FieldList, above = ''): readonly Place[] {
  return fields.flatMap((field) => {
    const path = `${above}${field.name}`;
    return [{ id, field, anchor: fieldAnchor(list, path) }, ...placesOf(id, field.inner, list, `${path}.`)];
  });
}

function plain(text: string): string {
  return text.replaceAll('`', '').replace(/\.$/, '');
}

function eventEntry(type: (typeof EVENT_TYPES)[number]): SearchEntry {
  const { summary, sent, notes, data, sample, operation = '' } = EVENT_CATALOGUE[type];
  return {
    kind: 'event',
    name: type,
    path: `/events/${type}`,
    summary: plain(summary),
    texts: [
      // The name says what happened, such as `failing` or `expired`, so it counts most.
      { text: type, weight: 1.5 },
      { text: summary, weight: 1 },
      ...sent.map((text) => ({ text, weight: 0.3 })),
      ...(operation === '' ? [] : [{ text: operation, weight: 0.7 }]),
      ...notes.map((text) => ({ text, weight: 0.3 })),
      { text: sample.reproduce, weight: 0.6 },
      { text: Object.keys(data.properties).join(' '), weight: 0.3 },
    ],
  };
}

/** A result of `/search.json`. */
type SearchRecord = {
  readonly kind: EntryKind;
  readonly name: string;
  /** The page that explains it, with the anchor of the section. */
  readonly path: string;
  readonly summary: string;
};

type Scored = { readonly record: SearchRecord; readonly score: number };

/** Maximum results of each kind. */
const MAX_OF_KIND = 5;

/** Returns what the search page finds, as data: the kinds with the best results first. */
export async function searchData(
  query: string,
  mode: 'sandbox' | 'live',
): Promise<{ readonly data: readonly SearchRecord[] }> {
  if (query.trim() === '') return { data: [] };
  const search = await pageSearch();
  const others = search.others(query, mode);
  const groups = [
    search.errors(query).map(errorResult),
    ...(['operation', 'field', 'event', 'guide'] as const).map((kind) => nearestOf(others, kind).map(result)),
  ];
  const best = ([first]: readonly Scored[]): number => first?.score ?? 0;
  const sorted = groups.toSorted((left, right) => best(right) - best(left));
  return { data: sorted.flatMap((group) => group.slice(0, MAX_OF_KIND).map(({ record }) => record)) };
}

function result({ entry: { kind, name, path, summary }, score }: Found): Scored {
  return { record: { kind, name, path, summary }, score };
}

function errorResult({ code, cause, family, score }: ErrorHit): Scored {
  const about = family === undefined ? ERRORS[code].meaning : FAMILY_MEANINGS[family.kind];
  const record = {
    kind: 'error',
    name: family === undefined ? code : FAMILY_PATTERNS[family.kind],
    path: `/errors/${code}`,
    summary: cause === undefined ? about : `${about} ${cause}`,
  } as const;
  return { record, score };
}
