import { formatMoney } from '../../../domain/ledger/money.ts';
import type { Attempt } from '../../../domain/processors/attempt.ts';
import type { Row, Statement } from '../connection/database.ts';
import { BOOLEAN, columns, json, many, NUMBER, nullable, statement, TEXT, TIME, UUID } from '../sql.ts';
import { ATTEMPT_COLUMNS, toAttempt } from './attempt.ts';

// Invariant: A notice has one effect, even if it is sent many times. It is stored before it is acknowledged
// Kept by: the primary key of `processor_notice`; `server/subjects/processors/processors.ts`
// Tested by: `test/api/processors/notices.test.ts`

/**
 * A message that a processor sends without being asked, as described in the adapter contract. It is verified before it is stored.
 */
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

/**
 * Stores a notice, unless it is stored already. `attemptId` is null if the connector has no such attempt. Returns a row if the
 * notice is new.
 */
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

/** Reads the stored notice with an id, whether its body equals the sent body, and the attempt that the sent notice is about. */
export const readNotice = statement(
  'read_notice',
  {
    connectorId: TEXT,
    noticeId: TEXT,
    sentAttemptId: nullable(UUID),
    body: json<NoticeBody>(),
  },
  `select ${ATTEMPT_COLUMNS}, notice.body, notice.body = :body as is_same, service_now() as now
    from processor_notice as notice
      left join processor_attempt on processor_attempt.attempt_id = :sentAttemptId
        and processor_attempt.connector_id = :connectorId
    where notice.connector_id = :connectorId and notice.notice_id = :noticeId`,
);

const STORED = columns({ body: json<NoticeBody>(), isSame: BOOLEAN, now: TIME });

/** Reads a notice from a row of {@link readNotice}. Its attempt is undefined if the connector has none with the sent id. */
export function toNotice(row: Row) {
  return { ...STORED.read(row), attempt: row.attempt_id === null ? undefined : toAttempt(row) };
}

/** Describes the content of a notice, such as `approved of 10.00 USD`. */
export function saidBy({ status, amount, currency }: NoticeBody): string {
  return `${status} of ${formatMoney(BigInt(amount), currency)}`;
}

const NOTICE = columns({
  noticeConnectorId: TEXT,
  noticeId: TEXT,
  body: json<NoticeBody>(),
  noticeTries: NUMBER,
  now: TIME,
});

const READ_WAITING = statement(
  'read_waiting_notices',
  { connectorIds: many(TEXT), count: NUMBER },
  `select ${ATTEMPT_COLUMNS}, notice.connector_id as notice_connector_id, notice.notice_id, notice.body,
      notice.tries as notice_tries, service_now() as now
    from unnest(:connectorIds) as wanted (connector_id)
      cross join lateral (
        select * from processor_notice
        where connector_id = wanted.connector_id and handled_at is null
          and (next_at is null or next_at <= (select service_now()))
        order by tries, received_at limit :count
      ) as notice
      left join processor_attempt on processor_attempt.program_id = notice.program_id
        and processor_attempt.attempt_id = notice.attempt_id
    order by notice.tries, notice.received_at`,
);

export type WaitingNotice = {
  readonly connectorId: string;
  readonly noticeId: string;
  readonly body: NoticeBody;
  /** How often the notice could not be handled. */
  readonly tries: number;
  readonly attempt: Attempt | undefined;
  /** When it was read, by the database's clock. */
  readonly now: number;
};

/** Reads notices that are not handled, at most `count` per connector: the fewest failures first, then the oldest. */
export function readWaitingNotices(connectorIds: readonly string[], count: number): Statement {
  return READ_WAITING({ connectorIds, count });
}

export function toWaitingNotice(row: Row): WaitingNotice {
  const { noticeConnectorId: connectorId, noticeId, body, noticeTries: tries, now } = NOTICE.read(row);
  return { connectorId, noticeId, body, tries, attempt: row.attempt_id === null ? undefined : toAttempt(row), now };
}

const NAMED = { connectorId: TEXT, noticeId: TEXT };

const MARK_HANDLED = statement(
  'mark_notice_handled',
  NAMED,
  `update processor_notice set handled_at = service_now()
    where connector_id = :connectorId and notice_id = :noticeId and handled_at is null`,
);

/** Marks a notice as handled, once its effects are committed. */
export function markNoticeHandled(connectorId: string, noticeId: string): Statement {
  return MARK_HANDLED({ connectorId, noticeId });
}

/** After this many failures a notice becomes a break. That takes about two minutes, longer than most outages of a database. */
export const MAX_NOTICE_FAILURES = 8;

const MARK_FAILED = statement(
  'mark_notice_failed',
  { ...NAMED, attemptId: nullable(UUID), maxPause: NUMBER },
  `with failed as (
      select connector_id, notice_id from processor_notice
      where connector_id = :connectorId and handled_at is null and (notice_id = :noticeId or attempt_id = :attemptId)
      for no key update skip locked
    )
    update processor_notice
    set tries = least(tries + 1, 1000),
      next_at = service_now() + least(power(2, least(tries, 20)), :maxPause) * interval '1 second'
    from failed
    where processor_notice.connector_id = failed.connector_id and processor_notice.notice_id = failed.notice_id
    returning processor_notice.notice_id, tries`,
);

const FAILED = columns({ noticeId: TEXT, tries: NUMBER });

/** The longest pause before a failed notice is tried again. Notices are never dropped. */
const MAX_PAUSE_SECONDS = 600;

/**
 * Postpones a notice that could not be handled, and the other notices about its attempt: first by 1 s, then by twice as long each
 * time. Skips rows that another process has locked, so that processes do not wait for each other. Returns the postponed rows.
 */
export function markNoticeFailed({ connectorId, noticeId, attempt }: WaitingNotice): Statement {
  return MARK_FAILED({ connectorId, noticeId, attemptId: attempt?.attemptId ?? null, maxPause: MAX_PAUSE_SECONDS });
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
 * Marks a notice about an unknown attempt as handled, and creates a break for a person to look at. A connector gets one break for
 * each unknown id, even if there are many notices or several processes handle them.
 */
export function markNoticeForeign(
  { connectorId, noticeId, body }: Pick<WaitingNotice, 'connectorId' | 'noticeId' | 'body'>,
  breakId: string,
): Statement {
  const { amount, currency, status, attempt_id: attemptId } = body;
  const found = `${status} for ${attemptId}`;
  return MARK_FOREIGN({ connectorId, noticeId, breakId, amount, currency, found, sentAttemptId: attemptId });
}

/**
 * Returns how often a notice has failed so far, from the rows of {@link markNoticeFailed}. Undefined if another process had locked
 * its row.
 */
export function toFailures(rows: readonly Row[], { noticeId }: WaitingNotice): number | undefined {
  return rows.map((row) => FAILED.read(row)).find((row) => row.noticeId === noticeId)?.tries;
}
