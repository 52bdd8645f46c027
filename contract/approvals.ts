import { type Static, Type } from 'typebox';
import { APPROVAL_STATUSES } from '../domain/approvals/approval.ts';
import { APPROVABLE, WITH_AMOUNT } from '../domain/approvals/policy.ts';
import { operation } from './operation.ts';
import type { JsonValue } from './reading/json.ts';
import { DEMO_PROGRAM, EXAMPLE_LATER, EXAMPLE_TIME } from './samples.ts';
import {
  amountFrom,
  checkedTogether,
  currencyCode,
  cursor,
  describedOrNull,
  ErrorRecordSchema,
  freeText,
  idText,
  ifThen,
  is,
  limit,
  literals,
  moment,
  needs,
  nullable,
  pageOf,
  refuseEmpty,
  textOrNull,
} from './schema-parts.ts';
import { KEY_SCOPES } from './scope.ts';

/** The fields of update_program that a rule can name. */
export const RULED_FIELDS = ['name', 'limits', 'card_limits', 'funding_low_threshold', 'metadata'] as const;

/** How many rules a policy can have. */
const MAX_RULES = 100;

/** The longest time that a request can wait. Its body, which can contain data about a card holder, is kept for as long. */
export const MAX_APPROVAL_HOURS = 720;

const Json = Type.Unsafe<Record<string, unknown>>({ type: 'object' });
const jsonOrNull = (description: string) => describedOrNull(Json, description);

/** A request that waits or waited for the approval of a second person. */
export const ApprovalRecord = Type.Object({
  approval_id: Type.String({ description: 'apr_ and 32 hex digits' }),
  status: literals(
    APPROVAL_STATUSES,
    'approved: it is being carried out; failed: it was approved, but was refused when it was carried out',
  ),
  operation: literals(APPROVABLE, 'The operation that the request calls'),
  program_id: textOrNull('The card program; null for a request that belongs to none'),
  summary: Type.String({
    description:
      'What the request would do, to follow the words "wants to": `withdraw 250.00 USD from the funding of Demo`',
  }),
  path: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'The ids in the path of the request, by name',
  }),
  body: jsonOrNull(
    'The body of the request; null in events and once the approval has ended, because it may be about a card holder',
  ),
  values_then: jsonOrNull(
    'State of the subject at the time of the request, such as balances and limits; null if there is none',
  ),
  values_now: jsonOrNull('The current values, in get_approval while the approval is pending; otherwise null'),
  request_id: Type.String({ description: 'Request-Id of the request' }),
  requested_by: Type.String({ description: 'Id of the requester, a person (per_) or a key (key_)' }),
  requested_by_name: textOrNull('Name of that person or key; null in events, and once it is erased'),
  requested_at: moment('When it was requested'),
  expires_at: moment('When it expires, if no one decides'),
  decided_by: textOrNull('Id of the person (per_) or the key (key_) that decided; null without a decision'),
  decided_by_name: textOrNull('Name of that person or key; null in events, and if there is none'),
  decided_at: nullable(moment('When it was decided; null without a decision')),
  reason: textOrNull('Reason for the decision; null if there is none'),
  result: jsonOrNull(
    'Response of the operation, without secrets and texts that can be about a card holder; null until it is carried out',
  ),
  error: describedOrNull(ErrorRecordSchema, 'Why the change was refused; null unless the status is `failed`'),
});

export const ApprovalRule = Type.Object(
  {
    operation: literals(APPROVABLE, 'The operation whose requests by operators need an approval'),
    over: Type.Optional(
      amountFrom(
        0,
        'Only amounts above this one, in minor units of `currency`; amounts in other currencies always match',
      ),
    ),
    currency: Type.Optional(currencyCode('The currency of `over`')),
    scopes: Type.Optional(
      Type.Array(literals(KEY_SCOPES, 'A scope'), {
        minItems: 1,
        description: 'Only keys with one of these scopes; only with create_key',
      }),
    ),
    fields: Type.Optional(
      Type.Array(literals(RULED_FIELDS, 'A field'), {
        minItems: 1,
        description: 'Only changes of one of these fields; only with update_program',
      }),
    ),
  },
  {
    additionalProperties: false,
    ...checkedTogether({
      dependentRequired: { over: ['currency'], currency: ['over'] },
      allOf: [
        ifThen(needs('over'), { properties: { operation: { enum: WITH_AMOUNT } } }),
        ifThen(needs('scopes'), is('operation', 'create_key')),
        ifThen(needs('fields'), is('operation', 'update_program')),
      ],
    }),
    ...refuseEmpty({ over: 'for all amounts', scopes: 'for all keys', fields: 'for all fields' }),
  },
);

const RULES = (description: string) => Type.Array(ApprovalRule, { maxItems: MAX_RULES, description });
const HOURS = { minimum: 1, maximum: MAX_APPROVAL_HOURS } as const;

export const ApprovalPolicy = Type.Object({
  rules: RULES('The rules; a request that matches one needs an approval'),
  expires_after_hours: Type.Integer({ ...HOURS, description: 'How long a request waits before it expires' }),
  changed_at: nullable(moment('When the policy was last changed; null if it never was')),
  changed_by: textOrNull('Who changed it; null if it never was'),
});

export const ChangeApprovalPolicyBody = Type.Object(
  {
    // The type is loose, because the handler validates the rules one by one.
    rules: Type.Unsafe<readonly JsonValue[]>({
      ...RULES('All rules, which replace the current ones; an empty list ends approvals'),
    }),
    expires_after_hours: Type.Optional(
      Type.Integer({
        ...HOURS,
        'x-default': 24,
        description: 'How long a request waits before it expires; 24 if omitted',
      }),
    ),
  },
  { additionalProperties: false, ...refuseEmpty({ expires_after_hours: 'for 24 hours' }) },
);

const MAX_REASON = 500;

export const ApproveChangeBody = Type.Object({
  reason: Type.Optional(freeText(MAX_REASON, 'The reason; the audit log records it')),
});

export const RejectChangeBody = Type.Object({ reason: freeText(MAX_REASON, 'The reason; the requester can read it') });

const PATH = '/api/v0.1/operator/approval';
const ONE = `${PATH}/{approval_id}`;

const PENDING = {
  approval_id: 'apr_0196f5c2d9b17e3285d0c4a961f8be27',
  status: 'pending',
  operation: 'create_withdrawal',
  program_id: DEMO_PROGRAM,
  summary: 'withdraw 250.00 USD from the funding of Demo program',
  path: { program_id: DEMO_PROGRAM },
  body: { amount: 25_000, description: 'Monthly sweep' },
  values_then: { funding: [{ currency: 'USD', balance: 5_000_000, available: 5_000_000 }] },
  values_now: null,
  requested_by: 'per_0196f5c2d9a38d11a6e4f2a90c8d5e73',
  requested_by_name: 'Tariq Haddad',
  requested_at: EXAMPLE_TIME,
  expires_at: '2026-02-01T09:30:00.000Z',
  decided_by: null,
  decided_by_name: null,
  decided_at: null,
  reason: null,
  result: null,
  error: null,
} as const;

const DECIDED = {
  ...PENDING,
  body: null,
  decided_by: 'per_0196f5c2d9a48d11a6e4f2a90c8d5e74',
  decided_by_name: 'Olivia Park',
  decided_at: EXAMPLE_LATER,
} as const;

const RULE = { operation: 'create_withdrawal', over: 10_000, currency: 'USD' } as const;

/** The parts that the decisions share. The handler checks further scopes, which depend on the request. */
const DECISION = {
  method: 'POST',
  reach: 'operator',
  scope: 'operator:read',
  reply: ApprovalRecord,
  repeatable: true,
  audit: 'always',
} as const;

export const APPROVALS = [
  operation({
    id: 'list_approvals',
    method: 'GET',
    path: PATH,
    summary: 'List the requests that are or were waiting for an approval, newest first',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({
      limit,
      cursor,
      status: Type.Optional(literals(APPROVAL_STATUSES, 'Only approvals with this status')),
      program_id: Type.Optional(idText('prog', 'Only approvals of this card program')),
    }),
    reply: pageOf(ApprovalRecord),
    failure: 'The approvals could not be listed',
    example: { reply: PENDING },
  }),
  operation({
    id: 'get_approval',
    method: 'GET',
    path: ONE,
    summary: "Get an approval, with its subject's balances and limits at the request and now",
    reach: 'operator',
    scope: 'operator:read',
    reply: ApprovalRecord,
    errors: ['approval_not_found'],
    failure: 'The approval could not be read',
    example: { reply: { ...PENDING, values_now: PENDING.values_then } },
  }),
  operation({
    id: 'approve_change',
    ...DECISION,
    path: `${ONE}/approve`,
    summary: "Approve someone else's request, and carry it out",
    freshSignIn: true,
    body: ApproveChangeBody,
    movesMoney: true,
    errors: ['approval_not_found', 'own_approval', 'invalid_approval_status', 'service_disabled'],
    failure: 'The request could not be approved',
    example: { reply: { ...DECIDED, status: 'carried_out' } },
  }),
  operation({
    id: 'reject_change',
    ...DECISION,
    path: `${ONE}/reject`,
    summary: "Reject someone else's request",
    freshSignIn: true,
    body: RejectChangeBody,
    errors: ['approval_not_found', 'own_approval', 'invalid_approval_status'],
    failure: 'The request could not be rejected',
    example: {
      body: { reason: 'The sweep of this month was made on Monday.' },
      reply: { ...DECIDED, status: 'rejected', reason: 'The sweep of this month was made on Monday.' },
    },
  }),
  operation({
    id: 'withdraw_change',
    ...DECISION,
    path: `${ONE}/withdraw`,
    summary: 'Withdraw your own request, before anyone has decided',
    errors: ['approval_not_found', 'invalid_approval_status'],
    failure: 'The request could not be withdrawn',
    example: { reply: { ...DECIDED, status: 'withdrawn' } },
  }),
  operation({
    id: 'get_approval_policy',
    method: 'GET',
    path: '/api/v0.1/operator/approval-policy',
    summary: 'Get the rules that determine which requests need an approval',
    reach: 'operator',
    scope: 'operator:read',
    reply: ApprovalPolicy,
    failure: 'The approval policy could not be read',
    example: { reply: { rules: [RULE], expires_after_hours: 24 } },
  }),
  operation({
    id: 'change_approval_policy',
    method: 'POST',
    path: '/api/v0.1/operator/approval-policy',
    summary: 'Replace the rules that determine which requests need an approval',
    reach: 'operator',
    scope: 'operator',
    freshSignIn: true,
    body: ChangeApprovalPolicyBody,
    reply: ApprovalPolicy,
    idempotency: 'optional',
    audit: 'always',
    errors: ['idempotency_key_exists'],
    failure: 'The approval policy could not be changed',
    example: { body: { rules: [] }, reply: { rules: [], expires_after_hours: 24 } },
  }),
] as const;

export type ApprovalRecord = Static<typeof ApprovalRecord>;
export type ApprovalRule = Static<typeof ApprovalRule>;
export type ApprovalPolicy = Static<typeof ApprovalPolicy>;
