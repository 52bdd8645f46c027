import { type TObject, Type } from 'typebox';
import type { ErrorCode } from '../domain/errors.ts';
import { OPERATIONS as DOMAIN_OPERATIONS, OPERATION_IDS, type OperationId } from '../domain/operation.ts';
import * as errorLog from './error-log-schemas.ts';
import * as schemas from './schemas.ts';

/** What a key must be allowed to do; operator routes and sandbox routes have scopes of their own. */
export type Scope =
  | 'transfers:read'
  | 'transfers:write'
  | 'cards:read'
  | 'cards:write'
  | 'errors:read'
  | 'operator'
  | 'sandbox';

/** How one operation looks from outside. */
export type Operation = {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Path with its parameters in braces; every parameter is a string of 1 to 255 characters. */
  readonly path: string;
  readonly summary: string;
  readonly scope: Scope;
  /** Whether the operation acts within one card program, which the key, or the Program-Id header, names. */
  readonly program: boolean;
  readonly body?: TObject;
  /** Bytes of the body at most, where it is not the usual 16 KiB. */
  readonly bodyMost?: number;
  readonly query?: TObject;
  readonly status: 200 | 201;
  readonly reply: object;
  readonly idempotency: 'none' | 'optional' | 'required';
  /** Whether a POST without an idempotency key does the same sent twice as sent once. */
  readonly repeatable?: true;
  /** Codes of the rules of the operation itself, in the order in which they are checked; the first that applies wins. */
  readonly rules: readonly ErrorCode[];
};

const CORE = '/api/v0.1/core';
const OPERATOR = '/api/v0.1/operator';

const READ = { method: 'GET', status: 200, idempotency: 'none', program: true } as const;
const OPERATE = { scope: 'operator', program: false, idempotency: 'none' } as const;

const CARD_STATES = [
  'preactive_card',
  'inactive_card',
  'lost_card',
  'card_fraud',
  'expired_card',
  'closed_card',
] as const;

/** Codes of the rules about a transfer, in the order of TRANSFER_CHECKS; of a card's states only one can apply. */
const TRANSFER_RULES: readonly ErrorCode[] = [
  'service_disabled',
  'card_dne',
  ...CARD_STATES,
  'currency_mismatch',
  'duplicate_reference',
  'limit_exceeded',
  'insufficient_funds',
];

/** Every operation of the service: the routes, the reference, the SDK and the tests are made from this table. */
export const OPERATIONS: Readonly<Record<OperationId, Operation>> = {
  create_transfer: {
    method: 'POST',
    path: `${CORE}/transfer`,
    summary: 'Create a transfer: load a card, unload it, or move money from card to card',
    scope: 'transfers:write',
    program: true,
    body: schemas.CreateTransferBody,
    status: 201,
    reply: schemas.TransferRecord,
    idempotency: 'optional',
    rules: ['invalid_amount', 'idempotency_key_exists', ...TRANSFER_RULES],
  },
  list_transfers: {
    ...READ,
    path: `${CORE}/transfer`,
    summary: 'List transfers, newest first; look one up by idempotency key or reference',
    scope: 'transfers:read',
    query: schemas.ListTransfersQuery,
    reply: schemas.pageOf(schemas.TransferRecord),
    rules: [],
  },
  get_transfer: {
    ...READ,
    path: `${CORE}/transfer/{transfer_id}`,
    summary: 'Read a transfer',
    scope: 'transfers:read',
    reply: schemas.TransferRecord,
    rules: ['transfer_dne'],
  },
  create_transfer_batch: {
    method: 'POST',
    path: `${CORE}/transfer/batch`,
    summary: 'Create up to 1,000 transfers, each with a key and an outcome of its own',
    scope: 'transfers:write',
    program: true,
    body: schemas.CreateTransferBatchBody,
    bodyMost: 1_048_576,
    repeatable: true,
    status: 200,
    reply: schemas.TransferBatchOutcomes,
    idempotency: 'none',
    rules: [],
  },
  explain_transfer: {
    method: 'POST',
    path: `${CORE}/transfer/explain`,
    summary: 'Run every check of create_transfer and show what each one saw, without moving anything',
    scope: 'transfers:read',
    program: true,
    body: schemas.CreateTransferBody,
    status: 200,
    reply: schemas.TransferExplanation,
    idempotency: 'optional',
    rules: [],
  },
  create_card: {
    method: 'POST',
    path: `${CORE}/card`,
    summary: 'Register a card',
    scope: 'cards:write',
    program: true,
    body: schemas.CreateCardBody,
    status: 201,
    reply: schemas.CardRecord,
    idempotency: 'none',
    rules: ['duplicate_card'],
  },
  list_cards: {
    ...READ,
    path: `${CORE}/card`,
    summary: 'List cards, newest first',
    scope: 'cards:read',
    query: schemas.PageQuery,
    reply: schemas.pageOf(schemas.CardRecord),
    rules: [],
  },
  get_card: {
    ...READ,
    path: `${CORE}/card/{card_id}`,
    summary: 'Read a card and its balance',
    scope: 'cards:read',
    reply: schemas.CardRecord,
    rules: ['card_dne'],
  },
  get_error: {
    ...READ,
    path: `${CORE}/error/{request_id}`,
    summary: 'Look up an error of the card program by the Request-Id of its answer',
    scope: 'errors:read',
    reply: errorLog.LoggedErrorRecord,
    rules: ['error_dne'],
  },
  list_errors: {
    ...READ,
    path: `${CORE}/error`,
    summary: 'List errors of the card program, newest first',
    scope: 'errors:read',
    query: errorLog.ListErrorsQuery,
    reply: schemas.pageOf(errorLog.LoggedErrorRecord),
    rules: [],
  },
  create_program: {
    ...OPERATE,
    method: 'POST',
    path: `${OPERATOR}/program`,
    summary: 'Create a card program',
    body: schemas.CreateProgramBody,
    status: 201,
    reply: schemas.ProgramRecord,
    rules: [],
  },
  list_programs: {
    ...READ,
    ...OPERATE,
    path: `${OPERATOR}/program`,
    summary: 'List card programs, newest first',
    query: schemas.PageQuery,
    reply: schemas.pageOf(schemas.ProgramRecord),
    rules: [],
  },
  get_program: {
    ...READ,
    ...OPERATE,
    path: `${OPERATOR}/program/{program_id}`,
    summary: 'Read a card program and its funding',
    reply: schemas.ProgramRecord,
    rules: ['program_dne'],
  },
  create_deposit: {
    ...OPERATE,
    method: 'POST',
    path: `${OPERATOR}/program/{program_id}/deposit`,
    summary: "Bring money to a program's funding",
    body: schemas.FundingMovementBody,
    status: 201,
    reply: schemas.FundingMovementRecord,
    idempotency: 'required',
    rules: ['invalid_amount', 'program_dne', 'idempotency_key_exists', 'limit_exceeded'],
  },
  create_withdrawal: {
    ...OPERATE,
    method: 'POST',
    path: `${OPERATOR}/program/{program_id}/withdrawal`,
    summary: "Take money out of a program's funding",
    body: schemas.FundingMovementBody,
    status: 201,
    reply: schemas.FundingMovementRecord,
    idempotency: 'required',
    rules: ['invalid_amount', 'program_dne', 'idempotency_key_exists', 'insufficient_funds'],
  },
  get_switch: {
    ...READ,
    ...OPERATE,
    path: `${OPERATOR}/switch`,
    summary: 'Read the switch: what is disabled, since when, by whom and why',
    reply: schemas.SwitchState,
    rules: [],
  },
  change_switch: {
    ...OPERATE,
    method: 'POST',
    path: `${OPERATOR}/switch`,
    summary: 'Disable or enable the service, a card program, or one transfer type of a program',
    body: schemas.ChangeSwitchBody,
    status: 200,
    reply: schemas.SwitchRecord,
    rules: ['program_dne'],
  },
  get_trial_balance: {
    ...READ,
    ...OPERATE,
    path: `${OPERATOR}/trial-balance`,
    summary: 'Draw up the trial balance',
    reply: schemas.TrialBalance,
    rules: [],
  },
  create_key: {
    ...OPERATE,
    method: 'POST',
    path: `${OPERATOR}/key`,
    summary: 'Create an API key; its secret is shown once',
    body: schemas.CreateKeyBody,
    status: 201,
    reply: schemas.NewKeyRecord,
    rules: ['program_dne'],
  },
  list_keys: {
    ...READ,
    ...OPERATE,
    path: `${OPERATOR}/key`,
    summary: 'List API keys, newest first',
    query: schemas.PageQuery,
    reply: schemas.pageOf(schemas.KeyRecord),
    rules: [],
  },
  revoke_key: {
    ...OPERATE,
    method: 'POST',
    repeatable: true,
    path: `${OPERATOR}/key/{key_id}/revoke`,
    summary: 'Revoke an API key',
    status: 200,
    reply: schemas.KeyRecord,
    rules: ['key_dne'],
  },
  inspect_error: {
    ...READ,
    ...OPERATE,
    path: `${OPERATOR}/error/{request_id}`,
    summary: 'Look up any error by the Request-Id of its answer, with its causes',
    reply: errorLog.InspectedErrorRecord,
    rules: ['error_dne'],
  },
  search_errors: {
    ...READ,
    ...OPERATE,
    path: `${OPERATOR}/error`,
    summary: 'List errors of all card programs, and of none, newest first',
    query: errorLog.SearchErrorsQuery,
    reply: errorLog.FoundErrors,
    rules: [],
  },
  count_errors: {
    ...READ,
    ...OPERATE,
    path: `${OPERATOR}/error-count`,
    summary: 'Count errors by code and hour or day, for a chart',
    query: errorLog.CountErrorsQuery,
    reply: errorLog.ErrorCounts,
    rules: [],
  },
  stop_database: {
    method: 'POST',
    path: '/api/v0.1/sandbox/database/stop',
    summary: "Really stop the sandbox's database server, to see what the service answers then",
    scope: 'sandbox',
    program: false,
    status: 200,
    reply: schemas.DatabaseState,
    idempotency: 'none',
    rules: [],
  },
  start_database: {
    method: 'POST',
    path: '/api/v0.1/sandbox/database/start',
    summary: "Start the sandbox's database server again",
    scope: 'sandbox',
    program: false,
    status: 200,
    reply: schemas.DatabaseState,
    idempotency: 'none',
    rules: [],
  },
};

/** Faults of the HTTP request itself; they come before everything else, in the order in which they are noticed. */
const HTTP_FAULTS: readonly ErrorCode[] = [
  'service_unavailable',
  'request_timeout',
  'headers_too_large',
  'malformed_request',
  'expectation_failed',
  'uri_too_long',
  'route_dne',
  'method_not_allowed',
];

/**
 * Every code that an operation can answer with, in order of precedence: the first that applies is the answer.
 * `unknown_<operation>` stands last: it can happen at any step.
 */
export function precedenceOf(id: OperationId): readonly ErrorCode[] {
  const operation = OPERATIONS[id];
  return [
    ...HTTP_FAULTS,
    'auth_err',
    'forbidden',
    ...(operation.program ? (['program_dne'] as const) : []),
    ...(operation.body === undefined ? [] : (['unsupported_media_type', 'payload_too_large'] as const)),
    ...(operation.idempotency === 'none' ? [] : (['invalid_idempotency_key'] as const)),
    `${id}_schema`,
    ...operation.rules,
    `unknown_${id}`,
  ];
}

/** The names of the parameters in a path, such as `transfer_id`. */
export function parametersOf(path: string): readonly string[] {
  return [...path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1] ?? '');
}

/** The schema of a path's parameters. */
export function parameterSchema(path: string): TObject {
  return Type.Object(
    Object.fromEntries(parametersOf(path).map((name) => [name, Type.String({ minLength: 1, maxLength: 255 })])),
  );
}

/** Whether refusals of the operation carry Money-Moved. */
export function movesMoney(id: OperationId): boolean {
  return DOMAIN_OPERATIONS[id].movesMoney;
}

export { OPERATION_IDS, type OperationId };
