import { CardAsOf, CardRecord } from '../cards.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../operations.ts';
import { ProgramAsOf, ProgramRecord } from '../programs.ts';
import { TransferRecord } from '../transfers.ts';
import { NewWebhookRecord, WebhookRecord } from '../webhooks/records.ts';

// Invariant: A change with If-Match takes effect only if the record still has the version that the caller read
// Kept by: this file; `server/calls/version.ts`, under the lock of each change
// Tested by: `test/api/requests/preconditions.test.ts`

/** The kinds of records that have a version. */
export type VersionedKind = 'card' | 'program' | 'transfer' | 'webhook';

const KINDS: ReadonlyMap<unknown, VersionedKind> = new Map<unknown, VersionedKind>([
  [CardRecord, 'card'],
  [CardAsOf, 'card'],
  [ProgramRecord, 'program'],
  [ProgramAsOf, 'program'],
  [TransferRecord, 'transfer'],
  [WebhookRecord, 'webhook'],
  [NewWebhookRecord, 'webhook'],
]);

/** The operations that reply with one versioned record, by the kind of record. Their `ETag` has the version. */
const VERSIONED: ReadonlyMap<OperationId, VersionedKind> = new Map(
  OPERATION_IDS.flatMap((id) => {
    const kind = KINDS.get(OPERATIONS[id].reply);
    return kind === undefined ? [] : [[id, kind] as const];
  }),
);

/** The kind of record in the reply of an operation, if its `ETag` has the version. Undefined for other operations. */
export function versionedKind(id: OperationId): VersionedKind | undefined {
  return VERSIONED.get(id);
}

/** Whether an operation compares `If-Match`: it changes or deletes a record that has a version. */
export function takesIfMatch(id: OperationId): boolean {
  const { method } = OPERATIONS[id];
  return VERSIONED.has(id) && (method === 'PATCH' || method === 'DELETE');
}
