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

/** Rows read at a time. */
const PORTION = 1000;

/** What became of the chain: its length, the number of its last row, its hash, and every way in which it is not what was written. */
export type AuditVerdict = {
  readonly entries: number;
  /** The number of the last entry; 0 where there is none. To be noted elsewhere, with its hash. */
  readonly position: bigint;
  /** 64 hex digits: the hash of the last entry, and what tells the next verification that it is still there. */
  readonly head: string;
  /** Sentences; none when the chain is whole. */
  readonly problems: readonly string[];
};

/**
 * Walks the whole chain, row after row, and recomputes every hash. Rows that are added meanwhile do no harm: the head is
 * read first, and what comes after it is held against itself.
 *
 * `expected` is a hash that was noted elsewhere, at any time: a chain that was written anew as a whole, or of which so
 * much was cut off, does not hold it. Without it, a chain whose end was cut off and whose head was set back to match is
 * whole.
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
    walk.problems.push('The head of the log is missing: nobody can say where the log ends.');
  } else {
    walk.end(head, headAfter.position);
  }
  if (expected !== undefined && !walk.found) {
    walk.problems.push(
      `No entry has the hash ${expected}, which was noted elsewhere: the log was cut short or written anew.`,
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
  /** The hash that the last row must have had; it differs from what it has when that row was changed. */
  #recomputed: Buffer = NO_HASH;
  #hashAtHead: Buffer = NO_HASH;

  constructor(expected: string | undefined) {
    this.#expected = expected;
    this.found = expected === NO_HASH.toString('hex');
  }

  take(entry: AuditEntry, headPosition: bigint | undefined): void {
    const name = `Entry ${entry.position} (${toWireId('aud', entry.entryId)})`;
    if (entry.position < 1n) {
      this.problems.push(`${name} was put in: the first entry of the log is entry 1, and none stands before it.`);
      return;
    }
    const isGap = entry.position !== this.next;
    if (isGap) this.#miss(entry.position);
    const recomputed = hashOfEntry(entry);
    if (!recomputed.equals(entry.hash))
      this.problems.push(`${name} was changed: its hash is not that of what it says.`);
    // Where the row before is missing or was changed, that has been said already.
    const follows = entry.previousHash.equals(this.last) || entry.previousHash.equals(this.#recomputed);
    if (!isGap && !follows) this.problems.push(`${name} does not follow the entry before it: another was there.`);
    this.last = entry.hash;
    this.#recomputed = recomputed;
    this.next = entry.position + 1n;
    this.count += 1;
    this.found ||= entry.hash.toString('hex') === this.#expected;
    if (entry.position === headPosition) this.#hashAtHead = entry.hash;
  }

  /** The head as it was before the walk, and how far it had come after it. */
  end({ position, hash }: AuditHead, positionAfter: bigint): void {
    if (position >= this.next) this.#miss(position + 1n);
    else if (!this.#hashAtHead.equals(hash)) {
      this.problems.push(`The head of the log has another hash than entry ${position}: one of the two was changed.`);
    }
    if (positionAfter < this.next - 1n) {
      this.problems.push(
        `The log goes on to entry ${this.next - 1n}, but its head says that it ends at ${positionAfter}.`,
      );
    }
  }

  #miss(upTo: bigint): void {
    const last = upTo - 1n;
    const many = last > this.next;
    this.problems.push(many ? `Entries ${this.next} to ${last} are missing.` : `Entry ${this.next} is missing.`);
  }
}
