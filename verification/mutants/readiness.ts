import type { Mutant, Witness } from './mutant.ts';

const AUTHENTICATE = 'server/subjects/keys/authenticate.ts';

const states = (only: string): Witness => ({ file: 'test/start/readiness.test.ts', only });
const status = (only: string): Witness => ({ file: 'test/start/status.test.ts', only });

/** Mistakes about readiness and status: a service claims to be ready when it is not, or shows its status to the wrong callers. */
export const READINESSES: readonly Mutant[] = [
  {
    name: 'any-schema-is-ready',
    mistake: 'a service is ready on a schema that it must not run on',
    find: "newer_unusable: 'schema_too_new',",
    replace: "newer_unusable: 'schema_newer',",
    witnesses: [states('that this version cannot use')],
  },
  {
    name: 'failed-commit-forgotten',
    mistake: 'a service is ready although its last commit failed because the disk was full',
    find: 'if (isRecent && commitFailedAt > committedAt)',
    replace: 'if (isRecent && commitFailedAt > performance.now())',
    witnesses: [states('until a commit succeeds')],
  },
  {
    name: 'change-logged-each-time',
    mistake: 'every probe of a service that is not ready writes a log line',
    find: 'if (reason !== before) {',
    replace: "if (reason !== before || reason !== 'ready') {",
    witnesses: [states('logs each change once')],
  },
  {
    name: 'revoked-key-reads-status',
    mistake: 'a revoked key is accepted for the status once the database fails',
    file: AUTHENTICATE,
    find: '    cache.delete(digest);\n',
    replace: '',
    witnesses: [status('without its database')],
  },
  {
    name: 'old-key-reads-everything',
    mistake: 'while the database fails, a key that was recently valid is accepted for everything',
    find: 'readsStatus ? caller.catch(',
    replace: 'readsStatus !== undefined ? caller.catch(',
    witnesses: [status('without its database')],
  },
];
