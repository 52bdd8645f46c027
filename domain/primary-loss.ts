/** Whether a commit that the service acknowledges now would survive the loss of the primary. */
export const SURVIVALS = ['yes', 'no', 'unknown'] as const;

/** The answer, and its reason in a sentence. */
export type Survival = {
  readonly answer: (typeof SURVIVALS)[number];
  readonly reason: string;
  /** Whether too few synchronous standbys are connected, so that no commit is acknowledged. */
  readonly isWaiting: boolean;
};

/** A server's settings and state of replication. */
export type ReplicationFacts = {
  /** `synchronous_standby_names`. */
  readonly standbyNames: string;
  /** `max_wal_senders`: how many standbys may connect. */
  readonly maxWalSenders: number;
  /** `synchronous_commit` of the sessions of the service. */
  readonly synchronousCommit: string;
  /** Each connected standby with its `sync_state`, or null if the user may not see them. */
  readonly standbyList: readonly { readonly syncState: string }[] | null;
  /** The managed service that runs the server, if the server is known to belong to one. It may replicate the disk itself. */
  readonly managedBy: string | null;
};

/**
 * Whether an acknowledged commit is on the disk of a standby. `isEmbedded`: the server is the PostgreSQL that comes with
 * the service.
 */
export function survivalOf(facts: ReplicationFacts, isEmbedded: boolean): Survival {
  const { standbyNames: names, synchronousCommit, standbyList } = facts;
  if (names.trim() === '') return withoutStandby(facts, isEmbedded);
  if (facts.maxWalSenders === 0) {
    return no('max_wal_senders is 0, so no standby can connect, and commits do not wait.');
  }
  if (synchronousCommit === 'off' || synchronousCommit === 'local') {
    return no(
      `synchronous_commit is ${synchronousCommit} in the sessions of the service: commits do not wait for a standby.`,
    );
  }
  if (synchronousCommit === 'remote_write') {
    return no(
      'synchronous_commit is remote_write in the sessions of the service: a commit may be only in the memory of a standby, and does not survive a power loss of both machines.',
    );
  }
  if (standbyList === null) {
    return unknown(
      'Commits wait for a standby, but the user of the database may not see whether one is connected: run GRANT pg_monitor TO that user.',
    );
  }
  const needed = requiredStandbys(facts);
  const connected = standbyList.filter(isSynchronous).length;
  if (connected < needed) {
    const only =
      needed === 1n ? 'No synchronous standby is' : `Only ${connected} of ${needed} synchronous standbys are`;
    const before = 'Earlier commits are on the disk of a standby that is not connected.';
    return { ...unknown(`${only} connected, so commits wait. ${before}`), isWaiting: true };
  }
  const owners = needed === 1n ? 'a synchronous standby has' : `${needed} synchronous standbys have`;
  return survival('yes', `A commit is acknowledged once ${owners} it on disk.${namesAny(names) ? ANY : ''}`);
}

/** How many standbys, connected or not, must have a commit before it is acknowledged. 0 if commits wait for none. */
export function requiredStandbys({
  standbyNames,
  maxWalSenders,
}: Pick<ReplicationFacts, 'standbyNames' | 'maxWalSenders'>): bigint {
  if (standbyNames.trim() === '' || maxWalSenders === 0) return 0n;
  // The number before a list in parentheses, otherwise 1.
  const [, count = '1'] = /^\s*(?:(?:any|first)\s+)?(\d+)\s*\(/i.exec(standbyNames) ?? [];
  return BigInt(count);
}

/** Whether commits wait for this standby. */
export function isSynchronous({ syncState }: { readonly syncState: string }): boolean {
  return syncState === 'sync' || syncState === 'quorum';
}

const ANY = ' synchronous_standby_names has a *, so any program that receives the WAL may count as a standby.';

/** Whether one of the names is `*`, with or without quotes. */
function namesAny(names: string): boolean {
  return /(?:^|[\s,(])(?:\*|"\*")(?:$|[\s,)])/.test(names);
}

function withoutStandby({ managedBy }: ReplicationFacts, isEmbedded: boolean): Survival {
  if (isEmbedded) {
    return no('The ledger is on this machine only: the PostgreSQL that comes with the service has no standby.');
  }
  if (managedBy === null) return no('No synchronous standby is set: synchronous_standby_names is empty.');
  return unknown(
    `PostgreSQL does not wait for a standby, and cannot know whether ${managedBy} replicates its disk: see its settings there.`,
  );
}

function survival(answer: Survival['answer'], reason: string): Survival {
  return { answer, reason, isWaiting: false };
}

const no = (reason: string): Survival => survival('no', reason);
const unknown = (reason: string): Survival => survival('unknown', reason);
