import type { Mutants, Witness } from './mutant.ts';

const LOCKS: Witness = { file: 'test/store/locks.test.ts' };
const BATCH: Witness = { file: 'test/store/batch.test.ts' };
const GROUPS: Witness = { file: 'test/store/groups.test.ts' };
const OTHER_OPERATIONS: Witness = { file: 'test/api/transfers/idempotent-operations.test.ts' };

/** Mistakes about idempotency keys. */
export const KEYS: Mutants = {
  'group-forgets-its-keys': {
    mistake: "a key that is sent twice in one group is executed twice, and only the table's unique key stops it",
    edits: { 'Books.#keep': ['this.#storedResponses.set(key.keyHash, response);', ''] },
    witnesses: [GROUPS],
  },
  'unique-key-dropped': {
    mistake: 'the table of stored responses has no unique key',
    edits: {
      '0013_narrow_indexes.sql': [
        'alter table idempotency add constraint idempotency_pkey primary key',
        'create index idempotency_pkey on idempotency',
      ],
    },
    witnesses: [LOCKS],
  },
  'replay-without-body-check': {
    mistake: 'a used key returns its stored response for any request',
    edits: { replay: ['isSame(stored, fingerprint)', "$& || fingerprint.ofMeaning !== ''"] },
    witnesses: [BATCH],
  },
  'refusal-not-kept': {
    mistake: 'a refused key succeeds when it is sent again after money has arrived',
    edits: { isStored: ['status === 409', 'status === 410'] },
    witnesses: [{ file: 'test/api/transfers/idempotency.test.ts' }],
  },
  'secret-kept-for-replays': {
    mistake: 'the stored response for a new key contains its secret',
    edits: { decide: ['stored === undefined ? json : JSON.stringify(stored)', 'json'] },
    witnesses: [OTHER_OPERATIONS],
  },
};
