import { type Static, Type } from 'typebox';
import { AuditEntryRecord } from '../audit.ts';
import { InspectedErrorRecord, LoggedErrorRecord } from '../error-log.ts';
import { operation } from '../operation.ts';
import { sampleOf } from '../samples.ts';
import { literals, moment, nullable, programId, textOrNull } from '../schema-parts.ts';
import { ReversalRecord } from '../transfer-actions.ts';
import { TransferRecord } from '../transfers.ts';

/** Maximum number of transfers, reversals, events and audit entries in the record of a request. */
export const MAX_SHOWN_OF_REQUEST = 50;

/** The scopes that a look-up of a request needs, so that it shows no more than the key can read with other operations. */
export const SCOPES_OF_REQUESTS = ['errors:read', 'transfers:read', 'events:read'] as const;

const FIRST = `the first ${MAX_SHOWN_OF_REQUEST}`;

const EventOfRequest = Type.Object({
  event_id: Type.String({ description: 'evt_ and 32 hex digits' }),
  type: Type.String({ description: 'Type of the event' }),
  program_id: textOrNull('The card program; null for an event of the service'),
  subject_id: Type.String({ description: 'Id of the subject of the event' }),
  created_at: moment('When it happened'),
});

const FIELDS = {
  request_id: Type.String({ description: 'Request-Id of the response' }),
  received_at: moment('When the request was received'),
  operation: textOrNull('The operation; null if it is not known'),
  program_id: textOrNull('The card program; null if there is none, or it is not known'),
  caller: textOrNull(
    'Id of the API key or the person, `sandbox`, or `program_key` or `operator_key` if only the kind of key is known; null if ' +
      'the caller is not known',
  ),
  idempotency_key: textOrNull('Idempotency-Key of the request; null if it had none, or none is stored'),
  outcome: literals(['succeeded', 'partly_failed', 'failed'], 'partly_failed: a batch with some refused rows'),
  status: nullable(Type.Integer({ description: 'HTTP status of the response; null if the operation is not known' })),
  money_moved: literals(['no', 'yes', 'unknown'], 'Whether money has moved because of the request'),
  summary: Type.String({ description: 'What happened, and whether money moved' }),
};

const EFFECTS = {
  transfers: Type.Array(TransferRecord, {
    description: `The transfers that it created or changed, in their current state, ${FIRST}`,
  }),
  transfer_count: Type.Integer({ description: 'Number of transfers that it created or changed' }),
  reversals: Type.Array(ReversalRecord, { description: 'The reversals that it created' }),
  events: Type.Array(EventOfRequest, { description: `The events that it caused, ${FIRST}, while they are stored` }),
};

const COMPLETE = {
  complete: Type.Boolean({
    description: 'Whether everything was searched; false if this request ran out of time',
  }),
};

/** The effects of a request, from everything that is stored about it. */
export const RequestRecord = Type.Object({
  ...FIELDS,
  error: Type.Unsafe<Static<typeof InspectedErrorRecord> | null>({
    ...nullable(InspectedErrorRecord),
    description: 'The error response, with its checks and causes; null if the request succeeded',
  }),
  ...EFFECTS,
  audit_entries: Type.Array(AuditEntryRecord, { description: `Its entries in the audit log, ${FIRST}` }),
  ...COMPLETE,
});

/** What a request did in a card program, as the program sees it. */
export const ProgramRequestRecord = Type.Object({
  ...FIELDS,
  program_id: programId,
  caller: textOrNull('Id of the API key or the person, or `sandbox`; null if it is not known'),
  error: Type.Unsafe<Static<typeof LoggedErrorRecord> | null>({
    ...nullable(LoggedErrorRecord),
    description: 'The error response; null if the request succeeded',
  }),
  ...EFFECTS,
  ...COMPLETE,
});

const TRANSFER = sampleOf(TransferRecord) as Static<typeof TransferRecord>;

const EXAMPLE = {
  operation: 'create_transfer',
  caller: TRANSFER.created_by,
  outcome: 'succeeded',
  status: 201,
  money_moved: 'yes',
  summary:
    "create_transfer succeeded: 10.00 USD moved from the program's funding to the card 'card_active' at 2026-01-31T09:30:00.000Z.",
  error: null,
  transfer_count: 1,
  reversals: [],
  complete: true,
} as const;

export const REQUESTS = [
  operation({
    id: 'get_request',
    method: 'GET',
    path: '/api/v0.1/core/request/{request_id}',
    summary:
      'Find out what a request in the card program did by its Request-Id, and whether money moved. The key also needs ' +
      'transfers:read and events:read',
    reach: 'program',
    scope: 'errors:read',
    reply: ProgramRequestRecord,
    errors: ['request_not_found'],
    failure: 'The request could not be looked up',
    example: { reply: EXAMPLE },
  }),
  operation({
    id: 'inspect_request',
    method: 'GET',
    path: '/api/v0.1/operator/request/{request_id}',
    summary: 'Find out what any request did by its Request-Id, whether it succeeded or failed, and whether money moved',
    reach: 'operator',
    scope: 'operator:read',
    reply: RequestRecord,
    audit: 'always',
    errors: ['request_not_found'],
    failure: 'The request could not be looked up',
    example: { reply: { ...EXAMPLE, audit_entries: [] } },
  }),
] as const;

export type ProgramRequestRecord = Static<typeof ProgramRequestRecord>;
export type RequestRecord = Static<typeof RequestRecord>;
