import { type Static, Type } from 'typebox';
import { MAX_TEXT_CHARACTERS, OUTCOMES } from '../../domain/support/case.ts';
import { INCIDENT_SCOPES } from '../../domain/support/incident.ts';
import { operation } from '../operation.ts';
import { EXAMPLE_CASE_ID, EXAMPLE_LATER } from '../samples.ts';
import {
  checkedName,
  checkedTogether,
  cursor,
  freeText,
  idText,
  ifThen,
  is,
  limit,
  line,
  literals,
  moment,
  needs,
  nullable,
  pageOf,
  pastMoment,
  refuseEmpty,
  textOrNull,
} from '../schema-parts.ts';

export const MAX_INCIDENT_CODES = 20;

/** Maximum number of cases that one request can attach, and of cases that an incident proposes. */
export const MAX_ATTACHED_CASES = 100;

const title = line(200, 'What is wrong, in a few words; every key in its scope can read it');
const publicText = freeText(MAX_TEXT_CHARACTERS, 'What callers should know, as plain text');
const internalText = freeText(MAX_TEXT_CHARACTERS, 'Text for operators only, as plain text');
const codes = Type.Array(checkedName('ErrorCode', 'An error code'), {
  maxItems: MAX_INCIDENT_CODES,
  description: 'The error codes that it covers; empty for all of them',
});
const outcome = (what: string) => literals(OUTCOMES, what);

export const CreateIncidentBody = Type.Object(
  {
    title,
    public_text: publicText,
    internal_text: Type.Optional(internalText),
    scope: literals(INCIDENT_SCOPES, 'What it covers: everything, one card program, or one operation'),
    program_id: Type.Optional(idText('prog', 'The card program, for the scope `program`')),
    operation: Type.Optional(checkedName('OperationId', 'The operation, for the scope `operation`')),
    codes: Type.Optional({ ...codes, 'x-default': [] }),
    started_at: Type.Optional(pastMoment(0, 'When it began, not in the future; now if omitted')),
  },
  // Unknown fields are refused, because one may be intended to narrow the scope.
  {
    additionalProperties: false,
    ...checkedTogether({
      allOf: [
        ifThen(is('scope', 'program'), needs('program_id'), { not: needs('program_id') }),
        ifThen(is('scope', 'operation'), needs('operation'), { not: needs('operation') }),
      ],
    }),
    ...refuseEmpty({
      program_id: 'for every card program',
      operation: 'for every operation',
      codes: 'for all error codes',
      started_at: 'for an incident that begins now',
    }),
  },
);

export const UpdateIncidentBody = Type.Object({
  title: Type.Optional(title),
  public_text: Type.Optional(publicText),
  internal_text: Type.Optional(nullable(internalText)),
  codes: Type.Optional(codes),
});

export const ResolveIncidentBody = Type.Object({
  text: freeText(MAX_TEXT_CHARACTERS, 'What was found and done, for the callers of all its cases'),
  outcome: outcome('Outcome'),
});

export const AttachCasesBody = Type.Object({
  case_ids: Type.Array(idText('case', 'Id of a case'), {
    minItems: 1,
    maxItems: MAX_ATTACHED_CASES,
    description: 'The cases to attach; cases of another incident are moved',
  }),
});

/** An incident, as every key in its scope sees it. */
export const IncidentRecord = Type.Object({
  incident_id: Type.String({ description: 'Id of the incident: inc_ and 32 hex digits' }),
  title: Type.String({ description: 'What is wrong, in a few words' }),
  public_text: Type.String({ description: 'What callers should know, as plain text' }),
  status: literals(['open', 'resolved'], 'Whether it is resolved'),
  scope: literals(INCIDENT_SCOPES, 'What it covers'),
  program_id: textOrNull('The card program; null unless the scope is `program`'),
  operation: textOrNull('The operation; null unless the scope is `operation`'),
  codes: Type.Array(Type.String(), { description: 'The error codes that it covers; empty for all of them' }),
  outcome: nullable(outcome('Outcome; null until it is resolved')),
  resolution: textOrNull('What was found and done; null until it is resolved'),
  started_at: moment('When it began'),
  updated_at: moment('When it was last changed'),
  resolved_at: nullable(moment('When it was resolved; null if it is not')),
});

/** An incident, as operators see it. */
export const OperatorIncidentRecord = Type.Object({
  ...IncidentRecord.properties,
  internal_text: textOrNull('What only operators read; null if there is none'),
  created_by: Type.String({ description: 'Name of the key that opened it, or `sandbox`' }),
  case_count: Type.Integer({ minimum: 0, description: 'Number of its cases' }),
  unresolved_case_count: Type.Integer({
    minimum: 0,
    description:
      'How many of them are open or waiting. Once the incident is resolved, they are resolved in the background',
  }),
});

/** An incident after cases were attached, and the attached cases that it does not cover. */
export const AttachedIncident = Type.Object({
  ...OperatorIncidentRecord.properties,
  uncovered_case_ids: Type.Array(Type.String(), {
    description:
      'The cases in the request that the incident does not cover, by their error code, card program or operation; they are ' +
      'attached anyway, and resolved with it',
  }),
});

/** An incident with the cases that may belong to it. */
export const InspectedIncident = Type.Object({
  ...OperatorIncidentRecord.properties,
  proposed_case_ids: Type.Array(Type.String(), {
    description: `Unresolved cases without an incident that it covers, created since it began, oldest first, at most ${MAX_ATTACHED_CASES}`,
  }),
});

const CORE = '/api/v0.1/core/incident';
const OPERATOR = '/api/v0.1/operator/incident';
const SUPPORT = { reach: 'operator', scope: 'operator:cases' } as const;
const SUPPORTING = { ...SUPPORT, audit: 'always', idempotency: 'optional' } as const;

const BODY = {
  title: 'Transfers fail',
  public_text: 'Some transfers are answered with a Server Error. We are on it.',
  scope: 'all',
  codes: ['unknown_create_transfer'],
} as const;

export const EXAMPLE_INCIDENTS = {
  opened: { ...BODY, status: 'open', operation: null, program_id: null },
  updated: { ...BODY, status: 'open', program_id: null, public_text: 'The cause is known.', updated_at: EXAMPLE_LATER },
  resolved: {
    ...BODY,
    status: 'resolved',
    program_id: null,
    outcome: 'retry',
    resolution: 'A server was replaced. Send your transfers again.',
    updated_at: EXAMPLE_LATER,
    resolved_at: EXAMPLE_LATER,
  },
} as const;

const COUNTS = { internal_text: null, created_by: 'Anna', case_count: 2, unresolved_case_count: 2 } as const;
const OPENED = { ...EXAMPLE_INCIDENTS.opened, ...COUNTS } as const;

export const INCIDENTS = [
  operation({
    id: 'list_incidents',
    method: 'GET',
    path: CORE,
    summary: 'List the incidents that the key may see, newest first',
    reach: 'caller',
    query: Type.Object({
      limit,
      cursor,
      status: Type.Optional(literals(['open', 'resolved'], 'Only incidents with this status')),
    }),
    reply: pageOf(IncidentRecord),
    failure: 'The incidents could not be listed',
    example: { reply: EXAMPLE_INCIDENTS.opened },
  }),
  operation({
    ...SUPPORTING,
    id: 'create_incident',
    method: 'POST',
    path: OPERATOR,
    summary: 'Open an incident for one cause of many errors, and notify its card programs',
    body: CreateIncidentBody,
    status: 201,
    reply: OperatorIncidentRecord,
    location: `${OPERATOR}/{incident_id}`,
    errors: ['program_not_found', 'idempotency_key_exists'],
    failure: 'The incident could not be opened',
    example: { body: BODY, reply: { ...OPENED, case_count: 0, unresolved_case_count: 0 } },
  }),
  operation({
    ...SUPPORT,
    id: 'inspect_incident',
    method: 'GET',
    path: `${OPERATOR}/{incident_id}`,
    summary: 'Get an incident with its internal text, and the cases that may belong to it',
    reply: InspectedIncident,
    errors: ['incident_not_found'],
    failure: 'The incident could not be read',
    example: { reply: { ...OPENED, proposed_case_ids: [EXAMPLE_CASE_ID] } },
  }),
  operation({
    ...SUPPORT,
    audit: 'always',
    id: 'update_incident',
    method: 'PATCH',
    path: `${OPERATOR}/{incident_id}`,
    summary:
      'Change the text or the error codes of an incident, and notify its card programs of changes that they can see',
    body: UpdateIncidentBody,
    reply: OperatorIncidentRecord,
    errors: ['incident_not_found', 'invalid_incident_status'],
    failure: 'The incident could not be updated',
    example: {
      body: { public_text: EXAMPLE_INCIDENTS.updated.public_text },
      reply: { ...OPENED, ...EXAMPLE_INCIDENTS.updated },
    },
  }),
  operation({
    ...SUPPORTING,
    id: 'attach_cases',
    method: 'POST',
    path: `${OPERATOR}/{incident_id}/cases`,
    summary: 'Attach cases to an incident; they are resolved with it',
    body: AttachCasesBody,
    reply: AttachedIncident,
    errors: [
      'idempotency_key_exists',
      'incident_not_found',
      'invalid_incident_status',
      'case_not_found',
      'invalid_case_status',
    ],
    failure: 'The cases could not be attached',
    example: { body: { case_ids: [EXAMPLE_CASE_ID] }, reply: { ...OPENED, uncovered_case_ids: [] } },
  }),
  operation({
    ...SUPPORTING,
    id: 'resolve_incident',
    method: 'POST',
    path: `${OPERATOR}/{incident_id}/resolve`,
    summary: 'End an incident; its cases are resolved with it, each with an event',
    body: ResolveIncidentBody,
    reply: OperatorIncidentRecord,
    errors: ['idempotency_key_exists', 'incident_not_found', 'invalid_incident_status'],
    failure: 'The incident could not be resolved',
    example: {
      body: { text: EXAMPLE_INCIDENTS.resolved.resolution, outcome: 'retry' },
      reply: { ...OPENED, ...EXAMPLE_INCIDENTS.resolved },
    },
  }),
] as const;

export type IncidentRecord = Static<typeof IncidentRecord>;
export type OperatorIncidentRecord = Static<typeof OperatorIncidentRecord>;
