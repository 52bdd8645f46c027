import { ERRORS, familyOf } from '../errors/catalogue.ts';
import { exampleRecord } from '../errors/examples.ts';
import {
  type ErrorCode,
  OPERATION_IDS,
  OPERATIONS,
  type OperationId,
  precedenceOf,
  saysIfMoneyMoved,
} from '../operations.ts';
import { errorHeadersOf } from './headers.ts';
import { type JsonObject, reference } from './shared-schemas.ts';

/** The support contact in examples; each service has its own setting. */
const CONTACT = 'support@example.com';

/** The codes of one status that some operations can return. Equal sets are one component of the document. */
type CodeSet = {
  readonly name: string;
  readonly codes: readonly ErrorCode[];
  readonly operations: readonly OperationId[];
};

/** The codes that each operation has under its own name, described once for all operations. */
const FAMILIES = {
  schema: {
    name: 'operation_schema',
    form: '{operation}_schema',
    pattern: '^[a-z_]+_schema$',
    meaning: "the request does not match the operation's schema.",
  },
  unknown: {
    name: 'unknown_operation',
    form: 'unknown_{operation}',
    pattern: '^unknown_[a-z_]+$',
    meaning: 'the operation failed because of an internal error.',
  },
} as const;

function familyIn(code: ErrorCode): (typeof FAMILIES)[keyof typeof FAMILIES] | undefined {
  const kind = familyOf(code)?.kind;
  return kind === undefined ? undefined : FAMILIES[kind];
}

/**
 * A code in the text of an operation. The codes that contain the name of the operation have one form everywhere, because the
 * compressed document is then 1.5 % smaller.
 */
export const writtenCode = (code: ErrorCode): string => `\`${familyIn(code)?.form ?? code}\``;

/**
 * Statuses of requests that do not conform to the document: a wrong method, media type or Expect header, or a size or duration
 * over the limits. They mean the same everywhere, so each operation has them in one range, which lists the statuses and their
 * codes.
 */
const RANGED: ReadonlySet<number> = new Set([405, 408, 413, 414, 415, 417, 431]);
const RANGE = '4XX';

const isRanged = (code: ErrorCode): boolean => RANGED.has(ERRORS[code].status);

const nameOf = (code: ErrorCode): string => familyIn(code)?.name ?? code;

/** The name of a set of codes, in parts. For a range, it leaves out the codes that every operation has. */
function nameParts(codes: readonly ErrorCode[]): readonly string[] {
  if (codes.length === 1 || !codes.every(isRanged)) return codes.map(nameOf);
  const isEverywhere = (code: ErrorCode) => OPERATION_IDS.every((id) => precedenceOf(id).includes(code));
  return ['refused_request', ...codes.filter((code) => !isEverywhere(code))];
}

/** Operations that move money, and dry runs, have separate sets, because their responses have `Money-Moved`. */
function setName(id: OperationId, codes: readonly ErrorCode[]): string {
  return [...nameParts(codes), ...(saysIfMoneyMoved(id) ? ['moves_money'] : [])].join('.');
}

const CODE_SETS: readonly CodeSet[] = codeSets();

function codeSets(): readonly CodeSet[] {
  const sets = new Map<string, CodeSet>();
  for (const id of OPERATION_IDS) {
    for (const codes of byStatus(precedenceOf(id)).values()) {
      const name = setName(id, codes);
      const operations = [...(sets.get(name)?.operations ?? []), id];
      sets.set(name, { name, codes: sets.get(name)?.codes ?? codes, operations });
    }
  }
  return [...sets.values()];
}

/** Codes by their status, or by the range that has it. */
function byStatus(codes: readonly ErrorCode[]): ReadonlyMap<string, readonly ErrorCode[]> {
  const found = new Map<string, ErrorCode[]>();
  for (const code of codes) {
    const status = isRanged(code) ? RANGE : String(ERRORS[code].status);
    found.set(status, [...(found.get(status) ?? []), code]);
  }
  return found;
}

/** Whether enough operations have a response, so that a component with it makes the compressed document smaller. */
const isShared = ({ operations }: CodeSet): boolean => operations.length > 2;

/** The error responses of an operation by status, with references to responses that other operations share. */
export function errorResponsesOf(id: OperationId): JsonObject {
  const statuses = [...byStatus(precedenceOf(id))].sort(([left], [right]) => left.localeCompare(right));
  return Object.fromEntries(
    statuses.map(([status, codes]) => {
      const name = setName(id, codes);
      const set = CODE_SETS.find((one) => one.name === name) ?? { name, codes, operations: [id] };
      return [status, isShared(set) ? reference('responses', name) : responseOf({ name, codes, operations: [id] })];
    }),
  );
}

/** Codes of paths outside the operations. On these paths, each is the only code with its status. */
const PAGE_CODES = ['uri_too_long', 'method_not_allowed', 'unknown_request'] as const;

/** The error responses that several operations, or paths outside the operations, share. */
export function sharedErrorResponses(): JsonObject {
  const shared = CODE_SETS.filter(isShared);
  const pages = PAGE_CODES.map((code): CodeSet => ({ name: code, codes: [code], operations: [] }));
  return Object.fromEntries([...shared, ...pages].map((set) => [set.name, responseOf(set)]));
}

function responseOf({ codes, operations }: CodeSet): JsonObject {
  const isMoney = operations.some(saysIfMoneyMoved);
  const takesKey = operations.some((id) => OPERATIONS[id].idempotency !== 'none');
  const headers = errorHeadersOf(codes, isMoney, takesKey);
  return {
    description: codes.map((one) => describe(one, codes.length)).join('\n\n'),
    headers: Object.fromEntries(headers.map((name) => [name, reference('headers', name)])),
    content: {
      'application/json': {
        schema: recordOf(codes),
        ...(statusesOf(codes).length === 1
          ? {}
          : { examples: Object.fromEntries(codes.map((one) => [one, reference('examples', one)])) }),
      },
    },
  };
}

/** A code with its meaning and, in a range, its status. */
function describe(code: ErrorCode, count: number): string {
  const status = isRanged(code) && count > 1 ? ` (${ERRORS[code].status})` : '';
  return `${writtenCode(code)}${status}: ${familyIn(code)?.meaning ?? ERRORS[code].meaning}`;
}

/** The error record with only some codes. */
function recordOf(codes: readonly ErrorCode[]): JsonObject {
  const own = codes.filter((code) => familyIn(code) === undefined);
  const patterns = codes.flatMap((code) => familyIn(code)?.pattern ?? []);
  const choices = [
    ...(own.length === 0 ? [] : [{ enum: own }]),
    ...patterns.map((pattern) => ({ type: 'string', pattern })),
  ];
  const code = choices.length === 1 ? choices[0] : { anyOf: choices };
  const statuses = statusesOf(codes);
  const status = statuses.length === 1 ? {} : { Status: { enum: statuses } };
  // `ErrorRecord` is an object and requires the code and the status.
  return { allOf: [reference('schemas', 'ErrorRecord')], properties: { Code: code, ...status } };
}

/** The statuses of some codes, in ascending order. */
function statusesOf(codes: readonly ErrorCode[]): readonly number[] {
  return [...new Set(codes.map((one) => ERRORS[one].status))].sort((left, right) => left - right);
}

/**
 * An example of each code of a range, because they show which status a code has. Other responses have no examples: the
 * schema has their codes and statuses, the description says what each code means, and `/errors/{code}` shows a response.
 */
export function errorExamples(): JsonObject {
  const codes = OPERATION_IDS.flatMap(precedenceOf).filter(isRanged);
  return Object.fromEntries([...new Set(codes)].map((code) => [code, { value: errorExample(code) }]));
}

/** An example of the error record. */
export function errorExample(code: ErrorCode): JsonObject {
  return { ...exampleRecord(code, CONTACT) };
}
