import type { Mutant, Witness } from './mutant.ts';

const CONTRACT: readonly [Witness] = [{ file: 'test/contract/contract.test.ts' }];

/** Broken promises of the OpenAPI document that only generated requests find. */
export const CONTRACTS: readonly Mutant[] = [
  {
    name: 'lock-not-granted',
    mistake: 'the first card in a new currency locks a row of a table that the role of requests may not lock',
    find: "'select from program where program_id = :programId for no key update',",
    replace: "'select from ledger_mode where :programId::uuid is not null for no key update',",
    witnesses: CONTRACT,
  },
  {
    name: 'integer-wider-than-its-column',
    mistake: 'a position that the document allows is too large for the type of its column',
    find: 'where program_id = :programId and position <= :after::bigint + 1',
    replace: 'where program_id = :programId and position <= :after::integer + 1',
    witnesses: CONTRACT,
  },
  {
    name: 'id-that-a-url-normalises',
    mistake: 'a card may be called "..", so no URL reaches it',
    find: 'Type.String({ minLength: 1, maxLength: 255, pattern: NOT_DOTS, description });',
    replace: 'Type.String({ minLength: 1, maxLength: 255, pattern: VISIBLE, description });\nvoid NOT_DOTS;',
    also: [
      {
        file: 'contract/openapi.json',
        find: '"description": "Your id for the card: 1 to',
        // The later of two patterns counts.
        replace: '"pattern": "^[\\\\x21-\\\\x7e]+$", "description": "Your id for the card: 1 to',
      },
    ],
    witnesses: CONTRACT,
  },
  {
    name: 'limit-in-bytes',
    mistake: 'the limit of the body counts the characters of its fields as bytes',
    file: 'contract/operation.ts',
    find: 'maxBodyBytesOf(spec.body as SchemaShape),',
    replace: 'maxBodyBytesOf(spec.body as SchemaShape) / 4,',
    witnesses: CONTRACT,
  },
  {
    name: 'times-of-three-digits',
    mistake: 'a time may have at most three fractional digits, fewer than RFC 3339 allows',
    find: '([0-5]\\d|60)(\\.\\d+)?',
    replace: '([0-5]\\d|60)(\\.\\d{1,3})?',
    witnesses: CONTRACT,
  },
  {
    name: 'filter-refuses-what-is-stored',
    mistake: 'the metadata filter refuses the empty value, although it can be stored',
    find: '      minLength: 0,\n',
    replace: '      minLength: 1,\n',
    witnesses: CONTRACT,
  },
  {
    name: 'in-on-a-plain-object',
    mistake: "a header with the name of an object's built-in method counts as sent twice",
    find: 'seen.has(lower));',
    replace: 'name in {} || seen.has(lower));',
    witnesses: CONTRACT,
  },
  {
    name: 'status-not-documented',
    mistake: 'a change of an older version is refused with an undocumented status',
    find: '    status: 412,',
    replace: '    status: 428,',
    witnesses: CONTRACT,
  },
  {
    name: 'precondition-ignored',
    mistake: 'a change is made although If-Match has an older version',
    find: 'if (ifMatch.includes(version)) return undefined;',
    replace: 'if (ifMatch.length > 0) return undefined;\n  void version;',
    witnesses: CONTRACT,
  },
  {
    name: 'field-accepted-and-ignored',
    mistake: 'a change of a read-only field is accepted but not made',
    find: "  if (method !== 'PATCH') return [];",
    replace: "  if (method !== 'PUT') return [];",
    witnesses: CONTRACT,
  },
];
