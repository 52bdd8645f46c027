import type { Mutants, Witness } from './mutant.ts';

const states = (only: string): Witness => ({ file: 'test/start/readiness.test.ts', only });
const status = (only: string): Witness => ({ file: 'test/start/status.test.ts', only });

/** Mistakes about readiness and status: a service claims to be ready when it is not, or shows its status to the wrong callers. */
export const READINESSES: Mutants = {
  'any-schema-is-ready': {
    mistake: 'a service is ready on a schema that it must not run on',
    edits: { SCHEMA_REASONS: ['schema_too_new', 'schema_newer'] },
    witnesses: [states('not usable by this version')],
  },
  'failed-commit-forgotten': {
    mistake: 'a service is ready although its last commit failed because the disk was full',
    edits: { 'Check.find': ['commitFailedAt > committedAt', 'commitFailedAt > performance.now()'] },
    witnesses: [states('until a commit succeeds')],
  },
  'change-logged-each-time': {
    mistake: 'every probe of a service that is not ready writes a log line',
    edits: { 'Check.find': ['reason !== before', "$& || reason !== 'ready'"] },
    witnesses: [states('each change is logged once')],
  },
  'revoked-key-reads-status': {
    mistake: 'a revoked key is accepted for the status once the database fails',
    edits: { openAuthentication: ['cache.delete(digest);', ''] },
    witnesses: [status('without its database')],
  },
  'old-key-reads-everything': {
    mistake: 'while the database fails, a key that was recently valid is accepted for everything',
    edits: { openAuthentication: ['readsStatus ? caller', 'readsStatus !== undefined ? caller'] },
    witnesses: [status('without its database')],
  },
};
