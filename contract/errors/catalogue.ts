import { type Static, Type } from 'typebox';
import { type RefusalCode, SHARED_CODES, type SharedCode } from '../../domain/error-codes.ts';
import type { ErrorDefinition, SupportAdvice } from '../error.ts';
import {
  type ErrorCode,
  OPERATION_IDS,
  OPERATIONS,
  type OperationId,
  precedenceOf,
  saysIfMoneyMoved,
} from '../operations.ts';
import { ACCESS_ERRORS } from './access.ts';
import { CARD_ERRORS } from './cards.ts';
import { HTTP_ERRORS } from './http.ts';
import { schemaError, unknownError } from './operations.ts';
import { type Problem, RECORDS_NOT_FOUND } from './problems.ts';
import { PROCESSOR_ERRORS } from './processors.ts';
import { ERROR_TYPES, type ErrorRecord, type ErrorType } from './record.ts';
import { REQUEST_ERRORS } from './requests.ts';
import { SIGN_IN_ERRORS } from './sign-in.ts';
import { SUPPORT_ERRORS } from './support.ts';
import { TRANSFER_ERRORS } from './transfers.ts';
import { WEBHOOK_ERRORS } from './webhooks.ts';

const SHARED: Readonly<Record<SharedCode, ErrorDefinition>> = {
  ...HTTP_ERRORS,
  ...ACCESS_ERRORS,
  ...SIGN_IN_ERRORS,
  ...REQUEST_ERRORS,
  ...CARD_ERRORS,
  ...TRANSFER_ERRORS,
  ...PROCESSOR_ERRORS,
  ...WEBHOOK_ERRORS,
  ...SUPPORT_ERRORS,
};

/** Every error code, in the order of the catalogue. */
export const ERROR_CODES: readonly ErrorCode[] = [
  ...SHARED_CODES,
  ...OPERATION_IDS.map((operation) => `${operation}_schema` as const),
  ...OPERATION_IDS.map((operation) => `unknown_${operation}` as const),
];

const KNOWN: ReadonlySet<string> = new Set(ERROR_CODES);

/** Whether `text` is an error code. */
export function isErrorCode(text: string): text is ErrorCode {
  return KNOWN.has(text);
}

/** A code that every operation has: `<operation>_schema` or `unknown_<operation>`. */
export type CodeFamily = { readonly kind: 'schema' | 'unknown'; readonly operation: OperationId };

const FAMILIES: ReadonlyMap<string, CodeFamily> = new Map(
  OPERATION_IDS.flatMap((operation): readonly [string, CodeFamily][] => [
    [`${operation}_schema`, { kind: 'schema', operation }],
    [`unknown_${operation}`, { kind: 'unknown', operation }],
  ]),
);

/** The family of a code, or undefined if operations share it. */
export function familyOf(code: ErrorCode): CodeFamily | undefined {
  return FAMILIES.get(code);
}

function definitionOf(code: ErrorCode): ErrorDefinition {
  const family = familyOf(code);
  if (family === undefined) return SHARED[code as SharedCode];
  return family.kind === 'schema' ? schemaError(family.operation) : unknownError(family.operation);
}

export const ERRORS = Object.freeze(
  Object.fromEntries(ERROR_CODES.map((code) => [code, definitionOf(code)])),
) as Readonly<Record<ErrorCode, ErrorDefinition>>;

/** The error record for a code (specification, section 2.1). */
export function errorRecord(code: RefusalCode, message: string): ErrorRecord {
  if (!isErrorCode(code)) throw new TypeError(`${code} is not an error code.`);
  const { status, type } = ERRORS[code];
  return { Message: message, Status: status, Code: code, Type: type };
}

/** Guidance for one type of error (specification, section 7.1). */
export type TypeGuide = { readonly cause: string; readonly resolution: string; readonly resolvedBy: string };

/** The guidance for each type (specification, section 7.1). */
export const TYPE_GUIDES: Readonly<Record<ErrorType, TypeGuide>> = {
  'Request Error': {
    cause: 'The request is invalid, or a rule refuses it, such as too little money.',
    resolution: 'Correct the problem in the message, then send the request again.',
    resolvedBy: 'The caller',
  },
  'Server Error': {
    cause: 'The service has an internal problem.',
    resolution:
      'Contact support immediately: open a case with the request id. Such an error can affect many customers.',
    resolvedBy: 'Support',
  },
  'Process Error': {
    cause: 'An operator has paused transfers.',
    resolution:
      'Contact support immediately: open a case with the request id. Such an error can take longer to resolve.',
    resolvedBy: 'Support',
  },
};

/** Describes who resolves errors with the code. */
export function resolverOf(code: ErrorCode): string {
  return TYPE_GUIDES[ERRORS[code].type].resolvedBy;
}

/** Whether an operation itself decides on the code, as opposed to HTTP and authentication. */
export function isRule(code: ErrorCode): boolean {
  return OPERATION_IDS.some((id) => OPERATIONS[id].errors.some((own) => own === code));
}

/** The shared codes of a type: rules of operations first, then by status. */
export function sharedCodesOf(type: ErrorType): readonly ErrorCode[] {
  const rank = (code: ErrorCode) => (isRule(code) ? 0 : 1000) + ERRORS[code].status;
  return ERROR_CODES.filter((code) => ERRORS[code].type === type && familyOf(code) === undefined).sort(
    (left, right) => rank(left) - rank(right),
  );
}

/** The codes of a family, one for each operation. */
export function familyCodes(kind: CodeFamily['kind']): readonly ErrorCode[] {
  return ERROR_CODES.filter((code) => familyOf(code)?.kind === kind);
}

/** Every code in reading order: by type, shared codes before families. */
export const CODES_AS_READ: readonly ErrorCode[] = ERROR_TYPES.flatMap((type) => [
  ...sharedCodesOf(type),
  ...ERROR_CODES.filter((code) => ERRORS[code].type === type && familyOf(code) !== undefined),
]);

/** The operations that can return the code. `unknown_request` and the codes of sign-in have none. */
export function operationsWith(code: ErrorCode): readonly OperationId[] {
  return OPERATION_IDS.filter((id) => precedenceOf(id).includes(code));
}

/** Whether responses with the code can have a `Money-Moved` header: an operation with that header can return the code. */
export function reportsMoney(code: ErrorCode): boolean {
  return operationsWith(code).some(saysIfMoneyMoved);
}

/**
 * Whether a refusal is stored under its idempotency key: only a 409, which depends on the state of the ledger. Errors that
 * the caller can correct (400 to 404, 422), a disabled service (424) and internal errors (5xx) may differ on the next
 * attempt.
 */
export function isStored(code: string): code is ErrorCode {
  // `approval_pending` is not stored, because the request can succeed once someone has decided on the pending approval.
  return isErrorCode(code) && ERRORS[code].status === 409 && code !== 'approval_pending';
}

/** Whether a response with the code can be a replay of the first response to an idempotency key. */
export function isReplayed(code: ErrorCode): boolean {
  return isStored(code) && operationsWith(code).some((id) => OPERATIONS[id].idempotency !== 'none');
}

/** One code as `/errors.json` and `/errors/{code}.json` return it. */
export const CatalogueRecord = Type.Object({
  code: Type.String({ description: 'The code. It is never renamed and never reused' }),
  status: Type.Integer({ description: 'HTTP status of every response with the code' }),
  type: Type.Unsafe<ErrorType>({ type: 'string', enum: [...ERROR_TYPES], description: 'Type of the error' }),
  meaning: Type.String({ description: 'What the code means' }),
  causes: Type.Array(Type.String(), { description: 'What can cause it' }),
  resolution: Type.String({ description: 'What to do' }),
  support: Type.Object(
    {
      tell: Type.String({ description: 'What support may tell the customer' }),
      next: Type.String({ description: 'What support does next' }),
    },
    { description: 'Advice for support' },
  ),
  resolver: Type.Unsafe<ErrorDefinition['resolver']>({
    type: 'string',
    enum: ['caller', 'support'],
    description: 'Who can resolve it',
  }),
  money_moved: Type.Unsafe<ErrorDefinition['moneyMoved']>({
    type: 'string',
    enum: ['no', 'no or unknown'],
    description: 'Possible values of Money-Moved on an operation that moves money',
  }),
  retry: Type.Boolean({ description: 'Whether the same request can succeed when it is sent again unchanged' }),
  since: Type.String({ description: 'Version of the API that introduced the code' }),
  reproduce: Type.String({ description: 'How to reproduce it in the sandbox' }),
  operations: Type.Array(Type.String(), { description: 'The operations that can return it' }),
  family: Type.Optional(
    Type.Object(
      {
        pattern: Type.String({ description: 'The form of the codes, such as `<operation>_schema`' }),
        codes: Type.Array(Type.String(), { description: 'The codes that were found, best match first' }),
      },
      {
        description:
          'In a search, the codes of the same family that were found, one for each operation. They have no separate entries',
      },
    ),
  ),
});

export type CatalogueRecord = Static<typeof CatalogueRecord>;

export const FAMILY_PATTERNS: Readonly<Record<CodeFamily['kind'], string>> = {
  schema: '<operation>_schema',
  unknown: 'unknown_<operation>',
};

/** The definition of a code as the catalogue returns it. */
export function catalogueRecord(code: ErrorCode): CatalogueRecord {
  const { status, type, meaning, causes, resolution, resolver, moneyMoved, retryable, since, sample } = ERRORS[code];
  return {
    code,
    status,
    type,
    meaning,
    causes: [...causes],
    resolution,
    support: supportAdvice(ERRORS[code]),
    resolver,
    money_moved: moneyMoved,
    retry: retryable,
    since,
    reproduce: sample.reproduce,
    operations: [...operationsWith(code)],
  };
}

/**
 * The advice for support about an error. Most errors that the caller can resolve are mistakes of the calling software, so the
 * customer's developers need the meaning and the resolution. All other definitions have their own advice.
 */
export function supportAdvice({ support, meaning, resolution, status, problem }: ErrorDefinition): SupportAdvice {
  const tell = support?.tell ?? `${meaning} ${resolution}`;
  return { tell, next: support?.next ?? (status === 404 && isOfMissingRecord(problem) ? SEARCH : CORRECT) };
}

const isOfMissingRecord = (problem: Problem): boolean => RECORDS_NOT_FOUND.some((one) => one === problem);

const SEARCH =
  'Search for the id in the request: it may be misspelled, or belong to a different card program. Ask the customer which ' +
  'record they mean.';

const CORRECT = "Ask the customer's developers to correct the request. There is nothing to change on our side.";
