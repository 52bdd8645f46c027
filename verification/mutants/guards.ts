import type { Mutants, Witness } from './mutant.ts';

const WALL: Witness = { file: 'test/security/row-level-security.test.ts' };
const APART: Witness = { file: 'test/security/programs-apart.test.ts' };
const CREDENTIALS: Witness = { file: 'test/security/credentials.test.ts' };

/** Mistakes about authentication, the separation of programs, and input from callers. */
export const WALLS: Mutants = {
  'policy-lets-all-through': {
    mistake: 'the database shows a request the rows of every program',
    edits: {
      '0005_row_level_security.sql': [
        'using (coalesce(program_id = any ((select own_programs())::uuid[]), false))',
        'using (coalesce(program_id = any ((select own_programs())::uuid[]), true) or true)',
      ],
    },
    witnesses: [WALL],
  },
  'requests-work-as-operators': {
    mistake: 'requests of card programs work under the role that sees everything',
    edits: { handlersOf: ['databases.application.forProgram(programId)', 'databases.background'] },
    witnesses: [APART, WALL],
  },
  'secret-not-compared': {
    mistake: 'the database finds a key by its public part alone',
    edits: { FIND_KEYS: ['api_key.secret_hash = sent.secret_hash', 'sent.secret_hash is not null'] },
    witnesses: [{ file: 'test/security/keys.test.ts', only: 'an API key' }],
  },
  'found-by-the-public-part': {
    mistake: 'when keys are looked up together, a guess with a known public part is accepted',
    edits: { openKeySearch: ['secretHash.toString', 'secretHash.subarray(32).toString'] },
    witnesses: [CREDENTIALS],
  },
  'revoked-key-believed': {
    mistake: 'an accepted key stays valid for a minute, even if it is revoked',
    edits: { 'keys/authenticate.ts': ['CACHED_MILLISECONDS = 1000', 'CACHED_MILLISECONDS = 60_000'] },
    witnesses: [{ file: 'test/security/keys.test.ts', only: 'a key ends' }],
  },
  'card-number-in-body-taken': {
    mistake: 'card numbers are searched for in path, query and headers, but not in bodies',
    edits: { refuseCardNumbers: ["findCardNumber(sent.body, operation.body, 'body')", 'undefined'] },
    witnesses: [{ file: 'test/security/planted-numbers.test.ts' }],
  },
  'transfer-read-in-any-program': {
    mistake: 'a transfer is read by its id alone, and only the database hides it from other programs',
    edits: { READ_TRANSFER: ['transfer.program_id = :programId', ':programId::uuid is not null'] },
    witnesses: [APART],
  },
  'card-read-in-any-program': {
    mistake: 'a card is read by its name alone, and only the database hides it from other programs',
    edits: { READ_CARD_DETAILS: ['card.program_id = :programId', ':programId::uuid is not null'] },
    witnesses: [APART],
  },
};

const CLOCKS_OFF: Witness = { file: 'test/api/clocks.test.ts' };

/** Mistakes about clocks. */
export const CLOCKS: Mutants = {
  'ids-by-own-clock': {
    mistake: 'the ids of transfers come from the clock of the process',
    edits: { 'Books.#newId': ['idAt(now, this.#ids)', 'idAt(Date.now() + 0 * now, this.#ids)'] },
    witnesses: [CLOCKS_OFF],
  },
  'errors-by-own-clock': {
    mistake: 'errors are dated by the clock of the process',
    edits: { databaseTime: ['Math.round(origin + performance.now())', 'origin > 0 ? Date.now() : 0'] },
    witnesses: [CLOCKS_OFF],
  },
};

/** Mistakes about overload and rate limits. */
export const CROWDS: Mutants = {
  'crowd-begun-all-at-once': {
    mistake: 'all waiting requests begin in one turn of the event loop',
    edits: { 'AdmissionQueue.take': ['isFree && this.#begunInBatch', 'isFree || this.#begunInBatch'] },
    witnesses: [{ file: 'test/http/overload.test.ts' }],
  },
  'crowd-kept-in-memory': {
    mistake: 'finished requests stay in memory until no request waits',
    edits: {
      'AdmissionQueue.#waiting': ['#waiting: Waiting[] = [];', '$&\n  readonly #had: Waiting[] = [];'],
      'AdmissionQueue.#beginBatch': [
        ['splice(0, BATCH_SIZE)', '$&.filter((each) => this.#had.push(each))'],
        ['this.#batchBeganAt', 'this.#had.length = 0;\n    $&'],
      ],
    },
    witnesses: [{ file: 'test/http/overload.test.ts' }],
  },
  'debt-forgiven': {
    mistake: 'the cost of a large request is capped at the remaining allowance',
    edits: {
      'RateLimiter.charge': [
        'this.#emptyAt(caller, now) + requests * this.#costMilliseconds',
        'Math.min(now + WINDOW_MILLISECONDS, $&)',
      ],
    },
    witnesses: [{ file: 'test/http/rate-limit.test.ts' }],
  },
};
