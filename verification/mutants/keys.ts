import type { Mutant, Witness } from './mutant.ts';

const LOCKS: Witness = { file: 'test/store/locks.test.ts' };
const BATCH: Witness = { file: 'test/store/batch.test.ts' };
const GROUPS: Witness = { file: 'test/store/groups.test.ts' };
const OTHER_OPERATIONS: Witness = { file: 'test/api/transfers/idempotent-operations.test.ts' };

/** Mistakes about idempotency keys. */
export const KEYS: readonly Mutant[] = [
  {
    name: 'group-forgets-its-keys',
    mistake: "a key that is sent twice in one group is executed twice, and only the table's unique key stops it",
    find: '    this.#storedResponses.set(key.keyHash, response);\n',
    replace: '',
    witnesses: [GROUPS],
  },
  {
    name: 'unique-key-dropped',
    mistake: 'the table of stored responses has no unique key',
    find: 'alter table idempotency add constraint idempotency_pkey primary key (key_hash);\n',
    replace: 'create index idempotency_pkey on idempotency (key_hash);\n',
    witnesses: [LOCKS],
  },
  {
    name: 'replay-without-body-check',
    mistake: 'a used key returns its stored response for any request',
    find: 'if (isSame(stored, fingerprint)) return stored;',
    replace: "if (isSame(stored, fingerprint) || fingerprint.ofMeaning !== '') return stored;",
    witnesses: [BATCH],
  },
  {
    name: 'refusal-not-kept',
    mistake: 'a refused key succeeds when it is sent again after money has arrived',
    find: 'ERRORS[code].status === 409;',
    replace: 'ERRORS[code].status === 410;',
    witnesses: [{ file: 'test/api/transfers/idempotency.test.ts' }],
  },
  {
    name: 'secret-kept-for-replays',
    mistake: 'the stored response for a new key contains its secret',
    find: 'stored === undefined ? json : JSON.stringify(stored)',
    replace: 'json',
    witnesses: [OTHER_OPERATIONS],
  },
];
