import { type ErrorCode, OPERATION_IDS } from '../../operations.ts';
import { ERROR_CODES, ERRORS, familyOf, operationsWith } from '../catalogue.ts';
import { KNOWN_MESSAGES } from './known-messages.ts';
import { stemOf, stemsIn } from './search-words.ts';

/** A name, a message, a meaning or a cause of a code: what one thing is called. */
export type Phrase = {
  /** Of the codes of a family there are many, which share what the family is called. */
  readonly codes: readonly ErrorCode[];
  /** How much it says about the code that the words are those of this phrase. */
  readonly weight: number;
  readonly stems: ReadonlySet<string>;
  /** What its words say together. */
  readonly total: number;
  /** A message without what differs from one response to the next. */
  readonly template?: string;
};

/** What differs between messages of one form: quoted values, ids, times, numbers, and the request to contact support. */
export function templateOf(message: string): string {
  return withoutValues(message)
    .replaceAll(/\b[A-Z]{3}\b/g, ' ')
    .replaceAll(/[^\p{L}]+/gu, ' ')
    .trim()
    .toLowerCase();
}

/** The request to contact support, which says nothing about the error. */
const SUPPORT = /Please contact support(?: \([^)]{0,300}\))?(?: and quote the request id(?: [a-z]{3}_[0-9a-f]{32})?)?/g;

/** The reason after a status says nothing that the status does not, and `Conflict` is a word of one of its codes. */
const REASON = /\b([45][0-9]{2}) (?:Conflict|Failed Dependency|Not Found|Unprocessable (?:Content|Entity))\b/g;

/** A text without the values in it. Codes and words that callers choose, such as ids of cards, say nothing about the error. */
export function withoutValues(text: string): string {
  return text
    .replaceAll(SUPPORT, ' ')
    .replaceAll(REASON, '$1')
    .replaceAll(/(?<![\p{L}\p{N}])'[^']{0,300}'(?![\p{L}\p{N}])/gu, ' ')
    .replaceAll(/\b[a-z]{2,5}_[0-9a-f]{32}\b/g, ' ')
    .replaceAll(/\b[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.]+Z)?\b/g, ' ')
    .replaceAll(/\b[0-9][0-9.,]*(?: [A-Z]{3}\b)?/g, (number) => (/^[1-5][0-9]{2}$/.test(number) ? number : ' '));
}

const WEIGHTS = { called: 1, message: 1, meaning: 0.9, cause: 0.7, remedy: 0.35 } as const;

type Draft = Omit<Phrase, 'total'>;

function phrasesOf(code: ErrorCode): readonly Draft[] {
  const { status, type, meaning, causes, resolution, sample } = ERRORS[code];
  const phrase = (text: string, weight: number): Draft => ({ codes: [code], weight, stems: new Set(stemsIn(text)) });
  return [
    { codes: [code], weight: WEIGHTS.called, stems: new Set(code.split('_').map(stemOf)) },
    phrase(String(status), WEIGHTS.called),
    { ...phrase(withoutValues(sample.message), WEIGHTS.message), template: templateOf(sample.message) },
    { ...phrase(meaning, WEIGHTS.meaning), template: templateOf(meaning) },
    ...causes.map((cause) => phrase(cause, WEIGHTS.cause)),
    phrase(`${type} ${resolution} ${sample.reproduce}`, WEIGHTS.remedy),
  ];
}

/** What people call it, and further messages: once for a code, and once for all codes of a family. */
function namesOf(codes: readonly ErrorCode[]): readonly Draft[] {
  const [first] = codes;
  if (first === undefined) return [];
  const { alsoCalled } = ERRORS[first];
  const draft = (text: string): Draft => ({
    codes,
    weight: WEIGHTS.called,
    stems: new Set(stemsIn(withoutValues(text))),
  });
  return [
    ...(alsoCalled === '' ? [] : alsoCalled.split(', ').map(draft)),
    ...(KNOWN_MESSAGES[familyOf(first)?.kind ?? first] ?? []).map((message) => ({
      ...draft(message),
      template: templateOf(message),
    })),
  ];
}

/** What a search looks in. */
export type SearchIndex = {
  /** How much a word says: one that few entries have says more. */
  readonly weightOf: ReadonlyMap<string, number>;
  /** Everything by which codes are found. */
  readonly phrases: readonly Phrase[];
  /** The phrases that contain a word. */
  readonly phrasesWith: ReadonlyMap<string, readonly Phrase[]>;
  /** By code, or family of codes: how many operations have it. */
  readonly reachOf: ReadonlyMap<string, number>;
};

let made: SearchIndex | undefined;

/** The index of all codes, made at the first search: it takes a tenth of a start, and many a service is never searched. */
export function searchIndex(): SearchIndex {
  made ??= makeIndex();
  return made;
}

function makeIndex(): SearchIndex {
  const drafts: readonly Draft[] = [
    ...ERROR_CODES.flatMap(phrasesOf),
    ...[...Map.groupBy(ERROR_CODES, groupOf).values()].flatMap(namesOf),
  ];
  const weightOf = weighStems(drafts);
  const phrases = drafts.map((draft) => ({
    ...draft,
    total: [...draft.stems].reduce((sum, stem) => sum + (weightOf.get(stem) ?? 0), 0),
  }));
  const phrasesWith = new Map<string, Phrase[]>();
  for (const phrase of phrases)
    for (const stem of phrase.stems) {
      const having = phrasesWith.get(stem);
      if (having === undefined) phrasesWith.set(stem, [phrase]);
      else having.push(phrase);
    }
  const reach = (code: ErrorCode): number =>
    familyOf(code) === undefined ? operationsWith(code).length : OPERATION_IDS.length + 1;
  const reachOf = new Map(ERROR_CODES.map((code) => [groupOf(code), reach(code)]));
  return { weightOf, phrases, phrasesWith, reachOf };
}

/** The family of a code, or the code itself: what is one entry of a result. */
export function groupOf(code: ErrorCode): string {
  return familyOf(code)?.kind ?? code;
}

function weighStems(drafts: readonly Draft[]): ReadonlyMap<string, number> {
  const groups = new Map<string, Set<string>>();
  for (const { codes, stems } of drafts) {
    for (const stem of stems) {
      const having = groups.get(stem) ?? new Set();
      for (const code of codes) having.add(groupOf(code));
      groups.set(stem, having);
    }
  }
  const all = new Set(ERROR_CODES.map(groupOf)).size;
  return new Map([...groups].map(([stem, having]) => [stem, Math.log(1 + all / having.size)]));
}
