import { type Static, Type } from 'typebox';
import { TRANSFER_TYPES } from '../../domain/transfers/transfer.ts';
import { operation } from '../operation.ts';
import { literals, moment, nullable, refuseEmpty, text } from '../schema-parts.ts';

/** The body of change_switch. Without `program_id` it applies to the whole service. */
export const ChangeSwitchBody = Type.Object(
  {
    disabled: Type.Boolean({ description: 'true disables, false enables' }),
    reason: Type.Optional(text(500, 'Reason; required to disable')),
    program_id: Type.Optional(text(255, 'Only this card program')),
    type: Type.Optional(literals(TRANSFER_TYPES, 'Only transfers of this type; requires program_id')),
    until: Type.Optional(moment('When it is enabled again automatically')),
  },
  {
    // An unknown field may have been meant to narrow the scope.
    additionalProperties: false,
    ...refuseEmpty({
      program_id: 'for the whole service',
      type: 'for all types of transfer',
      until: 'for a change without an end',
    }),
  },
);

/** One setting of the switch. */
export const SwitchRecord = Type.Object({
  scope: literals(['service', 'program', 'transfer_type'], 'What the setting applies to'),
  program_id: nullable(Type.String()),
  type: nullable(literals(TRANSFER_TYPES, 'Type of transfer')),
  disabled: Type.Boolean({ description: 'Whether it is disabled now' }),
  reason: nullable(Type.String()),
  actor: Type.String({ description: 'Who changed it last' }),
  since: moment('When it was changed'),
  until: nullable(moment('When it is enabled again automatically')),
});

/** All settings of the switch. */
export const SwitchState = Type.Object({ data: Type.Array(SwitchRecord) });

const PATH = '/api/v0.1/operator/switch';
const DISABLED = { disabled: true, program_id: null, reason: 'Maintenance' } as const;

/** Operations on the switch. */
export const SWITCH = [
  operation({
    id: 'get_switch',
    method: 'GET',
    path: PATH,
    summary: 'Get the switch: what is disabled, since when, by whom and why',
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
    summary: 'Disable or enable the service, a card program, or one transfer type of a program',
    reach: 'operator',
    scope: 'switch:write',
    body: ChangeSwitchBody,
    reply: SwitchRecord,
    idempotency: 'optional',
    audit: 'always',
    errors: ['program_not_found', 'idempotency_key_exists'],
    failure: 'The switch could not be changed',
    example: { body: { disabled: true, reason: 'Maintenance' }, reply: DISABLED },
  }),
] as const;

/** A setting of the switch on the wire. */
export type SwitchRecord = Static<typeof SwitchRecord>;
