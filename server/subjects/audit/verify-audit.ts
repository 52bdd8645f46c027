import type { AuditPortion } from '../../../contract/audit.ts';
import { toWireId } from '../../../domain/identifier.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readRows } from '../../calls/read-rows.ts';
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
} from '../../store/audit.ts';
import type { Database } from '../../store/connection/database.ts';

/** Number of entries that one statement reads. */
const PORTION = 1000;

export type AuditVerdict = {
  readonly entries: number;
  /** The number of the last entry, or 0 if there is none. Operators record it outside the log, with its hash. */
  readonly position: bigint;
  /** The hash of the last entry in 64 hex digits. A later verification uses it to find the entry again. */
  readonly head: string;
  /** The faults as sentences. Empty if the chain is intact. */
  readonly problems: readonly string[];
};

/**
 * Reads the whole chain and recomputes every hash. Entries may be added in the meantime: the head is read first, and later entries
 * are only checked against each other.
 *
 * `expected` is a hash that was recorded outside the log earlier. The chain does not contain it if the chain was rewritten
 * completely, or truncated before that entry. Without `expected`, a chain that was truncated together with its head is not
 * detected.
 */
export async function verifyAudit(database: Database, expected?: string): Promise<AuditVerdict> {
  const [headRow] = await database.read(READ_AUDIT_HEAD);
  const head = toAuditHead(headRow);
  const walk = new ChainWalk({ expected });
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
    walk.noteMissingHead();
  } else {
    walk.end(head, headAfter.position);
  }
  const problems = walk.problems.map(({ message }) => message);
  if (expected !== undefined && !walk.found) {
    problems.push(`No entry has the hash ${expected}, which was noted earlier: the log was truncated or rewritten.`);
  }
  return { entries: walk.count, position: walk.next - 1n, head: walk.last.toString('hex'), problems };
}

/**
 * Maximum number of entries that one request verifies. Reading and hashing them takes about 20 ms, so other requests hardly wait.
 */
const ENTRIES_PER_REQUEST = 1000;

/**
 * verify_audit: verifies a batch of entries of the chain, starting after the entry `after`. A client that begins without `after`
 * and continues with each `next_after` verifies the whole log.
 */
export async function verifyAuditPortion(service: Service, call: Call<'verify_audit'>): Promise<Reply<'verify_audit'>> {
  const { after = 0 } = call.query;
  const record = await verifyPortion(service.database, after, ENTRIES_PER_REQUEST);
  if (record.head !== null && after > record.head.position) {
    const message = `'after' is ${after}, but the last entry of the audit log is entry ${record.head.position}.`;
    throw schemaRefusal(call, message, '/after');
  }
  return { record };
}

/** Verifies up to `count` entries after the entry `after`, which is read again because the first of them must follow it. */
export async function verifyPortion(database: Database, after: number, count: number): Promise<AuditPortion> {
  const head = await readHead(database);
  const from = after === 0 ? BEFORE_ALL_ENTRIES : BigInt(after);
  const rows = await readRows(database, readAuditChain(from, count + 1));
  const entries = rows.map(toAuditEntry);
  const base = after > 0 && entries[0]?.position === from ? entries.shift() : undefined;
  const walk = new ChainWalk({ base });
  // The last entry of the previous batch is now missing.
  if (after > 0 && base === undefined) walk.next = from;
  for (const entry of entries) walk.take(entry, head?.position);
  const isLast = rows.length <= count;
  const headAfter = isLast ? await readHead(database) : head;
  if (head === undefined || headAfter === undefined) walk.noteMissingHead();
  else if (isLast) walk.end(head, headAfter.position);
  const [broken] = walk.problems;
  const position = Number(walk.next - 1n);
  return {
    intact: broken === undefined,
    verified: walk.count,
    position,
    hash: walk.last.toString('hex'),
    next_after: isLast ? null : position,
    head: head === undefined ? null : { position: Number(head.position), hash: head.hash.toString('hex') },
    first_broken: broken === undefined ? null : { position: Number(broken.position), message: broken.message },
  };
}

async function readHead(database: Database) {
  const [row] = await readRows(database, READ_AUDIT_HEAD);
  return toAuditHead(row);
}

/** A fault in the chain, as a sentence, and its position. */
type ChainProblem = { readonly position: bigint; readonly message: string };

type Beginning = {
  /** A hash that was recorded outside the log earlier, in 64 hex digits. */
  readonly expected?: string | undefined;
  /** The entry before the first entry of the walk. Without it, the walk begins with the first entry of the log. */
  readonly base?: AuditEntry | undefined;
};

/** Checks entries in order, and collects the faults. */
class ChainWalk {
  readonly problems: ChainProblem[] = [];
  readonly #expected: string | undefined;
  next = 1n;
  count = 0;
  last: Buffer = NO_HASH;
  found: boolean;
  /** The recomputed hash of the last entry. It differs from the stored one if that entry was changed. */
  #recomputed: Buffer = NO_HASH;
  #hashAtHead: Buffer = NO_HASH;

  constructor({ expected, base }: Beginning = {}) {
    this.#expected = expected;
    this.found = expected === NO_HASH.toString('hex');
    if (base === undefined) return;
    this.next = base.position + 1n;
    this.last = base.hash;
    this.#recomputed = hashOfEntry(base);
    this.#hashAtHead = base.hash;
  }

  take(entry: AuditEntry, headPosition: bigint | undefined): void {
    const { position } = entry;
    const name = `Entry ${position} (${toWireId('aud', entry.entryId)})`;
    if (position < 1n) {
      this.#note(position, `${name} was inserted: the first entry of the log is entry 1.`);
      return;
    }
    const isGap = position !== this.next;
    if (isGap) this.#noteMissing(position);
    const recomputed = hashOfEntry(entry);
    if (!recomputed.equals(entry.hash)) {
      this.#note(position, `${name} was changed: its hash does not match its content.`);
    }
    // The walk has already reported a missing or changed entry before this one.
    const follows = entry.previousHash.equals(this.last) || entry.previousHash.equals(this.#recomputed);
    if (!isGap && !follows) {
      this.#note(position, `${name} does not follow the entry before it: that entry was replaced.`);
    }
    this.last = entry.hash;
    this.#recomputed = recomputed;
    this.next = position + 1n;
    this.count += 1;
    this.found ||= entry.hash.toString('hex') === this.#expected;
    if (position === headPosition) this.#hashAtHead = entry.hash;
  }

  /** Ends the walk. `head` was read before the walk, `positionAfter` after it. */
  end({ position, hash }: AuditHead, positionAfter: bigint): void {
    if (position >= this.next) this.#noteMissing(position + 1n);
    else if (!this.#hashAtHead.equals(hash)) {
      const message = `The hash in the head of the log differs from the hash of entry ${position}: one of them was changed.`;
      this.#note(position, message);
    }
    if (positionAfter < this.next - 1n) {
      const message = `The log continues to entry ${this.next - 1n}, but its head says that it ends at ${positionAfter}.`;
      this.#note(positionAfter + 1n, message);
    }
  }

  noteMissingHead(): void {
    this.#note(this.next, 'The head of the log is missing, so the end of the log is unknown.');
  }

  #noteMissing(upTo: bigint): void {
    const last = upTo - 1n;
    const many = last > this.next;
    this.#note(this.next, many ? `Entries ${this.next} to ${last} are missing.` : `Entry ${this.next} is missing.`);
  }

  #note(position: bigint, message: string): void {
    this.problems.push({ position, message });
  }
}
