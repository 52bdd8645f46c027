import { type Meanings, NOTHING, timeOf } from '../store/meaning.ts';
import type { StoredRow } from '../store/parameters.ts';
import type { Run, Transaction } from '../store/transaction.ts';

const ATTEMPT = [
  ...(['program_id', 'attempt_id', 'transfer_id', 'card_id', 'connector_id', 'kind', 'amount', 'currency'] as const),
  ...(['status', 'tries', 'looks', 'misses', 'sent_at', 'not_after', 'unknown_since', 'next_at'] as const),
  ...(['processor_reference', 'code', 'retry_after_seconds', 'detail', 'resolved_by', 'late_approval_at'] as const),
  ...(['break_id', 'sandbox_behavior', 'created_at', 'updated_at'] as const),
];

const NO_ATTEMPT: StoredRow = Object.fromEntries(ATTEMPT.map((name) => [name, null]));

const keyOf = (connectorId: unknown, noticeId: unknown): string => `${connectorId} ${noticeId}`;

/** Marks a notice as handled; false if it was before. */
function* handle(transaction: Transaction, connectorId: unknown, noticeId: unknown): Run<boolean> {
  const key = keyOf(connectorId, noticeId);
  const isWaiting = (row: StoredRow | undefined): boolean => row?.handled_at === null;
  // What was handled before is not locked.
  if (!isWaiting(transaction.find('processor_notice', key))) return false;
  const handled_at = new Date(transaction.clock());
  return yield* transaction.update('processor_notice', key, (row) =>
    isWaiting(row) ? { ...row, handled_at } : undefined,
  );
}

/** What processors send by themselves. */
export const NOTICE_STATEMENTS: Meanings = {
  *insert_notice(transaction, { values: [sentAttemptId, connector_id, notice_id, body] }) {
    const key = keyOf(connector_id, notice_id);
    // With a unique index the second of two waits for the first.
    yield* transaction.lock(`processor_notice ${key}`);
    if (transaction.newest('processor_notice', key) !== undefined) return NOTHING;
    const attempt = transaction.find('processor_attempt', String(sentAttemptId)) ?? NO_ATTEMPT;
    const { program_id, attempt_id } = attempt.connector_id === connector_id ? attempt : NO_ATTEMPT;
    yield* transaction.insert('processor_notice', key, {
      ...{ connector_id, notice_id, program_id, attempt_id, body: JSON.parse(String(body)) },
      received_at: new Date(transaction.clock()),
      handled_at: null,
    });
    return [{ notice_id }];
  },

  read_waiting_notices(transaction, { values: [connectorIds, count] }) {
    const isWaiting = ({ connector_id, handled_at }: StoredRow): boolean =>
      handled_at === null && (connectorIds as string[]).includes(String(connector_id));
    return transaction
      .scan('processor_notice', isWaiting)
      .sort((one, other) => timeOf(one.received_at) - timeOf(other.received_at))
      .slice(0, Number(count))
      .map(({ connector_id, notice_id, body, attempt_id }) => ({
        ...(transaction.find('processor_attempt', String(attempt_id)) ?? NO_ATTEMPT),
        ...{ notice_connector_id: connector_id, notice_id, body, now: new Date(transaction.clock()) },
      }));
  },

  *mark_notice_handled(transaction, { values: [connectorId, noticeId] }) {
    yield* handle(transaction, connectorId, noticeId);
    return NOTHING;
  },

  *mark_notice_foreign(transaction, { values }) {
    const [connector_id, noticeId, break_id, sent_attempt_id, amount, currency, found] = values;
    if (!(yield* handle(transaction, connector_id, noticeId))) return NOTHING;
    // With a unique index the second of two waits for the first.
    yield* transaction.lock(`processor_break_once ${connector_id} ${sent_attempt_id}`);
    const isSame = (row: StoredRow): boolean =>
      row.connector_id === connector_id && row.sent_attempt_id === sent_attempt_id;
    if (transaction.scanNewest('processor_break', isSame).length > 0) return NOTHING;
    yield* transaction.insert('processor_break', String(break_id), {
      ...{ break_id, kind: 'unknown_attempt', connector_id, sent_attempt_id, amount: BigInt(String(amount)), currency },
      ...{ program_id: null, attempt_id: null, transfer_id: null, expected: 'no attempt', found, closed_at: null },
      created_at: new Date(transaction.clock()),
    });
    return NOTHING;
  },
};
