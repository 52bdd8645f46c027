import { type Static, Type } from 'typebox';
import { operation } from './operation.ts';
import { EXAMPLE_LATER, EXAMPLE_TIME } from './samples.ts';
import { moment, nullable, PageQuery, pageOf, textOrNull } from './schema-parts.ts';

/** A person who has signed in with the OpenID provider, or as one of the example people of a sandbox. */
export const PersonRecord = Type.Object({
  person_id: Type.String({ description: 'per_ and 32 hex digits' }),
  issuer: Type.String({ description: 'URL of the OpenID provider, or `sandbox`' }),
  subject: Type.String({ description: "The provider's id of the person (`sub`)" }),
  name: textOrNull('Name; null if the provider sends none, and after erase_person'),
  email: textOrNull('Email address; null if the provider sends none, and after erase_person'),
  roles: Type.Array(Type.String(), {
    description: 'Roles of the last sign-in, such as `support`, or `viewer@prog_…` for one card program',
  }),
  first_seen_at: moment('When the person first signed in, in actual time'),
  last_seen_at: moment('When the person last signed in, in actual time'),
  blocked_at: nullable(moment('When the person was blocked; null if the person may sign in')),
  erased_at: nullable(
    moment('When name and email were erased; null if they were not, or if the person has signed in since'),
  ),
});

const PATH = '/api/v0.1/operator/person';
const ADA = {
  issuer: 'https://id.example.com',
  subject: 'b6a1c7f0',
  name: 'Ada Okafor',
  email: 'ada@example.com',
  roles: ['support'],
  first_seen_at: EXAMPLE_TIME,
  last_seen_at: EXAMPLE_LATER,
  blocked_at: null,
  erased_at: null,
} as const;

/** The parts that all changes of a person share. */
const CHANGE = {
  method: 'POST',
  reach: 'operator',
  scope: 'keys:write',
  reply: PersonRecord,
  idempotency: 'optional',
  audit: 'always',
  errors: ['idempotency_key_exists', 'person_not_found'],
} as const;

export const PEOPLE = [
  operation({
    id: 'list_people',
    method: 'GET',
    path: PATH,
    summary: 'List the people who have signed in, newest first',
    reach: 'operator',
    scope: 'operator:read',
    query: PageQuery,
    reply: pageOf(PersonRecord),
    failure: 'The people could not be listed',
    example: { reply: ADA },
  }),
  operation({
    id: 'get_person',
    method: 'GET',
    path: `${PATH}/{person_id}`,
    summary: 'Get a person who has signed in',
    reach: 'operator',
    scope: 'operator:read',
    reply: PersonRecord,
    errors: ['person_not_found'],
    failure: 'The person could not be read',
    example: { reply: ADA },
  }),
  operation({
    id: 'block_person',
    ...CHANGE,
    path: `${PATH}/{person_id}/block`,
    summary: 'End the sessions of a person, and refuse their next sign-in',
    failure: 'The person could not be blocked',
    example: { reply: { ...ADA, blocked_at: EXAMPLE_LATER } },
  }),
  operation({
    id: 'unblock_person',
    ...CHANGE,
    path: `${PATH}/{person_id}/unblock`,
    summary: 'Let a blocked person sign in again',
    failure: 'The person could not be unblocked',
    example: { reply: ADA },
  }),
  operation({
    id: 'erase_person',
    ...CHANGE,
    path: `${PATH}/{person_id}/erase`,
    summary: 'Block a person, and erase their name and email; the audit log keeps their id',
    failure: 'The person could not be erased',
    example: { reply: { ...ADA, name: null, email: null, blocked_at: EXAMPLE_LATER, erased_at: EXAMPLE_LATER } },
  }),
] as const;

export type PersonRecord = Static<typeof PersonRecord>;
