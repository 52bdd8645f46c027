import { type Static, Type } from 'typebox';
import { SWITCH_SCOPES } from '../../domain/switch.ts';
import { TRANSFER_TYPES } from '../../domain/transfers/transfer.ts';
import { operation } from '../operation.ts';
import { DEMO_PROGRAM, EXAMPLE_LATER, EXAMPLE_TIME } from '../samples.ts';
import {
  checkedTogether,
  connectorId,
  freeText,
  idText,
  ifThen,
  is,
  literals,
  moment,
  needs,
  nullable,
  programId,
  refuseEmpty,
  requires,
  textOrNull,
} from '../schema-parts.ts';

const TYPE = literals(TRANSFER_TYPES, 'Only transfers of this type; requires program_id or connector_id');

/** The body of change_switch. Without `program_id` and `connector_id` it applies to the whole service. */
export const ChangeSwitchBody = Type.Object(
  {
    disabled: Type.Boolean({ description: 'true disables, false enables' }),
    reason: Type.Optional(freeText(500, 'Reason; required to disable')),
    program_id: Type.Optional(idText('prog', 'Only this card program')),
    type: Type.Optional(TYPE),
    connector_id: Type.Optional(
      connectorId(
        'Only what goes to this connector: new loads and unloads of its cards, and orders that were not sent yet',
      ),
    ),
    until: Type.Optional(moment('When it is enabled again automatically')),
  },
  {
    // Unknown fields are refused, because one may be intended to narrow the scope.
    additionalProperties: false,
    ...checkedTogether({
      allOf: [
        ifThen(is('disabled', true), needs('reason'), { not: needs('until') }),
        ifThen(needs('connector_id'), { properties: { type: { enum: ['load', 'unload'] } } }),
        ifThen(needs('type'), { anyOf: [needs('program_id'), needs('connector_id')] }),
      ],
    }),
    ...refuseEmpty({
      program_id: 'for the whole service, or all of a connector',
      type: 'for all types of transfer',
      connector_id: 'for all transfers, in this ledger and at processors',
      until: 'for a change without an end time',
    }),
  },
);

export const SwitchRecord = Type.Object({
  scope: literals(
    SWITCH_SCOPES,
    'Scope of the setting; `connector`: one connector, optionally of only one program, only one type, or both',
  ),
  program_id: textOrNull('The card program; null for all'),
  type: nullable(literals(TRANSFER_TYPES, 'Type of transfer; null for all types')),
  connector_id: textOrNull('The connector; null for all transfers'),
  disabled: Type.Boolean({ description: 'Whether it is disabled now' }),
  reason: textOrNull('Why it was changed; null without a reason'),
  actor: Type.String({ description: 'Who changed it last' }),
  since: moment('When it was changed'),
  until: nullable(moment('When it is enabled again automatically; null if it is not')),
});

export const SwitchState = Type.Object({
  data: Type.Array(SwitchRecord, { description: 'Settings, the latest change first; scopes without one are enabled' }),
});

const PATH = '/api/v0.1/operator/switch';
const DISABLED = { disabled: true, program_id: null, connector_id: null, reason: 'Maintenance' } as const;

const transferCount = (description: string) =>
  Type.Object(
    {
      since: moment('Start of the hour that contains the start of the period'),
      transfers: Type.Integer({ minimum: 0, description: 'Transfers that were created since then' }),
      at_least: Type.Boolean({
        description:
          'Whether there may be more: for a connector, only the newest 10,000 orders to all connectors were read',
      }),
    },
    { description },
  );

export const SwitchPreview = Type.Object({
  scope: literals(SWITCH_SCOPES, 'What the change would apply to'),
  program_id: textOrNull('The card program; null for all'),
  type: nullable(literals(TRANSFER_TYPES, 'Type of transfer; null for all types')),
  connector_id: textOrNull('The connector; null for all transfers'),
  in_force: Type.Array(SwitchRecord, {
    description: 'Settings that disable transfers in this scope now, the widest first; to enable it, enable each',
  }),
  programs: Type.Object(
    {
      count: Type.Integer({
        minimum: 0,
        description: 'Card programs in the scope; for a connector, the programs with orders to it in the last day',
      }),
      data: Type.Array(
        Type.Object({ program_id: programId, name: Type.String({ description: 'Name of the card program' }) }),
        { description: 'The newest of them, up to 10' },
      ),
    },
    { description: 'The card programs that the change would affect' },
  ),
  last_hour: transferCount('Transfers in the scope in the last hour, of all processes'),
  last_day: transferCount('Transfers in the scope in the last 24 hours, of all processes'),
  scheduled: Type.Object(
    {
      transfers: Type.Integer({ minimum: 0, description: 'Scheduled transfers in the scope' }),
      at_least: Type.Boolean({ description: 'Whether there may be more: only the next 10,000 were counted' }),
      within_day: Type.Integer({ minimum: 0, description: 'Scheduled transfers that are due within 24 hours' }),
      next_at: nullable(moment('When the first of them is due; null if there are none')),
    },
    { description: 'Transfers that wait while their scope is disabled, and are executed when it is enabled' },
  ),
  stops: Type.Array(Type.String(), {
    description: 'What is refused or waits while the scope is disabled, in sentences',
  }),
  goes_on: Type.Array(Type.String(), { description: 'What continues while the scope is disabled, in sentences' }),
});

export const SWITCH = [
  operation({
    id: 'get_switch',
    method: 'GET',
    path: PATH,
    summary: 'Get the switch: what is disabled, who disabled it, when and why',
    reach: 'operator',
    scope: 'operator:read',
    reply: SwitchState,
    failure: 'The switch could not be read',
    example: { reply: DISABLED },
  }),
  operation({
    id: 'change_switch',
    method: 'POST',
    path: PATH,
    summary: 'Disable or enable the service, a card program, one transfer type of a program, or a connector',
    reach: 'operator',
    scope: 'switch:write',
    body: ChangeSwitchBody,
    reply: SwitchRecord,
    idempotency: 'optional',
    audit: 'always',
    errors: ['program_not_found', 'idempotency_key_exists', 'connector_not_found'],
    failure: 'The switch could not be changed',
    example: { body: { disabled: true, reason: 'Maintenance' }, reply: DISABLED },
  }),
  operation({
    id: 'preview_switch',
    method: 'GET',
    path: `${PATH}/preview`,
    summary: 'See what disabling a scope would stop (card programs, transfers and due work), and what would continue',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object(
      {
        program_id: Type.Optional(idText('prog', 'Only this card program')),
        type: Type.Optional({ ...TYPE, 'x-checked': requires('program_id', 'connector_id') }),
        connector_id: Type.Optional(connectorId('Only what goes to this connector')),
      },
      refuseEmpty({
        program_id: 'for the whole service, or all of a connector',
        type: 'for all types of transfer',
        connector_id: 'for all transfers, in this ledger and at processors',
      }),
    ),
    reply: SwitchPreview,
    errors: ['program_not_found', 'connector_not_found'],
    failure: 'The switch could not be previewed',
    example: {
      reply: {
        scope: 'service',
        connector_id: null,
        in_force: [],
        programs: { count: 1, data: [{ program_id: DEMO_PROGRAM, name: 'Demo' }] },
        last_hour: { since: EXAMPLE_TIME, transfers: 2_480, at_least: false },
        last_day: { since: EXAMPLE_TIME, transfers: 51_300, at_least: false },
        scheduled: { transfers: 12, at_least: false, within_day: 3, next_at: EXAMPLE_LATER },
        stops: ['New transfers are refused with service_disabled.'],
        goes_on: ['Holds can still be canceled or expire.'],
      },
    },
  }),
] as const;

export type ChangeSwitchBody = Static<typeof ChangeSwitchBody>;
export type SwitchRecord = Static<typeof SwitchRecord>;
export type SwitchPreview = Static<typeof SwitchPreview>;
