import { type Static, Type } from 'typebox';
import { call } from '../error.ts';
import { KeyRecord } from '../keys.ts';
import { DEMO_PROGRAM, sampleOf, sampleOfParameter } from '../samples.ts';
import { described, nullable } from '../schema-parts.ts';
import { SwitchRecord } from '../service/switch.ts';
import { eventType } from './definition.ts';

const { reason: _reason, actor: _actor, ...SHOWN } = SwitchRecord.properties;

/** The schema of the data of switch.changed. Only operators get the reason and the actor. */
export const SwitchChangeRecord = Type.Object({
  ...SHOWN,
  reason: Type.Optional(
    nullable(Type.String({ description: 'The reason, or null if none was given; only in the event for operators' })),
  ),
  actor: Type.Optional(Type.String({ description: 'Who changed it; only in the event for operators' })),
});

/** The schema of the data of key.rolled: the new key, and the old one. */
export const RolledKeyRecord = Type.Object({
  ...KeyRecord.properties,
  replaces: described(KeyRecord, 'The replaced key, which stops working at its expires_at'),
});

const SHOP = {
  name: 'Shop server',
  scopes: ['transfers:read', 'transfers:write'],
  program_id: DEMO_PROGRAM,
} as const;
const CREATE = call('create_key', { body: SHOP });
const KEY_NOTES = [
  'Only the response to create_key or roll_key contains the secret of a key. No event contains it.',
  'If the key is bound to a card program, that program gets the event. Events of other keys are for operators only.',
] as const;

const REPLACED = {
  ...Object(sampleOf(KeyRecord)),
  ...SHOP,
  key_id: 'key_0196f4a09d3b7e62b1c85d07f3a92e46',
  shown_as: 'ts_3Ew9Rd…',
  created_at: '2026-01-02T08:00:00.000Z',
  expires_at: '2026-02-01T09:30:00.000Z',
  replaced_by: sampleOfParameter('key_id'),
};

export const ACCESS_EVENTS = {
  'switch.changed': eventType({
    summary:
      'Transfers were disabled or enabled: in the whole service, in a card program, of one type, or at one connector.',
    sent: [
      'change_switch succeeds.',
      'A change of the whole service or of a connector is sent to every card program. A change that names a card program is sent only to that program.',
      'Operators also get an event of the service itself, which has the `reason` and the `actor`.',
    ],
    data: SwitchChangeRecord,
    subject: 'program_id',
    subjectOtherwise: 'service',
    operation: 'get_switch',
    notes: [
      "While `disabled` is true, requests that would move money get the error service_disabled. With a `connector_id`, only new loads and unloads of that connector's cards get it.",
      'At the time in `until`, transfers are enabled again without an event.',
    ],
    example: { disabled: true, program_id: null, connector_id: null, reason: undefined, actor: undefined },
    sample: {
      reproduce: 'Disable the service, then enable it again.',
      request: call('change_switch', { body: { disabled: true, reason: 'Maintenance' } }),
      after: [call('change_switch', { body: { disabled: false } })],
    },
  }),
  'key.created': eventType({
    summary: 'An API key was created.',
    sent: ['create_key succeeds.'],
    data: KeyRecord,
    subject: 'key_id',
    operation: 'list_keys',
    notes: KEY_NOTES,
    example: SHOP,
    sample: {
      reproduce: 'Create a key of the demo program.',
      request: CREATE,
      after: [call('revoke_key')],
    },
  }),
  'key.rolled': eventType({
    summary: 'An API key was replaced with a new one.',
    sent: ['roll_key succeeds. The old key works until its expires_at.'],
    data: RolledKeyRecord,
    subject: 'key_id',
    operation: 'list_keys',
    notes: KEY_NOTES,
    example: { ...SHOP, replaces: REPLACED },
    sample: {
      reproduce: 'Create a key of the demo program, then roll it.',
      given: [CREATE],
      request: call('roll_key', { body: {} }),
    },
  }),
  'key.revoked': eventType({
    summary: 'An API key was revoked.',
    sent: ['revoke_key succeeds. Revoking a key again causes no event.'],
    data: KeyRecord,
    subject: 'key_id',
    operation: 'list_keys',
    notes: [...KEY_NOTES, 'The expiry of a key causes no event.'],
    example: { ...SHOP, revoked_at: '2026-01-31T10:15:00.000Z' },
    sample: {
      reproduce: 'Create a key of the demo program, then revoke it.',
      given: [CREATE],
      request: call('revoke_key'),
    },
  }),
};

export type SwitchChangeRecord = Static<typeof SwitchChangeRecord>;
