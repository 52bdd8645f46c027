import { toWireId } from '../../domain/identifier.ts';
import {
  type AuditEntry,
  type AuditHead,
  BEFORE_ALL_ENTRIES,
  hashOfEntry,
  NO_HASH,
  READ_AUDIT_HEAD,
  readAuditChain,
  toAuditEntry,
  toAuditHead,
} from '../store/audit.ts';
import type { Database } from '../store/connection/database.ts';

/** Entries read with one statement. */
const PORTION = 1000;

/** The result of a verification: the length of the chain, its last entry, and every deviation. */
export type AuditVerdict = {
  readonly entries: number;
  /** The number of the last entry; 0 if there is none. To be noted elsewhere, with its hash. */
  readonly position: bigint;
  /** 64 hex digits: the hash of the last entry, by which a later verification finds it again. */
  readonly head: string;
  /** Sentences; none if the chain is intact. */
  readonly problems: readonly string[];
};

/**
 * Reads the whole chain and recomputes every hash. Entries can be added meanwhile: the head is read first, and later
 * entries are checked against each other.
 *
 * `expected` is a hash that was noted elsewhere before. A chain that was rewritten as a whole, or truncated before that
 * entry, does not contain it. Without `expected`, a chain that was truncated together with its head passes.
 */
export async function verifyAudit(database: Database, expected?: string): Promise<AuditVerdict> {
  const [headRow] = await database.read(READ_AUDIT_HEAD);
  const head = toAuditHead(headRow);
  const walk = new ChainWalk(expected);
  let from = BEFORE_ALL_ENTRIES;
  for (;;) {
    const rows = (await database.read(readAuditChain(from, PORTION))).map(toAuditEntry);
    for (const entry of rows) walk.take(entry, head?.position);
    const last = rows.at(-1);
    if (last === undefined || rows.length < PORTION) break;
    from = last.position + 1n;
  }
  const headAfter = toAuditHead((await database.read(READ_AUDIT_HEAD))[0]);
  if (head === undefined || headAfter === undefined) {
    walk.problems.push('The head of the log is missing, so the end of the log is unknown.');
  } else {
    walk.end(head, headAfter.position);
  }
  if (expected !== undefined && !walk.found) {
    walk.problems.push(
      `No entry has the hash ${expected}, which was noted earlier: the log was truncated or rewritten.`,
    );
  }
  return {
    entries: walk.count,
    position: walk.next - 1n,
    head: walk.last.toString('hex'),
    problems: walk.problems,
  };
}

class ChainWalk {
  readonly problems: string[] = [];
  readonly #expected: string | undefined;
  next = 1n;
  count = 0;
  last: Buffer = NO_HASH;
  found: boolean;
  /** The recomputed hash of the last entry; it differs from the stored one if that entry was changed. */
  #recomputed: Buffer = NO_HASH;
  #hashAtHead: Buffer = NO_HASH;

  constructor(expected: string | undefined) {
    this.#expected = expected;
    this.found = expected === NO_HASH.toString('hex');
  }

  take(entry: AuditEntry, headPosition: bigint | undefined): void {
    const name = `Entry ${entry.position} (${toWireId('aud', entry.entryId)})`;
    if (entry.position < 1n) {
      this.problems.push(`${name} was inserted: the first entry of the log is entry 1.`);
      return;
    }
    const isGap = entry.position !== this.next;
    if (isGap) this.#miss(entry.position);
    const recomputed = hashOfEntry(entry);
    if (!recomputed.equals(entry.hash)) this.problems.push(`${name} was changed: its hash does not match its content.`);
    // A missing or changed entry before this one has been reported already.
    const follows = entry.previousHash.equals(this.last) || entry.previousHash.equals(this.#recomputed);
    if (!isGap && !follows) this.problems.push(`${name} does not follow the entry before it: that entry was replaced.`);
    this.last = entry.hash;
    this.#recomputed = recomputed;
    this.next = entry.position + 1n;
    this.count += 1;
    this.found ||= entry.hash.toString('hex') === this.#expected;
    if (entry.position === headPosition) this.#hashAtHead = entry.hash;
  }

  /** `head` as read before the walk, `positionAfter` as read after it. */
  end({ position, hash }: AuditHead, positionAfter: bigint): void {
    if (position >= this.next) this.#miss(position + 1n);
    else if (!this.#hashAtHead.equals(hash)) {
      this.problems.push(
        `The hash in the head of the log differs from the hash of entry ${position}: one of them was changed.`,
      );
    }
    if (positionAfter < this.next - 1n) {
      this.problems.push(
        `The log continues to entry ${this.next - 1n}, but its head says that it ends at ${positionAfter}.`,
      );
    }
  }

  #miss(upTo: bigint): void {
    const last = upTo - 1n;
    const many = last > this.next;
    this.problems.push(many ? `Entries ${this.next} to ${last} are missing.` : `Entry ${this.next} is missing.`);
  }
}
