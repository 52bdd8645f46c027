import type { CardStatus } from '../../../domain/cards/card.ts';
import type { Attempt, AttemptKind, AttemptStatus } from '../../../domain/processors/attempt.ts';
import type { Step } from '../../../domain/processors/next-step.ts';
import type { TransferType } from '../../../domain/transfers/transfer.ts';
import type { Row, Statement } from '../connection/database.ts';
import { LACKS_STANDBY } from '../connection/standby.ts';
import {
  BIGINT,
  BOOLEAN,
  CURRENCY,
  columns,
  insertRows,
  many,
  NUMBER,
  nullable,
  rows,
  SMALLINT,
  statement,
  statementOfRows,
  TEXT,
  TIME,
  UUID,
  word,
} from '../sql.ts';
import { isEnabled } from '../switch.ts';

// Invariant: An attempt is `sent` in a committed transaction before the first byte of its order is sent
// Kept by: `claimAttempts`: only the orders of the rows that it returns are ever sent
// Tested by: `test/processors`

// Invariant: A transfer has at most one attempt that is open or approved
// Kept by: a partial unique index
// Tested by: `test/store/processors.test.ts`

const ATTEMPT = columns({
  programId: UUID,
  attemptId: UUID,
  transferId: UUID,
  cardId: UUID,
  connectorId: TEXT,
  kind: word<AttemptKind>(),
  amount: BIGINT,
  currency: CURRENCY,
  status: word<AttemptStatus>(),
  tries: SMALLINT,
  looks: SMALLINT,
  misses: SMALLINT,
  acknowledged: BOOLEAN,
  sentAt: nullable(TIME),
  notAfter: nullable(TIME),
  unknownSince: nullable(TIME),
  nextAt: nullable(TIME),
  processorReference: nullable(TEXT),
  code: nullable(TEXT),
  retryAfterSeconds: nullable(NUMBER),
  detail: nullable(TEXT),
  resolvedBy: nullable(TEXT),
  lateApprovalAt: nullable(TIME),
  breakId: nullable(UUID),
  lateApprovalSettledAt: nullable(TIME),
  contradictedAt: nullable(TIME),
  contradiction: nullable(TEXT),
  contradictionBreakId: nullable(UUID),
  contradictionSettledAt: nullable(TIME),
  correctedAmount: BIGINT,
  sandboxBehavior: nullable(TEXT),
  createdAt: TIME,
  updatedAt: TIME,
});

export function toAttempt(row: Row): Attempt {
  return ATTEMPT.read(row);
}

/** The columns that {@link toAttempt} reads, from `processor_attempt`. */
export const ATTEMPT_COLUMNS: string = ATTEMPT.of('processor_attempt');

export const insertAttempts = insertRows('insert_attempts', 'processor_attempt', ATTEMPT);

const READ_OF_TRANSFER = statement(
  'read_attempts_of_transfer',
  { programId: UUID, transferId: UUID },
  `select ${ATTEMPT.names} from processor_attempt
    where program_id = :programId and transfer_id = :transferId order by attempt_id`,
);

export function readAttemptsOfTransfer(programId: string, transferId: string): Statement {
  return READ_OF_TRANSFER({ programId, transferId });
}

const READ_OF_TRANSFERS = statementOfRows(
  'read_attempts_of_transfers',
  columns({ programId: UUID, transferId: UUID }),
  `select processor_attempt.* from :sent
    cross join lateral (
      select ${ATTEMPT.names} from processor_attempt
      where processor_attempt.program_id = sent.program_id and processor_attempt.transfer_id = sent.transfer_id
      order by attempt_id desc limit 1
    ) as processor_attempt`,
);

export function readLastAttempts(
  transfers: readonly { readonly programId: string; readonly transferId: string }[],
): Statement {
  return READ_OF_TRANSFERS(transfers.map(({ programId, transferId }) => ({ programId, transferId })));
}

const NAMED_ATTEMPT = columns({ programId: UUID, attemptId: UUID });

export type NamedAttempt = { readonly programId: string; readonly attemptId: string };

const attemptsText = (end: string): string => `select processor_attempt.* from (
      select * from :sent order by attempt_id
    ) as ordered
    cross join lateral (
      select ${ATTEMPT.names} from processor_attempt
      where processor_attempt.program_id = ordered.program_id and processor_attempt.attempt_id = ordered.attempt_id
      ${end}
    ) as processor_attempt`;

const READ_FOR_REPORT = statementOfRows('read_attempts_for_report', NAMED_ATTEMPT, attemptsText('limit 1'));
const LOCK_FOR_REPORT = statementOfRows('lock_attempts_for_report', NAMED_ATTEMPT, attemptsText('for no key update'));

/** Reads the attempts whose status a group of transfers changes. Locks them if the group's accounts are locked. */
export function readAttemptsForReport(attempts: readonly NamedAttempt[], isLocked: boolean): Statement {
  return isLocked ? LOCK_FOR_REPORT(attempts) : READ_FOR_REPORT(attempts);
}

const CHANGE = ATTEMPT.pick(
  'programId',
  'attemptId',
  'status',
  'tries',
  'looks',
  'misses',
  'acknowledged',
  'unknownSince',
  'nextAt',
  'processorReference',
  'code',
  'retryAfterSeconds',
  'detail',
  'resolvedBy',
  'updatedAt',
);

const SET_CHANGED = `status = sent.status, tries = sent.tries, looks = sent.looks, misses = sent.misses,
      acknowledged = sent.acknowledged, unknown_since = sent.unknown_since, next_at = sent.next_at,
      processor_reference = sent.processor_reference, code = sent.code, retry_after_seconds = sent.retry_after_seconds,
      detail = sent.detail, resolved_by = sent.resolved_by, updated_at = sent.updated_at`;

const IS_SENT = `processor_attempt.program_id = sent.program_id and processor_attempt.attempt_id = sent.attempt_id
        and processor_attempt.status = sent.status_before and processor_attempt.looks = sent.looks_before
        and processor_attempt.tries = sent.tries_before`;

/** SQL: the rows, locked in the order of their ids. A plain update would lock them in any order. */
const LOCKED = `sent as materialized (
      select sent.* from :sent join processor_attempt on ${IS_SENT}
      order by sent.attempt_id for no key update of processor_attempt
    )`;

const SENT_CHANGE = rows(
  columns({ ...CHANGE.columns, statusBefore: word<AttemptStatus>(), looksBefore: SMALLINT, triesBefore: SMALLINT }),
);

const UPDATE_REPORTED = statement(
  'update_reported_attempts',
  { sent: SENT_CHANGE, number: NUMBER },
  `with ${LOCKED}, written as (
      update processor_attempt set ${SET_CHANGED} from sent where ${IS_SENT} returning 1
    )
    select case when (select count(*) from written) <> :number then refuse_changed_accounts() end`,
);

export type DecidedAttempt = { readonly before: Attempt; readonly after: Attempt };

/** Updates the attempts of a group. If one has changed since the decision, it fails as if an account had changed. */
export function updateReportedAttempts(decided: readonly DecidedAttempt[]): Statement {
  return UPDATE_REPORTED({ sent: decided.map(toSent), number: decided.length });
}

function toSent({ before, after }: DecidedAttempt) {
  return { ...after, statusBefore: before.status, looksBefore: before.looks, triesBefore: before.tries };
}

const UPDATE_ATTEMPT = statement(
  'update_attempt',
  { sent: SENT_CHANGE },
  `update processor_attempt set ${SET_CHANGED} from :sent where ${IS_SENT} returning processor_attempt.attempt_id`,
);

/** Updates an attempt whose transfer stays unchanged. Returns no row if another process has changed the attempt. */
export function updateAttempt(decided: DecidedAttempt): Statement {
  return UPDATE_ATTEMPT({ sent: [toSent(decided)] });
}

export function attemptAfter(attempt: Attempt, step: Step, now: number): Attempt {
  const { effect: _effect, failure: _failure, ...change } = step;
  return { ...attempt, ...change, updatedAt: now };
}

const CLAIM = statement(
  'claim_attempts',
  { connectorIds: many(TEXT), count: NUMBER, readyLease: NUMBER, lease: NUMBER },
  `with due as (
      select program_id, attempt_id, card_id, transfer_id, connector_id, status from processor_attempt
      where next_at <= (select service_now()) and connector_id = any (:connectorIds) and (select not ${LACKS_STANDBY})
      order by next_at limit :count
      for no key update skip locked
    ), checked as (
      select due.program_id, due.attempt_id, service_now() as now,
        service_now() + make_interval(secs => case when due.status = 'ready' then :readyLease::int else :lease::int end) as until,
        card.name as card_name, card.status as card_status, card.expires_on::text, card.processor_token,
        transfer.type as transfer_type,
        (service_now() at time zone program.time_zone)::date::text as today,
        not (${isEnabled({
          programId: 'due.program_id',
          type: 'transfer.type',
          connectorId: 'due.connector_id',
          now: 'service_now()',
        })}) as is_disabled
      from due
      cross join lateral (
        select * from card where card.program_id = due.program_id and card.card_id = due.card_id limit 1
      ) as card
      cross join lateral (select time_zone from program where program.program_id = due.program_id limit 1) as program
      cross join lateral (
        select type from transfer
        where transfer.program_id = due.program_id and transfer.transfer_id = due.transfer_id limit 1
      ) as transfer
    )
    update processor_attempt set next_at = checked.until, updated_at = checked.now
    from checked
    where processor_attempt.program_id = checked.program_id and processor_attempt.attempt_id = checked.attempt_id
    returning ${ATTEMPT_COLUMNS}, checked.card_name, checked.card_status, checked.expires_on, checked.processor_token,
      checked.transfer_type, checked.today, checked.is_disabled, checked.now`,
);

/** An attempt that a process has claimed, with the data that is checked again before the order is sent. */
export type ClaimedAttempt = {
  readonly attempt: Attempt;
  readonly transferType: TransferType;
  readonly cardName: string;
  readonly cardStatus: CardStatus;
  readonly expiresOn: string | null;
  readonly today: string;
  readonly processorToken: string;
  readonly isDisabled: boolean;
  /** When it was claimed, by the database's clock. */
  readonly now: number;
};

/**
 * Claims attempts that are due. No other process can claim them until the lease expires. Claims none while a standby is
 * required but none is configured. Claiming does not change the status: {@link markSent} marks a `ready` attempt as sent, in a
 * separate transaction, before its order leaves.
 */
export function claimAttempts(
  connectorIds: readonly string[],
  count: number,
  leaseSeconds: { readonly ready: number; readonly other: number },
): Statement {
  return CLAIM({ connectorIds, count, readyLease: leaseSeconds.ready, lease: leaseSeconds.other });
}

export function toClaimedAttempt(row: Row): ClaimedAttempt {
  return {
    attempt: toAttempt(row),
    transferType: row.transfer_type as TransferType,
    cardName: row.card_name as string,
    cardStatus: row.card_status as CardStatus,
    expiresOn: row.expires_on as string | null,
    today: row.today as string,
    processorToken: row.processor_token as string,
    isDisabled: row.is_disabled as boolean,
    now: (row.now as Date).getTime(),
  };
}

const IS_READY = `processor_attempt.program_id = sent.program_id and processor_attempt.attempt_id = sent.attempt_id
      and processor_attempt.status = 'ready' and processor_attempt.tries = sent.tries and processor_attempt.looks = sent.looks`;

const MARK_SENT = statement(
  'mark_attempts_sent',
  { sent: rows(columns({ programId: UUID, attemptId: UUID, tries: SMALLINT, looks: SMALLINT })), window: NUMBER },
  `with sent as materialized (
      select sent.* from :sent join processor_attempt on ${IS_READY}
      where ${isEnabled({
        programId: 'processor_attempt.program_id',
        type: "case when processor_attempt.kind = 'push' then 'load' else 'unload' end",
        connectorId: 'processor_attempt.connector_id',
        now: 'service_now()',
      })}
      order by sent.attempt_id for no key update of processor_attempt
    )
    update processor_attempt set status = 'sent', tries = sent.tries + 1, sent_at = service_now(),
      not_after = service_now() + make_interval(secs => :window / 1000.0),
      next_at = service_now() + make_interval(secs => :window / 1000.0), updated_at = service_now()
    from sent where ${IS_READY}
    returning ${ATTEMPT_COLUMNS}`,
);

/**
 * Marks attempts as sent, before their orders leave. Returns the attempts that this process may send. Attempts that the switch has
 * disabled since they were claimed are not marked. After `milliseconds`, the processor must no longer execute the orders, and they
 * count as lost unless this process has recorded an answer.
 */
export function markSent(attempts: readonly Attempt[], milliseconds: number): Statement {
  return MARK_SENT({ sent: attempts, window: milliseconds });
}
