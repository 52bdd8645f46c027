import type { Attempt } from '../../../domain/processors/attempt.ts';
import type { Row, Statement } from '../connection/database.ts';
import { columns, json, many, NUMBER, nullable, statement, TEXT, TIME, UUID } from '../sql.ts';
import { ATTEMPT_COLUMNS, toAttempt } from './attempt.ts';

// Invariant: A notice has one effect, however often it is sent, and is stored before it is acknowledged
// Kept by: the primary key of `processor_notice`; `server/subjects/processors/receive-notice.ts`
// Tested by: `test/api/processors/notices.test.ts`

/** What a processor sent by itself, as the contract of adapters describes it; it was verified before it was stored. */
export type NoticeBody = {
  readonly attempt_id: string;
  readonly status: 'approved' | 'declined' | 'pending' | 'not_found' | 'reversed' | 'not_executed';
  /** Minor units. */
  readonly amount: number;
  readonly currency: string;
  readonly processor_reference?: string | null;
  readonly code?: string | null;
  readonly retry_after_seconds?: number | null;
};

/** Stores a notice, unless it was stored before. `attemptId` is null if the connector has no such attempt. Returns a row if it is new. */
export const insertNotice = statement(
  'insert_notice',
  {
    connectorId: TEXT,
    noticeId: TEXT,
    sentAttemptId: nullable(UUID),
    body: json<NoticeBody>(),
  },
  `with sent as materialized (
      select processor_attempt.program_id, processor_attempt.attempt_id from (select) as always left join processor_attempt
        on processor_attempt.attempt_id = :sentAttemptId and processor_attempt.connector_id = :connectorId
    )
    insert into processor_notice (connector_id, notice_id, program_id, attempt_id, body, received_at)
    select :connectorId, :noticeId, program_id, attempt_id, :body, service_now() from sent
    on conflict (connector_id, notice_id) do nothing
    returning notice_id`,
);

const NOTICE = columns({ noticeConnectorId: TEXT, noticeId: TEXT, body: json<NoticeBody>(), now: TIME });

const READ_WAITING = statement(
  'read_waiting_notices',
  { connectorIds: many(TEXT), count: NUMBER },
  `select ${ATTEMPT_COLUMNS}, notice.connector_id as notice_connector_id, notice.notice_id, notice.body, service_now() as now
    from processor_notice as notice
      left join processor_attempt on processor_attempt.program_id = notice.program_id
        and processor_attempt.attempt_id = notice.attempt_id
    where notice.handled_at is null and notice.connector_id = any (:connectorIds)
    order by notice.received_at limit :count`,
);

/** A notice that nobody has handled yet. */
export type WaitingNotice = {
  readonly connectorId: string;
  readonly noticeId: string;
  readonly body: NoticeBody;
  /** The attempt that it is about; undefined if it is about none. */
  readonly attempt: Attempt | undefined;
  /** When it was read, by the database's clock. */
  readonly now: number;
};

/** Reads notices that nobody has handled, the oldest first. */
export function readWaitingNotices(connectorIds: readonly string[], count: number): Statement {
  return READ_WAITING({ connectorIds, count });
}

/** A notice from a row of {@link readWaitingNotices}. */
export function toWaitingNotice(row: Row): WaitingNotice {
  const { noticeConnectorId: connectorId, noticeId, body, now } = NOTICE.read(row);
  return { connectorId, noticeId, body, attempt: row.attempt_id === null ? undefined : toAttempt(row), now };
}

const NAMED = { connectorId: TEXT, noticeId: TEXT };

const MARK_HANDLED = statement(
  'mark_notice_handled',
  NAMED,
  `update processor_notice set handled_at = service_now()
    where connector_id = :connectorId and notice_id = :noticeId and handled_at is null`,
);

/** Marks a notice as handled: once what follows from it is committed. */
export function markNoticeHandled(connectorId: string, noticeId: string): Statement {
  return MARK_HANDLED({ connectorId, noticeId });
}

const MARK_FOREIGN = statement(
  'mark_notice_foreign',
  {
    ...NAMED,
    breakId: UUID,
    amount: nullable(NUMBER),
    currency: nullable(TEXT),
    found: TEXT,
    sentAttemptId: TEXT,
  },
  `with handled as (
      update processor_notice set handled_at = service_now()
      where connector_id = :connectorId and notice_id = :noticeId and handled_at is null
      returning connector_id
    )
    insert into processor_break (
      break_id, kind, connector_id, sent_attempt_id, amount, currency, expected, found, created_at
    )
    select :breakId, 'unknown_attempt', connector_id, :sentAttemptId, :amount, :currency, 'no attempt', :found, service_now()
    from handled
    on conflict (connector_id, sent_attempt_id) where sent_attempt_id is not null do nothing`,
);

/**
 * Marks a notice about nobody's attempt as handled, with the break that a person looks at: one for each id that the notices of
 * a connector name, however many there are and whoever handles them.
 */
export function markNoticeForeign(
  { connectorId, noticeId, body }: Pick<WaitingNotice, 'connectorId' | 'noticeId' | 'body'>,
  breakId: string,
): Statement {
  const { amount, currency, status, attempt_id: attemptId } = body;
  const found = `${status} for ${attemptId}`;
  return MARK_FOREIGN({ connectorId, noticeId, breakId, amount, currency, found, sentAttemptId: attemptId });
}
