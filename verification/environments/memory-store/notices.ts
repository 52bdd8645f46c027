import { isDeepStrictEqual } from 'node:util';
import { type Meanings, NOTHING, timeOf } from './meaning.ts';
import type { StoredRow } from './parameters.ts';
import type { Run, Transaction } from './transaction.ts';

const ATTEMPT = [
  ...(['program_id', 'attempt_id', 'transfer_id', 'card_id', 'connector_id', 'kind', 'amount', 'currency'] as const),
  ...(['status', 'tries', 'looks', 'misses', 'sent_at', 'not_after', 'unknown_since', 'next_at'] as const),
  ...(['processor_reference', 'code', 'retry_after_seconds', 'detail', 'resolved_by', 'late_approval_at'] as const),
  ...(['break_id', 'sandbox_behavior', 'created_at', 'updated_at'] as const),
];

const NO_ATTEMPT: StoredRow = Object.fromEntries(ATTEMPT.map((name) => [name, null]));

const keyOf = (connectorId: unknown, noticeId: unknown): string => `${connectorId} ${noticeId}`;

/** Marks a notice as handled. Returns false if it was handled before. */
function* handle(transaction: Transaction, connectorId: unknown, noticeId: unknown): Run<boolean> {
  const key = keyOf(connectorId, noticeId);
  const isWaiting = (row: StoredRow | undefined): boolean => row?.handled_at === null;
  // A notice that was handled before is not locked.
  if (!isWaiting(transaction.find('processor_notice', key))) return false;
  const handled_at = new Date(transaction.clock());
  return yield* transaction.update('processor_notice', key, (row) =>
    isWaiting(row) ? { ...row, handled_at } : undefined,
  );
}

/** Inserts a break about an attempt that does not exist, unless such a break already exists, and returns the break. */
function* insertBreakOfUnknown(transaction: Transaction, sent: StoredRow): Run<StoredRow | undefined> {
  const { connector_id, sent_attempt_id, break_id, amount } = sent;
  const isSame = (row: StoredRow): boolean =>
    row.connector_id === connector_id && row.sent_attempt_id === sent_attempt_id;
  const before = yield* transaction.findUnique('processor_break', `${connector_id} ${sent_attempt_id}`, isSame);
  if (before !== undefined) return before;
  const nothing = { program_id: null, attempt_id: null, transfer_id: null, closed_at: null };
  yield* transaction.insert('processor_break', String(break_id), {
    ...sent,
    ...nothing,
    amount: BigInt(String(amount)),
  });
  return undefined;
}

/** The notices of processors. */
export const NOTICE_STATEMENTS: Meanings = {
  *insert_notice(transaction, { values: [sentAttemptId, connector_id, notice_id, body] }) {
    const key = keyOf(connector_id, notice_id);
    // In PostgreSQL, a unique index makes a second transaction wait for the first. Here, a lock does.
    yield* transaction.lock(`processor_notice ${key}`);
    if (transaction.newest('processor_notice', key) !== undefined) return NOTHING;
    const attempt = transaction.find('processor_attempt', String(sentAttemptId)) ?? NO_ATTEMPT;
    const { program_id, attempt_id } = attempt.connector_id === connector_id ? attempt : NO_ATTEMPT;
    yield* transaction.insert('processor_notice', key, {
      ...{ connector_id, notice_id, program_id, attempt_id, body: JSON.parse(String(body)) },
      received_at: new Date(transaction.clock()),
      handled_at: null,
      tries: 0,
      next_at: null,
    });
    return [{ notice_id }];
  },

  read_notice(transaction, { values: [sent, sentAttemptId, connector_id, notice_id] }) {
    const stored = transaction.find('processor_notice', keyOf(connector_id, notice_id));
    if (stored === undefined) return NOTHING;
    const attempt = transaction.find('processor_attempt', String(sentAttemptId)) ?? NO_ATTEMPT;
    return [
      {
        ...(attempt.connector_id === connector_id ? attempt : NO_ATTEMPT),
        body: stored.body,
        is_same: isDeepStrictEqual(stored.body, JSON.parse(String(sent))),
        now: new Date(transaction.clock()),
      },
    ];
  },

  read_waiting_notices(transaction, { values: [connectorIds, count] }) {
    const isWaiting = ({ handled_at, next_at }: StoredRow): boolean =>
      handled_at === null && (next_at === null || timeOf(next_at) <= transaction.clock());
    const inTurn = (one: StoredRow, other: StoredRow): number =>
      Number(one.tries) - Number(other.tries) || timeOf(one.received_at) - timeOf(other.received_at);
    return (connectorIds as string[])
      .flatMap((wanted) =>
        transaction
          .scan('processor_notice', (row) => row.connector_id === wanted && isWaiting(row))
          .sort(inTurn)
          .slice(0, Number(count)),
      )
      .sort(inTurn)
      .map(({ connector_id, notice_id, body, attempt_id, tries }) => ({
        ...(transaction.find('processor_attempt', String(attempt_id)) ?? NO_ATTEMPT),
        ...{ notice_connector_id: connector_id, notice_id, body, notice_tries: tries },
        now: new Date(transaction.clock()),
      }));
  },

  *mark_notice_failed(transaction, { values: [connectorId, noticeId, attemptId, maxPause] }) {
    const isFailed = ({ connector_id, handled_at, notice_id, attempt_id }: StoredRow): boolean =>
      connector_id === connectorId &&
      handled_at === null &&
      (notice_id === noticeId || (attempt_id !== null && attempt_id === attemptId));
    const failed: StoredRow[] = [];
    for (const { notice_id } of transaction.scan('processor_notice', isFailed)) {
      const key = keyOf(connectorId, notice_id);
      if (!transaction.tryLock(`processor_notice ${key}`)) continue;
      yield* transaction.update('processor_notice', key, (row) => {
        if (!isFailed(row)) return undefined;
        const seconds = Math.min(2 ** Math.min(Number(row.tries), 20), Number(maxPause));
        const next_at = new Date(transaction.clock() + seconds * 1000);
        const tries = Math.min(Number(row.tries) + 1, 1000);
        failed.push({ notice_id, tries });
        return { ...row, tries, next_at };
      });
    }
    return failed;
  },

  *mark_notice_handled(transaction, { values: [connectorId, noticeId] }) {
    yield* handle(transaction, connectorId, noticeId);
    return NOTHING;
  },

  *insert_break_of_unknown(transaction, { values }) {
    const [break_id, kind, connector_id, sent_attempt_id, amount, currency, expected, found, created_at] = values;
    const row = { break_id, kind, connector_id, sent_attempt_id, amount, currency, expected, found, created_at };
    const before = yield* insertBreakOfUnknown(transaction, row);
    if (before === undefined) return NOTHING;
    const said = String(before.found);
    if (said.split(', ').includes(String(found)) || said.length >= 1_000) return NOTHING;
    const opened = { found: `${said}, ${found}`, closed_at: null, closed_by: null, resolution: null };
    yield* transaction.update('processor_break', String(before.break_id), (row) => ({ ...row, ...opened }));
    return NOTHING;
  },

  *mark_notice_foreign(transaction, { values }) {
    const [connector_id, noticeId, break_id, sent_attempt_id, amount, currency, found] = values;
    if (!(yield* handle(transaction, connector_id, noticeId))) return NOTHING;
    yield* insertBreakOfUnknown(transaction, {
      ...{ break_id, kind: 'unknown_attempt', connector_id, sent_attempt_id, amount, currency, expected: 'no attempt' },
      ...{ found, created_at: new Date(transaction.clock()) },
    });
    return NOTHING;
  },
};
