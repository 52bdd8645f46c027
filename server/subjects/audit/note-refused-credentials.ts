import type { RefusedCredential } from '../../calls/call.ts';
import { transact } from '../../commit/transaction.ts';
import type { Database } from '../../store/connection/database.ts';
import { auditOther } from './audit.ts';

/**
 * Maximum number of entries that one process writes in a minute, not counting the entry that sums up the rest. So the log grows by
 * at most a few kilobytes a minute, even if many addresses try many credentials.
 */
const MAX_ENTRIES = 20;

const WRITE_MILLISECONDS = 5000;

type Sum = { readonly address: string | null; readonly shownAs: string | null; readonly reason: string; count: number };

export type RefusedCredentials = {
  readonly note: (refused: RefusedCredential) => void;
  /** Writes the counts to the audit log, one entry each. */
  readonly write: () => Promise<void>;
};

/** Opens an empty record of refusals. Failed writes are retried on the next write. */
export function openRefusedCredentials(database: Database, now: () => Date): RefusedCredentials {
  let sums = new Map<string, Sum>();
  let since = now();
  const add = (sum: Sum): void => {
    const key = `${sum.address} ${sum.shownAs} ${sum.reason}`;
    const known = sums.get(key);
    if (known !== undefined) known.count += sum.count;
    else if (sums.size < MAX_ENTRIES) sums.set(key, sum);
    else addToRest(sums, sum.count);
  };
  return {
    note: ({ address, sent, reason }) => add({ address, shownAs: shownAsOf(sent), reason, count: 1 }),
    write: async () => {
      const [taken, from, until] = [sums, since, now()];
      [sums, since] = [new Map(), until];
      if (taken.size === 0) return;
      const writes = [...taken.values()].map((sum) => auditOther('refuse_credential', noteOf(sum, from, until)));
      try {
        await transact(database, performance.now() + WRITE_MILLISECONDS, {}, () => ({ result: null, writes }));
      } catch (error) {
        since = from;
        for (const sum of taken.values()) add(sum);
        throw error;
      }
    },
  };
}

function addToRest(sums: Map<string, Sum>, count: number): void {
  const rest = sums.get('');
  if (rest !== undefined) rest.count += count;
  else sums.set('', { address: null, shownAs: null, reason: 'various', count });
}

/** Returns the public part of the key that was sent, or null if it has none. */
function shownAsOf(sent: string): string | null {
  const publicPart = /(?:^|[^0-9a-z])(ts_[0-9a-f]{16})_/.exec(sent)?.[1];
  return publicPart === undefined ? null : `${publicPart}_…`;
}

function noteOf({ address, shownAs, reason, count }: Sum, from: Date, until: Date) {
  const details = { address, reason, count, from: from.toISOString(), until: until.toISOString() };
  return { actor: 'anonymous', programId: null, subjectId: shownAs, details: JSON.stringify(details) };
}
