import type { Mutant, Witness } from './mutant.ts';

const WALL: Witness = { file: 'test/security/row-level-security.test.ts' };
const APART: Witness = { file: 'test/security/programs-apart.test.ts' };
const CREDENTIALS: Witness = { file: 'test/security/credentials.test.ts' };

const AUTHENTICATE = 'server/subjects/keys/authenticate.ts';

/** Mistakes about authentication, the separation of programs, and input from callers. */
export const WALLS: readonly Mutant[] = [
  {
    name: 'policy-lets-all-through',
    mistake: 'the database shows a request the rows of every program',
    file: 'server/store/migrations/0005_row_level_security.sql',
    find: 'using (coalesce(program_id = any ((select own_programs())::uuid[]), false))',
    replace: 'using (coalesce(program_id = any ((select own_programs())::uuid[]), true) or true)',
    witnesses: [WALL],
  },
  {
    name: 'requests-work-as-operators',
    mistake: 'requests of card programs work under the role that sees everything',
    find: 'database: databases.application.forProgram(call.programId)',
    replace: 'database: databases.background',
    witnesses: [APART, WALL],
  },
  {
    name: 'secret-not-compared',
    mistake: 'the database finds a key by its public part alone',
    find: 'and api_key.secret_hash = sent.secret_hash limit 1',
    replace: 'and sent.secret_hash is not null limit 1',
    witnesses: [{ file: 'test/security/keys.test.ts', only: 'an API key' }],
  },
  {
    name: 'found-by-the-public-part',
    mistake: 'when keys are looked up together, a guess with a known public part is accepted',
    find: '=> publicPart + secretHash.toString(',
    replace: '=> publicPart + secretHash.subarray(32).toString(',
    witnesses: [CREDENTIALS],
  },
  {
    name: 'revoked-key-believed',
    mistake: 'an accepted key stays valid for a minute, even if it is revoked',
    file: AUTHENTICATE,
    find: 'const CACHED_MILLISECONDS = 1000;',
    replace: 'const CACHED_MILLISECONDS = 60_000;',
    witnesses: [{ file: 'test/security/keys.test.ts', only: 'a key ends' }],
  },
  {
    name: 'card-number-in-body-taken',
    mistake: 'card numbers are searched for in path, query and headers, but not in bodies',
    find: "    findCardNumber(sent.body, operation.body, 'body');",
    replace: '    undefined;',
    witnesses: [{ file: 'test/security/planted-numbers.test.ts' }],
  },
  {
    name: 'transfer-read-in-any-program',
    mistake: 'a transfer is read by its id alone, and only the database hides it from other programs',
    find: `\${WITH_CARDS}
    where transfer.program_id = :programId and`,
    replace: `\${WITH_CARDS}
    where :programId::uuid is not null and`,
    witnesses: [APART],
  },
  {
    name: 'card-read-in-any-program',
    mistake: 'a card is read by its name alone, and only the database hides it from other programs',
    find: `account using (program_id, account_id)
    where card.program_id = :programId and`,
    replace: `account using (program_id, account_id)
    where :programId::uuid is not null and`,
    witnesses: [APART],
  },
];

const CLOCKS_OFF: Witness = { file: 'test/api/clocks.test.ts' };

/** Mistakes about clocks. */
export const CLOCKS: readonly Mutant[] = [
  {
    name: 'ids-by-own-clock',
    mistake: 'the ids of transfers come from the clock of the process',
    find: 'return idAt(now, this.#ids);',
    replace: 'return idAt(Date.now() + 0 * now, this.#ids);',
    witnesses: [CLOCKS_OFF],
  },
  {
    name: 'errors-by-own-clock',
    mistake: 'errors are dated by the clock of the process',
    find: 'return Math.round(origin + performance.now());',
    replace: 'return origin > 0 ? Date.now() : 0;',
    witnesses: [CLOCKS_OFF],
  },
];

/** Mistakes about overload and rate limits. */
export const CROWDS: readonly Mutant[] = [
  {
    name: 'crowd-begun-all-at-once',
    mistake: 'all waiting requests begin in one turn of the event loop',
    find: 'if (isFree && this.#begunInBatch < BATCH_SIZE) {',
    replace: 'if (isFree || this.#begunInBatch < BATCH_SIZE) {',
    witnesses: [{ file: 'test/http/overload.test.ts' }],
  },
  {
    name: 'crowd-kept-in-memory',
    mistake: 'finished requests stay in memory until no request waits',
    find: '  readonly #waiting: Waiting[] = [];',
    replace: '  readonly #waiting: Waiting[] = [];\n  readonly #had: Waiting[] = [];',
    also: [
      {
        find: 'this.#waiting.splice(0, BATCH_SIZE)',
        replace: 'this.#waiting.splice(0, BATCH_SIZE).filter((each) => this.#had.push(each))',
      },
      {
        find: '    this.#batchBeganAt = performance.now();',
        replace: '    this.#had.length = 0;\n    this.#batchBeganAt = performance.now();',
      },
    ],
    witnesses: [{ file: 'test/http/overload.test.ts' }],
  },
  {
    name: 'debt-forgiven',
    mistake: 'the cost of a large request is capped at the remaining allowance',
    find: 'const emptyAt = this.#emptyAt(caller, now) + requests * this.#costMilliseconds;',
    replace:
      'const emptyAt = Math.min(now + WINDOW_MILLISECONDS, this.#emptyAt(caller, now) + requests * this.#costMilliseconds);',
    witnesses: [{ file: 'test/http/rate-limit.test.ts' }],
  },
];
