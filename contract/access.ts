import { type Static, Type } from 'typebox';
import { operation } from './operation.ts';
import { EXAMPLE_LATER } from './samples.ts';
import { literals, moment, nullable, PageQuery, pageOf, raw, textOrNull } from './schema-parts.ts';
import { KEY_SCOPES } from './scope.ts';

/** What keys and people can do, in words. `abilities.ts` maps each word to its operations. */
export const ABILITIES = ['move_money', 'change_funding', 'manage_keys', 'approve', 'change_other', 'read'] as const;

/** A key that works, or a person who may sign in, and what each of them can do. */
export const AccessRecord = Type.Object({
  holder_id: Type.String({ description: 'Id of the key or the person: key_ or per_ and 32 hex digits' }),
  kind: literals(['key', 'person'], 'key: software calls the API with it; person: signs in to the console'),
  person_id: textOrNull('The person that the key belongs to, or the person itself; null if the key belongs to no one'),
  name: textOrNull('Purpose of the key or name of the person; null if the person has none'),
  program_id: textOrNull('The only card program that it can act in; null if it can act in all of them'),
  roles: Type.Array(Type.String(), {
    description:
      'The role with exactly the scopes of the key, if there is one, or the roles of the person at the last sign-in',
  }),
  scopes: Type.Array(literals(KEY_SCOPES, 'A scope'), { description: 'The scopes of the key, or of the roles' }),
  moves_money: Type.Boolean({ description: 'Whether it can move money' }),
  abilities: Type.Array(literals(ABILITIES, 'One thing that it can do'), {
    description:
      'move_money: call an operation that moves money; change_funding: move money into and out of card programs; manage_keys: ' +
      'create keys; approve: approve requests that need a second person; change_other: change anything else; read: read',
  }),
  last_used_at: nullable(
    moment('When the key was last used, accurate to about a minute, or the person last signed in; null if never'),
  ),
  expires_at: nullable(moment('When the key expires; null if it does not, and for a person')),
});

const FILTERS = {
  scope: Type.Optional(
    literals(KEY_SCOPES, 'Only holders of this scope; `operator` includes the other operator scopes'),
  ),
  moves_money: Type.Optional(
    Type.Boolean({ description: 'true: only holders that can move money; false: only holders that cannot' }),
  ),
};

const PATH = '/api/v0.1/operator/access';
const TREASURY = {
  holder_id: 'per_0196f5c2d9a38c40a5d2c08e6f1b3a97',
  kind: 'person',
  person_id: 'per_0196f5c2d9a38c40a5d2c08e6f1b3a97',
  name: 'Ada Okafor',
  program_id: null,
  roles: ['treasurer'],
  scopes: ['transfers:read', 'operator:read', 'funding:write'],
  moves_money: true,
  abilities: ['move_money', 'change_funding', 'change_other', 'read'],
  last_used_at: EXAMPLE_LATER,
  expires_at: null,
} as const;

export const ACCESS = [
  operation({
    id: 'list_access',
    method: 'GET',
    path: PATH,
    summary: 'List the keys that work and the people who may sign in, newest first, with what each can do',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({ ...PageQuery.properties, ...FILTERS }),
    reply: pageOf(AccessRecord),
    failure: 'The access could not be listed',
    example: { reply: TREASURY },
  }),
  operation({
    id: 'export_access',
    method: 'GET',
    path: `${PATH}/export`,
    summary: 'Export what keys and people can do as comma-separated values, newest first',
    reach: 'operator',
    scope: 'operator:read',
    query: Type.Object({ ...FILTERS, raw }),
    csv: true,
    reply: AccessRecord,
    failure: 'The access could not be exported',
    example: { reply: TREASURY },
  }),
] as const;

export type AccessRecord = Static<typeof AccessRecord>;
