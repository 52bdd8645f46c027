import type { Mutants, Witness } from './mutant.ts';

const CONTRACT: readonly [Witness] = [{ file: 'test/contract/contract.test.ts' }];

/** Broken promises of the OpenAPI document that only generated requests find. */
export const CONTRACTS: Mutants = {
  'lock-not-granted': {
    mistake: 'the first card in a new currency locks a row of a table that the role of requests may not lock',
    edits: {
      LOCK_PROGRAM: ['program where program_id = :programId', 'ledger_mode where :programId::uuid is not null'],
    },
    witnesses: CONTRACT,
  },
  'integer-wider-than-its-column': {
    mistake: 'a position that the document allows is too large for the type of its column',
    edits: { PLACES_AFTER: ['position <= :after::bigint', 'position <= :after::integer'] },
    witnesses: CONTRACT,
  },
  'id-that-a-url-normalises': {
    mistake: 'a card may be called "..", so no URL reaches it',
    edits: {
      visibleId: ['pattern: NOT_DOTS, description });', 'pattern: VISIBLE, description });\nvoid NOT_DOTS;'],
      'openapi.json': ['"description": "Your id for the card: 1 to', '"pattern": "^[\\\\x21-\\\\x7e]+$", $&'],
    },
    witnesses: CONTRACT,
  },
  'limit-in-bytes': {
    mistake: 'the limit of the body counts the characters of its fields as bytes',
    edits: { operation: ['maxBodyBytesOf(spec.body as SchemaShape)', '$& / 4'] },
    witnesses: CONTRACT,
  },
  'times-of-three-digits': {
    mistake: 'a time may have at most three fractional digits, fewer than RFC 3339 allows',
    edits: { MOMENT_FORM: ['(\\.\\d+)', '(\\.\\d{1,3})'] },
    witnesses: CONTRACT,
  },
  'filter-refuses-what-is-stored': {
    mistake: 'the metadata filter refuses the empty value, although it can be stored',
    edits: { metadataFilter: ['minLength: 0', 'minLength: 1'] },
    witnesses: CONTRACT,
  },
  'in-on-a-plain-object': {
    mistake: "a header with the name of an object's built-in method counts as sent twice",
    edits: { readHeaders: ['seen.has(lower)', 'name in {} || $&'] },
    witnesses: CONTRACT,
  },
  'status-not-documented': {
    mistake: 'a change of an older version is refused with an undocumented status',
    edits: { 'REQUEST_ERRORS.precondition_failed': ['status: 412', 'status: 428'] },
    witnesses: CONTRACT,
  },
  'precondition-ignored': {
    mistake: 'a change is made although If-Match has an older version',
    edits: {
      findOldVersion: [
        'if (ifMatch.includes(version)) return undefined;',
        'if (ifMatch.length > 0) return undefined;\n  void version;',
      ],
    },
    witnesses: CONTRACT,
  },
  'field-accepted-and-ignored': {
    mistake: 'a change of a read-only field is accepted but not made',
    edits: { unchangeableFields: ["method !== 'PATCH'", "method !== 'PUT'"] },
    witnesses: CONTRACT,
  },
};
