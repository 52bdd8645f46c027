import { timeOf } from '../../environments/memory-store/meaning.ts';
import { type NamedMistake, run } from './make.ts';

/** Mistakes about attempts at processors. Mistakes in their steps are in `verification/mutants/processors`. */
export const PROCESSORS: readonly NamedMistake[] = [
  {
    name: 'an attempt is claimed without a lease',
    seed: 5,
    hasProcessor: true,
    statements: {
      *claim_attempts(transaction, sent) {
        const rows = yield* run('claim_attempts', transaction, sent);
        for (const { attempt_id } of rows) {
          const next_at = new Date(transaction.clock());
          yield* transaction.update('processor_attempt', String(attempt_id), (row) => ({ ...row, next_at }));
        }
        return rows;
      },
    },
  },
  {
    name: 'an attempt is changed although it has changed since it was read',
    seed: 17,
    hasProcessor: true,
    statements: {
      *update_attempt(transaction, { rows, values }) {
        const newest = rows('sent').map((sent) => {
          const row = transaction.newest('processor_attempt', String(sent.attempt_id));
          return { ...sent, status_before: row?.status, looks_before: row?.looks };
        });
        return yield* run('update_attempt', transaction, { rows: () => newest, values });
      },
    },
  },
  {
    name: 'an attempt that another process has marked as sent is marked again',
    seed: 50881,
    hasProcessor: true,
    statements: {
      *mark_attempts_sent(transaction, sent) {
        for (const { attempt_id } of sent.rows('sent')) {
          yield* transaction.update('processor_attempt', String(attempt_id), (row) =>
            row.status === 'sent' && timeOf(row.sent_at) < transaction.clock()
              ? { ...row, status: 'ready' }
              : undefined,
          );
        }
        return yield* run('mark_attempts_sent', transaction, sent);
      },
    },
  },
];
