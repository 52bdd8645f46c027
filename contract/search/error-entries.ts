import {
  type CodeFamily,
  ERROR_CODES,
  ERRORS,
  FAMILY_PATTERNS,
  familyCodes,
  familyOf,
  operationsWith,
} from '../errors/catalogue.ts';
import { type ErrorCode, OPERATION_IDS } from '../operations.ts';
import { KNOWN_MESSAGES } from './known-messages.ts';
import type { EntryText, SearchEntry } from './search-index.ts';
import { templateOf, withoutValues } from './words.ts';

/** An error code, or a family of codes, which differ only in the operation. */
export type ErrorEntry = SearchEntry & {
  readonly kind: 'error';
  /** The code; for a family all of them, in the order of the catalogue. */
  readonly codes: readonly ErrorCode[];
  readonly family: CodeFamily['kind'] | undefined;
  /** The messages without their values, and the code of each. */
  readonly templates: readonly { readonly template: string; readonly code: ErrorCode | undefined }[];
};

const WEIGHTS = { called: 1, message: 1, meaning: 0.9, cause: 0.7, remedy: 0.35 } as const;

/** What each family is, in a sentence. */
export const FAMILY_MEANINGS: Readonly<Record<CodeFamily['kind'], string>> = {
  schema: 'The request does not have the fields that the operation requires: the message says what is wrong with it.',
  unknown: 'The operation failed because of an internal error.',
};

/**
 * The entries of all error codes, with the codes of many operations before those of few. This decides between equal
 * scores.
 */
export function errorEntries(): readonly ErrorEntry[] {
  const shared = ERROR_CODES.filter((code) => familyOf(code) === undefined).map((code) => entryOf([code]));
  const families = (['schema', 'unknown'] as const).map((kind) => entryOf(familyCodes(kind), kind));
  return [...shared, ...families].toSorted((left, right) => reachOf(right) - reachOf(left));
}

function reachOf({ codes: [code], family }: ErrorEntry): number {
  if (family !== undefined) return OPERATION_IDS.length + 1;
  return code === undefined ? 0 : operationsWith(code).length;
}

function entryOf(codes: readonly ErrorCode[], family?: CodeFamily['kind']): ErrorEntry {
  const [first = 'unknown_request'] = codes;
  const { meaning, alsoCalled } = ERRORS[first];
  const further = KNOWN_MESSAGES[family ?? first] ?? [];
  const called = (alsoCalled === '' ? [] : alsoCalled.split(', ')).map((text) => ({ text, weight: WEIGHTS.called }));
  const messages = further.map((text) => ({ text: withoutValues(text), weight: WEIGHTS.message }));
  return {
    kind: 'error',
    name: family === undefined ? first : FAMILY_PATTERNS[family],
    path: family === undefined ? `/errors/${first}` : `/errors#family-${family}`,
    summary: family === undefined ? meaning : FAMILY_MEANINGS[family],
    codes,
    family,
    texts: [...called, ...messages, ...textsOf(first)],
    templates: [
      ...further.map((message) => ({ template: templateOf(message), code: undefined })),
      ...codes.flatMap((code) =>
        [ERRORS[code].sample.message, ERRORS[code].meaning].map((text) => ({ template: templateOf(text), code })),
      ),
    ],
  };
}

function textsOf(code: ErrorCode): readonly EntryText[] {
  const { status, type, meaning, causes, resolution, sample } = ERRORS[code];
  return [
    { text: code, weight: WEIGHTS.called },
    { text: String(status), weight: WEIGHTS.called },
    { text: withoutValues(sample.message), weight: WEIGHTS.message },
    { text: meaning, weight: WEIGHTS.meaning },
    ...causes.map((text) => ({ text, weight: WEIGHTS.cause, isShown: true })),
    { text: `${type} ${resolution} ${sample.reproduce}`, weight: WEIGHTS.remedy },
  ];
}
