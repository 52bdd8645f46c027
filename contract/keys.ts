import { type Static, Type } from 'typebox';
import { operation } from './operation.ts';
import { DEMO_PROGRAM, EXAMPLE_LATER } from './samples.ts';
import {
  checkedTogether,
  idText,
  ifThen,
  is,
  line,
  literals,
  moment,
  needs,
  nullable,
  PageQuery,
  pageOf,
  refuseEmpty,
  textOrNull,
} from './schema-parts.ts';
import { isOfOperators, KEY_SCOPES, OPERATOR_SCOPES, ROLE_NAMES, ROLES } from './scope.ts';

/** The roles with a scope that only keys for all card programs can have. */
const OPERATOR_ROLES = ROLE_NAMES.filter((role) => ROLES[role].some(isOfOperators));

export const CreateKeyBody = Type.Object(
  {
    name: line(100, 'Purpose of the key'),
    scopes: Type.Optional(
      Type.Array(literals(KEY_SCOPES, 'A scope'), {
        minItems: 1,
        description:
          'What the key can do; required unless `role` is sent. Nothing is granted by default, and the operator scopes, ' +
          'which begin with `operator:read` in this list, require `all_programs`',
      }),
    ),
    role: Type.Optional(literals(ROLE_NAMES, 'The scopes of a role, instead of `scopes`')),
    program_id: Type.Optional(
      idText('prog', 'The card program that the key is bound to; required unless `all_programs` is true'),
    ),
    all_programs: Type.Optional(
      Type.Boolean({
        'x-default': false,
        description: 'true for a key that can act in all card programs and is bound to none; not with `program_id`',
      }),
    ),
    expires_at: Type.Optional(moment('When the key expires')),
    person_id: Type.Optional(
      idText(
        'per',
        'The person that the key belongs to. Blocking the person ends the key. Only a key that belongs to a person can approve requests',
      ),
    ),
  },
  {
    // Unknown fields are refused, because one may be a misspelled `expires_at`.
    additionalProperties: false,
    ...checkedTogether({
      allOf: [
        ifThen(needs('scopes'), { not: needs('role') }, needs('role')),
        ifThen(is('all_programs', true), { not: needs('program_id') }, needs('program_id')),
        // A key with an operator scope must be for all card programs.
        ifThen(
          { ...needs('scopes'), properties: { scopes: { contains: { enum: OPERATOR_SCOPES } } } },
          is('all_programs', true),
        ),
        ifThen({ ...needs('role'), properties: { role: { enum: OPERATOR_ROLES } } }, is('all_programs', true)),
      ],
    }),
    ...refuseEmpty({
      program_id: "and send 'all_programs': true for a key that can act in all card programs",
      all_programs: "and send 'program_id'",
      expires_at: 'for a key that does not expire',
      person_id: 'for a key that belongs to no one',
    }),
  },
);

export const RollKeyBody = Type.Object(
  {
    previous_until: Type.Optional(
      moment('When the old key stops working: after 24 hours if omitted, and no later than its expiry'),
    ),
    expires_at: Type.Optional(
      moment('When the new key expires; if omitted, it is valid for the same time as the old key'),
    ),
  },
  {
    // Unknown fields are refused, because one may be a misspelling of one of the two times.
    additionalProperties: false,
    ...refuseEmpty({
      previous_until: 'to let the old key work for 24 hours',
      expires_at: 'to let the new key last as long as the old one',
    }),
  },
);

/** An API key without its secret. */
export const KeyRecord = Type.Object({
  key_id: Type.String({ description: 'Id of the key: key_ and 32 hex digits; not the key itself' }),
  name: Type.String({ description: 'Purpose of the key' }),
  program_id: textOrNull('The card program that the key is bound to; null if it can act in all of them'),
  scopes: Type.Array(literals(KEY_SCOPES, 'A scope'), { description: 'What the key can do' }),
  role: nullable(literals(ROLE_NAMES, 'The role with exactly these scopes; null if none has them')),
  shown_as: Type.String({ description: 'The part of the key that is not secret' }),
  created_at: moment('When it was created'),
  expires_at: nullable(moment('When it expires; null if it does not')),
  revoked_at: nullable(moment('When it was revoked; null if it was not')),
  last_used_at: nullable(moment('When it was last used, accurate to about a minute; null if it was not used yet')),
  replaced_by: textOrNull('key_id of the key that replaces it; null if none does'),
  person_id: textOrNull('The person that it belongs to; null if it belongs to no one'),
  created_by: textOrNull(
    'Id of the person (per_) or the key (key_) that created or rolled it; null for a command on the host, a sandbox without keys, and earlier versions',
  ),
});

/** A new API key: the only record with the secret. */
export const NewKeyRecord = Type.Object({
  ...KeyRecord.properties,
  key: textOrNull(
    'The key with its secret: in the first response only, otherwise null, because the secret is not stored',
  ),
  key_omitted: textOrNull(
    'Only when an Idempotency-Key is replayed: why `key` is null, and what to do; otherwise null',
  ),
});

const PATH = '/api/v0.1/operator/key';
const SHOP = {
  name: 'Shop server',
  person_id: null,
  scopes: ['transfers:read', 'transfers:write'],
  last_used_at: EXAMPLE_LATER,
} as const;

export const KEYS = [
  operation({
    id: 'create_key',
    method: 'POST',
    path: PATH,
    summary: 'Create an API key; its secret is shown once',
    reach: 'operator',
    scope: 'keys:write',
    freshSignIn: true,
    body: CreateKeyBody,
    status: 201,
    reply: NewKeyRecord,
    idempotency: 'optional',
    audit: 'always',
    errors: ['program_not_found', 'person_not_found', 'idempotency_key_exists'],
    failure: 'The key could not be created',
    example: {
      body: { name: 'Shop server', program_id: DEMO_PROGRAM, scopes: ['transfers:read', 'transfers:write'] },
      reply: { ...SHOP, last_used_at: null },
    },
  }),
  operation({
    id: 'list_keys',
    method: 'GET',
    path: PATH,
    summary: 'List API keys, newest first',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({
      ...PageQuery.properties,
      scope: Type.Optional(
        literals(KEY_SCOPES, 'Only keys that have this scope; `operator` includes the other operator scopes'),
      ),
    }),
    reply: pageOf(KeyRecord),
    failure: 'The keys could not be listed',
    example: { reply: SHOP },
  }),
  operation({
    id: 'roll_key',
    method: 'POST',
    path: `${PATH}/{key_id}/roll`,
    summary: 'Replace an API key with a new one; the old key works until a given time',
    reach: 'operator',
    scope: 'keys:write',
    freshSignIn: true,
    body: RollKeyBody,
    status: 201,
    reply: NewKeyRecord,
    idempotency: 'optional',
    audit: 'always',
    errors: ['idempotency_key_exists', 'key_not_found'],
    failure: 'The key could not be rolled',
    example: { body: { previous_until: '2100-01-31T09:30:00Z' }, reply: { ...SHOP, last_used_at: null } },
  }),
  operation({
    id: 'revoke_key',
    method: 'POST',
    path: `${PATH}/{key_id}/revoke`,
    summary: 'Revoke an API key',
    reach: 'operator',
    scope: 'keys:write',
    reply: KeyRecord,
    idempotency: 'optional',
    audit: 'always',
    errors: ['idempotency_key_exists', 'key_not_found'],
    failure: 'The key could not be revoked',
    example: { reply: { ...SHOP, revoked_at: EXAMPLE_LATER } },
  }),
] as const;

export type KeyRecord = Static<typeof KeyRecord>;
export type NewKeyRecord = Static<typeof NewKeyRecord>;
