import type { OTHER_ACTIONS } from '../../../contract/audit.ts';
import { OPERATION_IDS, OPERATIONS } from '../../../contract/operations.ts';
import { HOLDER_FIELDS } from '../../../domain/cards/card.ts';
import { toCredentialId, toWireId } from '../../../domain/identifier.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import { type CallContext, type Caller, credentialOf, isOperator, type RefusedCredential } from '../../calls/call.ts';
import { transact } from '../../commit/transaction.ts';
import { noteCarriedOut } from '../../store/approval.ts';
import { type AuditNote, insertAuditEntries } from '../../store/audit.ts';
import type { Database, Statement } from '../../store/connection/database.ts';

// Invariant: The audit log contains no values about the holder of a card
// Kept by: `withoutHolderValues`
// Tested by: `test/api/erasure`, `test/security/audit.test.ts`

// Invariant: Every change by an operator has its row in the audit chain
// Kept by: the row is written in the transaction of the change; the trigger of `audit_entry`
// Tested by: `test/security/audit.test.ts`

export type Audited = {
  /** Inner UUID of the card program, or null. */
  readonly programId: string | null;
  /** Id on the wire. */
  readonly subjectId: string | null;
  /** JSON text: the subject after the action, without secrets. */
  readonly details: string;
};

/** Operations that write an entry to the audit log, in the same transaction. */
export const AUDITED_OPERATIONS = OPERATION_IDS.filter((id) => OPERATIONS[id].audit === 'always');

/** Operations of card programs that write an entry if an operator calls them. A batch writes an entry for each transfer. */
export const AUDITED_OF_OPERATORS = OPERATION_IDS.filter((id) => OPERATIONS[id].audit === 'operator');

/** Returns the actor of an entry: `sandbox`, `host`, or the id of the key or the person. */
export function actorOf(caller: Caller): string {
  const credential = credentialOf(caller);
  return credential === undefined ? caller.kind : toCredentialId(credential);
}

/**
 * Returns the entry for an action, if its operation is audited: always, or only if an operator calls it. It must be the
 * last write, because it locks the head of the chain, and the lock order puts that lock last.
 */
export function auditOf(call: CallContext, audited: Audited): readonly Statement[] {
  const { operation, caller, requestId, approvalId } = call;
  const { audit, reach } = OPERATIONS[operation];
  if (audit === 'none' || (audit === 'operator' && !isOperator(caller))) return [];
  const hasContext = call.caseId !== undefined || approvalId !== undefined;
  const details = hasContext
    ? JSON.stringify(withContext(parseJson(audited.details) as object, call))
    : audited.details;
  return [
    // Requests of card programs run as a database role that cannot write approvals. Their idempotency key ensures that they are
    // carried out only once.
    ...(approvalId === undefined || reach === 'program' ? [] : [noteCarriedOut({ approvalId })]),
    insertAuditEntries([{ ...audited, details, actor: actorOf(caller), action: operation, requestId }]),
  ];
}

/**
 * Adds the case that the operator works on, and the approval of the action, to the details of an entry, unless the details
 * already name them.
 */
export function withContext(
  details: object,
  { caseId, approvalId }: Pick<CallContext, 'caseId' | 'approvalId'>,
): object {
  return {
    ...(caseId === undefined ? {} : { case_id: caseId }),
    ...(approvalId === undefined ? {} : { approval_id: toWireId('apr', approvalId) }),
    ...details,
  };
}

/**
 * Returns a card, a transfer, a reversal, a break, or a change of one of these for the audit log. The log is kept forever, so it
 * contains no values about the holder of a card. Instead, `omitted` lists the fields that had such a value. An operator's note is
 * also omitted: it is stored with the attempt or the break, where it can be erased.
 */
export function withoutHolderValues(record: object): object {
  return withoutValues(record, [...HOLDER_FIELDS, 'note']);
}

/** Returns a record for the audit log without the callers' metadata, because the log is kept forever. */
export function withoutMetadata(record: object): object {
  return withoutValues(record, ['metadata']);
}

function withoutValues(record: object, names: readonly string[]): object {
  const isKept = ([name, value]: [string, unknown]): boolean =>
    !names.includes(name) || value === null || (typeof value === 'object' && Object.keys(value).length === 0);
  const members: [string, unknown][] = Object.entries(record);
  const omitted = members.filter((member) => !isKept(member)).map(([name]) => name);
  return { ...Object.fromEntries(members.filter(isKept)), ...(omitted.length === 0 ? {} : { omitted }) };
}

export function auditOther(
  action: (typeof OTHER_ACTIONS)[number],
  note: Omit<AuditNote, 'action' | 'requestId'>,
  requestId: string | null = null,
): Statement {
  return insertAuditEntries([{ ...note, action, requestId }]);
}

/**
 * Maximum number of entries about refused credentials that one process writes in a minute, not counting the entry that sums up the
 * rest. So the log grows by at most a few kilobytes a minute, even if many addresses try many credentials.
 */
const MAX_REFUSED_ENTRIES = 20;

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
    else if (sums.size < MAX_REFUSED_ENTRIES) sums.set(key, sum);
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
