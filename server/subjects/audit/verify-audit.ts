import type { AuditPortion } from '../../../contract/audit.ts';
import { type Call, type Reply, type Service, schemaRefusal } from '../../calls/call.ts';
import { readRows } from '../../calls/read-rows.ts';
import { BEFORE_ALL_ENTRIES, READ_AUDIT_HEAD, readAuditChain, toAuditEntry, toAuditHead } from '../../store/audit.ts';
import type { Database } from '../../store/connection/database.ts';
import { ChainWalk } from './chain-walk.ts';

/** Entries read with one statement. */
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
 * Reads the whole chain and recomputes every hash. Entries may be added in the meantime: the head is read first, and later
 * entries are only checked against each other.
 *
 * `expected` is a hash that was recorded outside the log earlier. A chain that was rewritten completely, or truncated
 * before that entry, does not contain it. Without `expected`, a chain that was truncated together with its head passes.
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
 * Maximum entries that one request verifies. They take some 20 ms of reading and hashing, so other requests hardly wait.
 */
const ENTRIES_PER_REQUEST = 1000;

/**
 * verify_audit: verifies a portion of the chain, starting after the entry `after`. A client that begins without `after` and
 * continues with each `next_after` verifies the whole log.
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

/** Verifies up to `count` entries after the entry `after`, which is read again for comparison with the first one. */
export async function verifyPortion(database: Database, after: number, count: number): Promise<AuditPortion> {
  const head = await readHead(database);
  const from = after === 0 ? BEFORE_ALL_ENTRIES : BigInt(after);
  const rows = await readRows(database, readAuditChain(from, count + 1));
  const entries = rows.map(toAuditEntry);
  const base = after > 0 && entries[0]?.position === from ? entries.shift() : undefined;
  const walk = new ChainWalk({ base });
  // The last entry of the previous portion is now missing.
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
