import type { Mutant, Witness } from './mutant.ts';

const CONTRACT: readonly [Witness] = [{ file: 'test/contract/contract.test.ts' }];

/** Mistakes of the kinds that only a stranger's request finds: what the document promises, and the service does not keep. */
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
    mistake: 'a card may be called ".." and has no address then',
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
    mistake: 'the body may have as many bytes as the fields of its schema have characters',
    file: 'contract/operation.ts',
    find: 'maxBodyBytesOf(spec.body as SchemaShape),',
    replace: 'maxBodyBytesOf(spec.body as SchemaShape) / 4,',
    witnesses: CONTRACT,
  },
  {
    name: 'times-of-three-digits',
    mistake: 'a time may have at most three digits after the second, less than RFC 3339 allows',
    find: '([0-5]\\d|60)(\\.\\d+)?',
    replace: '([0-5]\\d|60)(\\.\\d{1,3})?',
    witnesses: CONTRACT,
  },
  {
    name: 'filter-refuses-what-is-stored',
    mistake: 'the filter by metadata refuses the empty value, which can be stored',
    find: '      minLength: 0,\n',
    replace: '      minLength: 1,\n',
    witnesses: CONTRACT,
  },
  {
    name: 'in-on-a-plain-object',
    mistake: 'the name of a method that every object has counts as a header that was sent twice',
    find: 'seen.has(lower));',
    replace: 'name in {} || seen.has(lower));',
    witnesses: CONTRACT,
  },
  {
    name: 'status-not-documented',
    mistake: 'a change of an older version is refused with a status that the document does not list',
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
    mistake: 'a change of a field that cannot be changed is accepted and not made',
    find: "  if (method !== 'PATCH') return [];",
    replace: "  if (method !== 'PUT') return [];",
    witnesses: CONTRACT,
  },
];
