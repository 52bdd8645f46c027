import { hash } from 'node:crypto';
import type { CardRecord } from '../../contract/cards.ts';
import type { ProgramRecord } from '../../contract/programs.ts';
import type { VersionedKind } from '../../contract/reading/versions.ts';
import type { TransferRecord } from '../../contract/transfers.ts';
import type { WebhookRecord } from '../../contract/webhooks/records.ts';
import { redactCardNumbers } from '../../domain/cards/card-number.ts';
import { Refusal } from '../../domain/refusal.ts';

export type VersionedRecord = CardRecord | ProgramRecord | TransferRecord | WebhookRecord;

/**
 * Fields that change although no one edits the record: balances, which change with every transfer, the progress of deliveries, and
 * waiting approvals. If they counted, an operator could never save the limits of a busy card. A webhook's secrets are omitted
 * because they expire, and because a new secret changes `updated_at`.
 */
const NOT_EDITED: ReadonlySet<string> = new Set([
  ...['balance', 'held', 'available', 'incoming', 'funding', 'balance_as_of'],
  ...['position', 'backlog', 'failures', 'failing_since', 'last_success_at', 'last_failure_at', 'next_attempt_at'],
  ...['dead', 'replay', 'secrets', 'secret', 'secret_omitted', 'pending_approval_id'],
]);

/** Number of characters of a digest. They contain 96 bits. */
const DIGEST_LENGTH = 16;

/**
 * Returns the version of a record, as in `ETag` and `If-Match`, with quotation marks. It changes with every change of the status
 * and of the fields that callers can edit.
 */
export function versionOf(kind: VersionedKind, record: object): string {
  return kind === 'transfer' ? versionOfTransfer(record as TransferRecord) : `"${digestOf(record, NOT_EDITED)}"`;
}

/**
 * Returns the version of a transfer from the fields that show its changes. Only metadata is digested, and most transfers have none.
 * A digest of the whole record would cost every transfer more than a microsecond.
 */
function versionOfTransfer(transfer: TransferRecord): string {
  const { updated_at: updatedAt, status, outcome, captured_amount: captured, reversed_amount: reversed } = transfer;
  const parts = [Date.parse(updatedAt).toString(36), status, outcome, captured.toString(36), reversed.toString(36)];
  if (Object.keys(transfer.metadata).length > 0) parts.push(digestOf(transfer.metadata, NOTHING));
  return `"${parts.join('-')}"`;
}

const NOTHING: ReadonlySet<string> = new Set();

/** Returns a digest of the fields in the order of their names, because the database reorders metadata. */
function digestOf(record: object, without: ReadonlySet<string>): string {
  return hash('sha256', JSON.stringify(sorted(record, without)), 'base64url').slice(0, DIGEST_LENGTH);
}

function sorted(value: unknown, without: ReadonlySet<string>): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const fields = Object.entries(value).filter(([name]) => !without.has(name));
  return fields
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, inner]) => [name, sorted(inner, NOTHING)]);
}

const NAMES: Readonly<Record<VersionedKind, string>> = {
  card: 'card',
  program: 'card program',
  transfer: 'transfer',
  webhook: 'webhook',
};

/**
 * Refuses a change of a record that has changed since the caller read it. `ifMatch` contains the versions that the caller accepts,
 * or is undefined for any version. Call it with the record as read under the lock of the change.
 *
 * @throws {Refusal} precondition_failed
 */
export function checkVersion(
  ifMatch: readonly string[] | undefined,
  kind: VersionedKind,
  record: VersionedRecord,
): void {
  const refusal = findOldVersion(ifMatch, kind, record);
  if (refusal !== undefined) throw refusal;
}

/** Returns the refusal of {@link checkVersion}. Undefined if the version is accepted. */
export function findOldVersion(
  ifMatch: readonly string[] | undefined,
  kind: VersionedKind,
  record: VersionedRecord,
): Refusal | undefined {
  if (ifMatch === undefined) return undefined;
  const version = versionOf(kind, record);
  if (ifMatch.includes(version)) return undefined;
  const sent = redactCardNumbers(ifMatch.join(', ')).slice(0, 100);
  const message =
    `The ${NAMES[kind]} has changed since you read it: If-Match is ${sent}, and its version is ${version}. Read it again, and ` +
    'send the change with the new ETag if it is still right.';
  return new Refusal('precondition_failed', message, { version });
}
