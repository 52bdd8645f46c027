import { type Static, Type } from 'typebox';
import { type CatalogueEntry, ERROR_TYPES, type ErrorType } from '../domain/catalogue-entry.ts';
import { CATALOGUE, type ErrorCode, isErrorCode } from '../domain/errors.ts';
import { movesMoney, OPERATION_IDS, OPERATIONS, type OperationId, precedenceOf } from './operations.ts';

/** What one type of error stands for (specification, section 7.1). */
export type TypeGuide = {
  readonly cause: string;
  readonly resolution: string;
  readonly resolvedBy: string;
};

/** The guide of each type (specification, section 7.1). */
export const TYPE_GUIDES: Readonly<Record<ErrorType, TypeGuide>> = {
  'Request Error': {
    cause: 'The request is faulty.',
    resolution: 'Correct what the message describes, then send the request again.',
    resolvedBy: 'Whoever sent the request',
  },
  'Server Error': {
    cause: 'Something is wrong inside the service.',
    resolution: 'Contact support at once and quote the request id: an error of this type can affect many customers.',
    resolvedBy: 'Support',
  },
  'Process Error': {
    cause: 'A process behind the service did not run.',
    resolution: 'Contact support at once and quote the request id: an error of this type can take longer to resolve.',
    resolvedBy: 'Support',
  },
};

/** Who resolves errors with the code, in words. */
export function resolverOf(code: ErrorCode): string {
  return CATALOGUE[code].resolver === 'caller' ? 'Whoever sent the request' : 'Support';
}

/** A code that every operation has its own of: `<operation>_schema` or `unknown_<operation>`. */
export type CodeFamily = { readonly kind: 'schema' | 'unknown'; readonly operation: OperationId };

const FAMILIES: ReadonlyMap<string, CodeFamily> = new Map(
  OPERATION_IDS.flatMap((operation): readonly [string, CodeFamily][] => [
    [`${operation}_schema`, { kind: 'schema', operation }],
    [`unknown_${operation}`, { kind: 'unknown', operation }],
  ]),
);

/** The family of a code, or undefined for one that is shared. */
export function familyOf(code: ErrorCode): CodeFamily | undefined {
  return FAMILIES.get(code);
}

/** Every code, in the catalogue's own order. */
export const ERROR_CODES: readonly ErrorCode[] = Object.keys(CATALOGUE).filter(isErrorCode);

/** Whether a code is one of what operations themselves decide, and not about the HTTP request and its credentials. */
export function isRule(code: ErrorCode): boolean {
  return OPERATION_IDS.some((id) => OPERATIONS[id].errors.some((own) => own === code));
}

/** The codes of a type that no operation owns: those of rules first, then by status. */
export function sharedCodesOf(type: ErrorType): readonly ErrorCode[] {
  const place = (code: ErrorCode) => (isRule(code) ? 0 : 1000) + CATALOGUE[code].status;
  return ERROR_CODES.filter((code) => CATALOGUE[code].type === type && familyOf(code) === undefined).sort(
    (left, right) => place(left) - place(right),
  );
}

/** The codes of a family, one for each operation. */
export function familyCodes(kind: CodeFamily['kind']): readonly ErrorCode[] {
  return ERROR_CODES.filter((code) => familyOf(code)?.kind === kind);
}

/** Every code in the order in which the catalogue is read: type by type, what is shared before the families. */
export const CODES_AS_READ: readonly ErrorCode[] = ERROR_TYPES.flatMap((type) => [
  ...sharedCodesOf(type),
  ...ERROR_CODES.filter((code) => CATALOGUE[code].type === type && familyOf(code) !== undefined),
]);

/** The operations that can answer with the code; none for a code of paths that are no operation's. */
export function operationsWith(code: ErrorCode): readonly OperationId[] {
  return OPERATION_IDS.filter((id) => precedenceOf(id).includes(code));
}

/** One header of an error answer. */
export type ErrorHeader = {
  readonly name: string;
  readonly value: string;
  readonly says: string;
  /** Whether an answer with the code has it only now and then, so that an example leaves it out. */
  readonly sometimes?: true;
};

/** Whether an answer with the code carries Money-Moved: whether an operation that moves money answers with it. */
export function tellsAboutMoney(code: ErrorCode): boolean {
  return operationsWith(code).some(movesMoney);
}

/** Which refusals are kept under an idempotency key: those that say how the books stood. */
export function isReplayed(code: ErrorCode): boolean {
  return CATALOGUE[code].status === 409 && operationsWith(code).some((id) => OPERATIONS[id].idempotency !== 'none');
}

/** What an example of a code's answer is made with. */
export type HeaderExample = {
  readonly requestId: string;
  /** JSON pointer of the member at fault; undefined when the example is about none. */
  readonly field: string | undefined;
};

/** The headers that come with a code beside those of HTTP itself. */
export function headersOf(code: ErrorCode, example: HeaderExample): readonly ErrorHeader[] {
  const { retry } = CATALOGUE[code];
  const again = retry ? 'The same request, sent again unchanged, can succeed.' : 'The same request would fail again.';
  return [
    {
      name: 'Request-Id',
      value: example.requestId,
      says: 'Names this one answer. Support finds everything about it by this id.',
    },
    { name: 'Error-Code', value: code, says: 'The code again, for HEAD requests and for logs that keep no bodies.' },
    { name: 'Link', value: `</errors/${code}>; rel="describedby"`, says: 'Where the code is explained.' },
    { name: 'Should-Retry', value: String(retry), says: again },
    ...moneyHeaders(code),
    ...replayHeaders(code),
    ...causeHeaders(code, example.field),
  ];
}

function moneyHeaders(code: ErrorCode): readonly ErrorHeader[] {
  if (!tellsAboutMoney(code)) return [];
  const says = 'On operations that move money: whether this request moved any.';
  if (CATALOGUE[code].moneyMoved === 'no') {
    return [{ name: 'Money-Moved', value: 'no', says }];
  }
  return [
    { name: 'Money-Moved', value: 'no', says: `${says} “unknown”: the outcome could not be confirmed.` },
    {
      name: 'Transfer-Id',
      value: 'tr_…',
      says: 'Where the outcome is in doubt: the transfer to look up.',
      sometimes: true,
    },
  ];
}

function replayHeaders(code: ErrorCode): readonly ErrorHeader[] {
  const says = 'This is the first answer to the Idempotency-Key, given again.';
  return isReplayed(code) ? [{ name: 'Idempotent-Replayed', value: 'true', says, sometimes: true }] : [];
}

function causeHeaders(code: ErrorCode, field: string | undefined): readonly ErrorHeader[] {
  const byCode: Partial<Record<ErrorCode, ErrorHeader>> = {
    rate_limited: { name: 'Retry-After', value: '1', says: 'Seconds until the next request is taken.' },
    service_unavailable: { name: 'Retry-After', value: '1', says: 'Seconds to wait before the next try.' },
    service_disabled: {
      name: 'Retry-After',
      value: '3600',
      says: 'Seconds until it ends by itself, where that is known.',
      sometimes: true,
    },
    method_not_allowed: { name: 'Allow', value: 'GET, HEAD, POST', says: 'The methods that this path has.' },
    unsupported_media_type: { name: 'Accept', value: 'application/json', says: 'The media type that is taken.' },
    unauthenticated: { name: 'WWW-Authenticate', value: 'Bearer realm="transfer-service"', says: 'How to send a key.' },
  };
  const own = byCode[code];
  const says = 'JSON pointer to the member of the request that is at fault.';
  return [
    ...(own === undefined ? [] : [own]),
    ...(field === undefined ? [] : [{ name: 'Error-Field', value: field, says }]),
  ];
}

/** One code as `/errors.json` and `/errors/{code}.json` show it. */
export const CatalogueRecord = Type.Object({
  code: Type.String({ description: 'The code; never renamed, never used for something else' }),
  status: Type.Integer({ description: 'HTTP status of every answer with the code' }),
  type: Type.Unsafe<ErrorType>({ type: 'string', enum: [...ERROR_TYPES], description: 'Group of the error' }),
  meaning: Type.String({ description: 'What the code stands for' }),
  causes: Type.Array(Type.String(), { description: 'What brings it about' }),
  resolution: Type.String({ description: 'What to do' }),
  resolver: Type.Unsafe<CatalogueEntry['resolver']>({
    type: 'string',
    enum: ['caller', 'support'],
    description: 'Who can do it',
  }),
  money_moved: Type.Unsafe<CatalogueEntry['moneyMoved']>({
    type: 'string',
    enum: ['no', 'no or unknown'],
    description: 'What Money-Moved says on an operation that moves money',
  }),
  retry: Type.Boolean({ description: 'Whether the same request, sent again unchanged, can succeed' }),
  since: Type.String({ description: 'Version of the interface that first had the code' }),
  reproduce: Type.String({ description: 'How to see it in the sandbox' }),
  operations: Type.Array(Type.String(), { description: 'The operations that can answer with it' }),
});

/** One code on the wire. */
export type CatalogueRecord = Static<typeof CatalogueRecord>;

/** What the catalogue says of a code, as the wire has it. */
export function catalogueRecord(code: ErrorCode): CatalogueRecord {
  const { moneyMoved, status, type, meaning, causes, resolution, resolver, retry, since, reproduce } = CATALOGUE[code];
  return {
    code,
    status,
    type,
    meaning,
    causes: [...causes],
    resolution,
    resolver,
    money_moved: moneyMoved,
    retry,
    since,
    reproduce,
    operations: [...operationsWith(code)],
  };
}
