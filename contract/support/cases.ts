import { type Static, Type } from 'typebox';
import {
  CASE_STATUSES,
  MAX_TEXT_CHARACTERS,
  OUTCOMES,
  SEVERITIES,
  SIDES,
  URGENCIES,
} from '../../domain/support/case.ts';
import { InspectedErrorRecord, LoggedErrorRecord } from '../error-log.ts';
import { ERROR_TYPES } from '../errors/record.ts';
import { operation } from '../operation.ts';
import { EXAMPLE_LATER, EXAMPLE_REQUEST_ID, sampleOf } from '../samples.ts';
import {
  callersReference,
  checkedName,
  checkedTogether,
  cursor,
  describedOrNull,
  freeText,
  idText,
  ifThen,
  limit,
  line,
  literals,
  literalsOr,
  moment,
  needs,
  nullable,
  pageOf,
  programId,
  textOrNull,
} from '../schema-parts.ts';
import { TransferRecord } from '../transfers.ts';
import { IncidentRecord } from './incidents.ts';

// Invariant: Events, lists, the audit log and stored responses contain no text of a case
// Kept by: `CaseRecord` has no texts; only the reads of one case show them
// Tested by: `test/api/support`

/** A text that a person wrote: plain text, stored without card numbers and keys. */
export const caseText = (description: string) => freeText(MAX_TEXT_CHARACTERS, description);

const severity = literals(SEVERITIES, 'How much the problem matters to the caller');
const urgency = literals(URGENCIES, "How soon support should answer, by the error and the caller's severity");
const outcome = (what: string) => literals(OUTCOMES, what);

export const CreateCaseBody = Type.Object(
  {
    request_id: Type.Optional(
      idText('req', 'Request-Id of the response that the case is about; not together with `transfer_id`'),
    ),
    transfer_id: Type.Optional(idText('tr', 'The transfer that the case is about')),
    severity: Type.Optional(literalsOr('normal', SEVERITIES, 'How much the problem matters to you; normal if omitted')),
    text: Type.Optional(caseText('What happened, as plain text; required without `request_id` and `transfer_id`')),
    contact: Type.Optional(line(500, 'Another way to reach you, such as a name and a telephone number')),
  },
  checkedTogether({
    minProperties: 1,
    allOf: [
      { not: needs('request_id', 'transfer_id') },
      ifThen({ not: { anyOf: [needs('request_id'), needs('transfer_id')] } }, needs('text')),
    ],
  }),
);

export const ReplyToCaseBody = Type.Object({
  text: caseText('The message, as plain text'),
  external_author: Type.Optional(line(200, 'Who wrote the message in another system')),
  external_id: Type.Optional(
    callersReference(
      255,
      'Id of the message in another system, unique in the case. If the message is sent again with the same text, it is added only once',
    ),
  ),
});

export const ResolveCaseBody = Type.Object({
  text: caseText('What was found and done, for the caller'),
  outcome: outcome('Outcome'),
});

export const AnswerSandboxCaseBody = Type.Object({
  text: Type.Optional(caseText("Support's message; a standard text if omitted")),
  outcome: Type.Optional(outcome('Resolves the case, with this outcome. If omitted, the case waits for the caller')),
});

const Side = (description: string) => literals(SIDES, description);

const NO_SCOPE = ', and for a key without errors:read, or transfers:read if it is about a transfer';

/** A case without its texts, as lists and events show it. */
export const CaseRecord = Type.Object({
  case_id: Type.String({ description: 'Id of the case: case_ and 32 hex digits' }),
  program_id: programId,
  status: literals(CASE_STATUSES, "`open`: support's turn; `waiting`: the caller's turn"),
  severity,
  request_id: textOrNull('The request that it is about; null if it is about a transfer, or consists only of text'),
  transfer_id: textOrNull('The transfer that it is about; null if there is none'),
  operation: textOrNull(`The operation of the request; null if there is none${NO_SCOPE}`),
  code: textOrNull(`Error code of the request; null without an error${NO_SCOPE}`),
  type: nullable(literals(ERROR_TYPES, `Type of that error; null without an error${NO_SCOPE}`)),
  money_moved: nullable(
    literals(
      ['no', 'yes', 'unknown'],
      'Whether money had moved then; null without a request, and without transfers:read',
    ),
  ),
  incident_id: textOrNull('The incident that it belongs to; null for none'),
  message_count: Type.Integer({ minimum: 0, description: 'Number of messages' }),
  last_message: describedOrNull(
    Type.Object({
      message_id: Type.String({ description: 'Id of the message: msg_ and 32 hex digits' }),
      from: Side('Whose message it is'),
      external_id: textOrNull('Id of the message in another system; null if there is none'),
    }),
    'The last message, so that a bridge to another system recognizes its own; null if there is none',
  ),
  outcome: nullable(outcome('Outcome of the case; null until the case is resolved')),
  created_at: moment('When it was created'),
  updated_at: moment('When it was last changed'),
  first_response_at: nullable(moment('When support sent its first message; null if there is none')),
  resolved_at: nullable(moment('When it was resolved; null if it is not')),
  closed_at: nullable(moment('When it was closed; null if it is not')),
});

export const CaseMessage = Type.Object({
  message_id: Type.String({ description: 'Id of the message: msg_ and 32 hex digits' }),
  from: Side('Whose message it is'),
  author: textOrNull(
    "Name of support's key, or `key_id` of the caller's; `sandbox` without a key, null for the end of an incident",
  ),
  text: textOrNull('The message, as plain text; null once it is erased'),
  external_author: textOrNull('Who wrote it in another system; null if there is none, and once it is erased'),
  external_id: textOrNull('Id of the message in another system; null if there is none'),
  created_at: moment('When it was written'),
});

const SNAPSHOT = {
  taken_at: moment('When the case was created'),
  summary: Type.String({ description: 'What happened, and whether money moved, in a sentence' }),
  received_at: nullable(moment('When the request was received; null without a request')),
};
const TRANSFER = describedOrNull(
  TransferRecord,
  'The transfer at that time; null if there is none, and for a key without transfers:read',
);

/** What was known about the request or the transfer when the case was created. */
export const CaseSnapshot = Type.Object({
  ...SNAPSHOT,
  summary: textOrNull('What happened, and whether money moved; null for a key without the scopes of get_request'),
  error: describedOrNull(
    LoggedErrorRecord,
    'The error response; null if there is none, and for a key without errors:read',
  ),
  transfer: TRANSFER,
});

/** What was known about the request or the transfer, for operators: with the checks and the causes of the error. */
export const OperatorCaseSnapshot = Type.Object({
  ...SNAPSHOT,
  error: describedOrNull(InspectedErrorRecord, 'The error response with its checks and causes; null if there is none'),
  transfer: TRANSFER,
});

const ERASED = 'null if there is none, and once it is erased';

const TEXTS = {
  text: textOrNull(`What the caller wrote when the case was created; ${ERASED}`),
  contact: textOrNull(`How to reach the caller; ${ERASED}`),
  resolution: textOrNull(`What was found and done; null until the case is resolved, and once it is erased`),
  messages: Type.Array(CaseMessage, { description: 'The messages, oldest first' }),
  created_by: Type.String({ description: 'The caller: id of the API key or the person, or `sandbox`' }),
};

/** A case with everything that its card program may see. */
export const CaseDetails = Type.Object({
  ...CaseRecord.properties,
  ...TEXTS,
  snapshot: describedOrNull(CaseSnapshot, `What was known about its request or transfer; ${ERASED}`),
});

export const QueuedCase = Type.Object({
  ...CaseRecord.properties,
  urgency,
  summary: textOrNull('What happened, in a sentence, or else the beginning of the text; null once it is erased'),
});

/** A case with everything that is stored about it, for operators. */
export const InspectedCase = Type.Object({
  ...CaseRecord.properties,
  urgency,
  ...TEXTS,
  snapshot: describedOrNull(OperatorCaseSnapshot, `What was known about its request or transfer; ${ERASED}`),
  program_name: Type.String({ description: 'Name of the card program' }),
  incidents: Type.Array(IncidentRecord, { description: 'The incidents that cover it and are not resolved' }),
  similar: Type.Array(CaseRecord, { description: 'Other cases with its error code, newest first, at most 10' }),
});

const CORE = '/api/v0.1/core/case';
const OPERATOR = '/api/v0.1/operator/case';

/** The path to open a case, as the header `Support-Case` has it. */
export const CASE_PATH = CORE;

const READ = { reach: 'program', scope: 'cases:read' } as const;
const WRITE = { reach: 'program', scope: 'cases:write', audit: 'operator', idempotency: 'optional' } as const;
const SUPPORT = { reach: 'operator', scope: 'operator:cases' } as const;
const SUPPORTING = { ...SUPPORT, audit: 'always', idempotency: 'optional' } as const;

const NEW = {
  status: 'open',
  severity: 'high',
  request_id: EXAMPLE_REQUEST_ID,
  operation: 'create_transfer',
  code: 'unknown_create_transfer',
  type: 'Server Error',
  money_moved: 'unknown',
  message_count: 0,
} as const;
const ANSWERED = {
  ...NEW,
  status: 'waiting',
  message_count: 1,
  last_message: { message_id: 'msg_0196f5c2d9a67d51a3b0c7e18f42d965', from: 'support', external_id: null },
  updated_at: EXAMPLE_LATER,
  first_response_at: EXAMPLE_LATER,
} as const;
const RESOLVED = { ...ANSWERED, status: 'resolved', outcome: 'retry', resolved_at: EXAMPLE_LATER } as const;

export const EXAMPLE_CASES = { opened: NEW, replied: ANSWERED, resolved: RESOLVED } as const;

const SENTENCE = 'create_transfer failed. Whether money has moved is not known.';
const MESSAGES = [
  {
    ...Object(sampleOf(CaseMessage)),
    from: 'support',
    author: 'Anna',
    text: 'The transfer was not made: send it again.',
  },
];
const DETAILS = {
  ...ANSWERED,
  text: 'The customer is at the counter.',
  contact: null,
  messages: MESSAGES,
  snapshot: {
    taken_at: '2026-01-31T09:30:00.000Z',
    summary: SENTENCE,
    received_at: '2026-01-31T09:30:00.000Z',
    error: null,
    transfer: null,
  },
} as const;
const REPLY = {
  method: 'POST',
  body: ReplyToCaseBody,
  reply: CaseRecord,
  failure: 'The message could not be added',
} as const;
const REPLY_ERRORS = [
  'idempotency_key_exists',
  'case_not_found',
  'invalid_case_status',
  'duplicate_external_id',
  'case_message_limit',
] as const;
const MESSAGE = { text: 'The transfer was not made: send it again.' } as const;

export const CASES = [
  operation({
    ...WRITE,
    id: 'create_case',
    method: 'POST',
    path: CORE,
    summary:
      'Open a case with support, about a request, a transfer, or anything that you describe; the same request has one open case',
    body: CreateCaseBody,
    status: 201,
    existing: true,
    reply: CaseRecord,
    location: `${CORE}/{case_id}`,
    errors: ['idempotency_key_exists', 'request_not_found', 'transfer_not_found'],
    failure: 'The case could not be opened',
    example: {
      body: { text: 'The customer is at the counter.', severity: 'high' },
      reply: { ...NEW, request_id: null, operation: null, code: null, type: null, money_moved: null },
    },
  }),
  operation({
    ...READ,
    id: 'list_cases',
    method: 'GET',
    path: CORE,
    summary: 'List the cases of the card program, newest first',
    query: Type.Object({
      limit,
      cursor,
      status: Type.Optional(literals(CASE_STATUSES, 'Only cases with this status')),
      request_id: Type.Optional(idText('req', 'Only cases about the request with this Request-Id')),
    }),
    reply: pageOf(CaseRecord),
    failure: 'The cases could not be listed',
    example: { reply: NEW },
  }),
  operation({
    ...READ,
    id: 'get_case',
    method: 'GET',
    path: `${CORE}/{case_id}`,
    summary: 'Get a case with its messages, and what was known about its request',
    reply: CaseDetails,
    errors: ['case_not_found'],
    failure: 'The case could not be read',
    example: { reply: DETAILS },
  }),
  operation({
    ...WRITE,
    ...REPLY,
    id: 'reply_to_case',
    path: `${CORE}/{case_id}/reply`,
    summary: 'Add a message to a case; it reopens a case that was resolved within 30 days',
    errors: REPLY_ERRORS,
    example: { body: { text: 'I sent it again.' }, reply: { ...ANSWERED, status: 'open', message_count: 2 } },
  }),
  operation({
    ...WRITE,
    id: 'close_case',
    method: 'POST',
    path: `${CORE}/{case_id}/close`,
    summary: 'Close a case permanently',
    reply: CaseRecord,
    errors: ['idempotency_key_exists', 'case_not_found', 'invalid_case_status'],
    failure: 'The case could not be closed',
    example: { reply: { ...RESOLVED, status: 'closed', closed_at: EXAMPLE_LATER } },
  }),
  operation({
    ...SUPPORT,
    id: 'search_cases',
    method: 'GET',
    path: OPERATOR,
    summary: 'List the cases of all card programs, the most urgent first: the queue of support',
    query: Type.Object({
      limit,
      cursor,
      status: Type.Optional(literals(CASE_STATUSES, 'Only cases with this status; open if omitted')),
      program_id: Type.Optional(idText('prog', 'Only cases of this card program')),
      code: Type.Optional(checkedName('ErrorCode', 'Only cases with this error code')),
      incident_id: Type.Optional(idText('inc', 'Only cases of this incident')),
    }),
    reply: pageOf(QueuedCase),
    failure: 'The cases could not be searched',
    example: { reply: { ...NEW, urgency: 'urgent', summary: SENTENCE } },
  }),
  operation({
    ...SUPPORT,
    id: 'inspect_case',
    method: 'GET',
    path: `${OPERATOR}/{case_id}`,
    summary: 'Get any case with everything that is stored about it, the incidents that cover it, and similar cases',
    audit: 'always',
    reply: InspectedCase,
    errors: ['case_not_found'],
    failure: 'The case could not be inspected',
    example: { reply: { ...DETAILS, urgency: 'urgent', program_name: 'Demo', incidents: [], similar: [] } },
  }),
  operation({
    ...SUPPORTING,
    ...REPLY,
    id: 'answer_case',
    path: `${OPERATOR}/{case_id}/reply`,
    summary: 'Add a message of support to a case, which then waits for the caller',
    errors: REPLY_ERRORS,
    example: { body: MESSAGE, reply: ANSWERED },
  }),
  operation({
    ...SUPPORTING,
    id: 'resolve_case',
    method: 'POST',
    path: `${OPERATOR}/{case_id}/resolve`,
    summary: 'Resolve a case, and state what was found and the outcome',
    body: ResolveCaseBody,
    reply: CaseRecord,
    errors: ['idempotency_key_exists', 'case_not_found', 'invalid_case_status'],
    failure: 'The case could not be resolved',
    example: { body: { ...MESSAGE, outcome: 'retry' }, reply: RESOLVED },
  }),
  operation({
    id: 'answer_sandbox_case',
    method: 'POST',
    path: '/api/v0.1/sandbox/case/{case_id}/answer',
    summary: 'Play support: answer a case, or resolve it',
    reach: 'sandbox',
    body: AnswerSandboxCaseBody,
    reply: CaseRecord,
    idempotency: 'optional',
    audit: 'always',
    errors: ['idempotency_key_exists', 'case_not_found', 'invalid_case_status', 'case_message_limit'],
    failure: 'The case could not be answered',
    example: { reply: ANSWERED },
  }),
] as const;

export type CaseRecord = Static<typeof CaseRecord>;
export type CaseMessage = Static<typeof CaseMessage>;
export type CaseDetails = Static<typeof CaseDetails>;
export type QueuedCase = Static<typeof QueuedCase>;
export type InspectedCase = Static<typeof InspectedCase>;
export type OperatorCaseSnapshot = Static<typeof OperatorCaseSnapshot>;
export type CaseSnapshot = Static<typeof CaseSnapshot>;
