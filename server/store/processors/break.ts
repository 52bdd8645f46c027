import type { BreakKind } from '../../../domain/processors/break.ts';
import type { Row, Statement } from '../connection/database.ts';
import {
  BIGINT,
  CURRENCY,
  columns,
  INTEGER,
  NUMBER,
  nullable,
  type RowOf,
  statement,
  statementVariants,
  TEXT,
  TIME,
  UUID,
  word,
} from '../sql.ts';
import { MAX_NOTICE_FAILURES } from './notices.ts';

const BREAK = columns({
  breakId: UUID,
  kind: word<BreakKind>(),
  connectorId: TEXT,
  programId: nullable(UUID),
  attemptId: nullable(UUID),
  transferId: nullable(UUID),
  /** Minor units. */
  amount: nullable(BIGINT),
  currency: nullable(CURRENCY),
  /** The state in the books. */
  expected: TEXT,
  /** The processor's answer. */
  found: TEXT,
  createdAt: TIME,
  closedAt: nullable(TIME),
  /** The operator, as the audit log names them. */
  closedBy: nullable(TEXT),
  resolution: nullable(TEXT),
});

/** A difference between a processor and the books. Ids are inner UUIDs. */
export type Break = RowOf<typeof BREAK.columns>;

/** The conditions of a list of breaks. Null for no condition. */
export type BreakFilter = {
  readonly isClosed: boolean;
  readonly kind: BreakKind | null;
  readonly connectorId: string | null;
  readonly programId: string | null;
};

const LIST_BREAKS = statementVariants({
  kind: nullable(word<BreakKind>()),
  connectorId: nullable(TEXT),
  programId: nullable(UUID),
  after: nullable(UUID),
  count: INTEGER,
});

const CONDITIONS = [
  ['kind', 'kind = :kind'],
  ['connectorId', 'connector_id = :connectorId'],
  ['programId', 'program_id = :programId'],
] as const;

/** Reads a page of breaks after the one with the inner UUID `after`: open ones oldest first, closed ones newest first. */
export function listBreaks(filter: BreakFilter, after: string | null, count: number): Statement {
  const { isClosed } = filter;
  const used = CONDITIONS.filter(([name]) => filter[name] !== null);
  const state = isClosed ? 'closed' : 'open';
  const name = ['list_breaks', state, ...used.map(([one]) => one), ...(after === null ? [] : ['after'])].join('_');
  const text = (): string => {
    const conditions = [
      `closed_at is ${isClosed ? 'not null' : 'null'}`,
      ...used.map(([, condition]) => condition),
      ...(after === null ? [] : [`break_id ${isClosed ? '<' : '>'} :after`]),
    ];
    return `select ${BREAK.names}, service_now() as now from processor_break where ${conditions.join(' and ')}
      order by break_id${isClosed ? ' desc' : ''} limit :count`;
  };
  return LIST_BREAKS(name, text, { ...filter, after, count });
}

export const lockBreak = statement(
  'lock_break',
  { breakId: UUID },
  `select ${BREAK.names}, service_now() as now from processor_break where break_id = :breakId for no key update`,
);

const CLOSE = statement(
  'close_break',
  { ...BREAK.pick('breakId', 'closedAt', 'closedBy', 'resolution').columns, maxFailures: NUMBER },
  `with closed as (
      update processor_break set closed_at = :closedAt, closed_by = :closedBy, resolution = :resolution
      where break_id = :breakId
      returning *
    ), settled as (
      update processor_notice set handled_at = closed.closed_at
      from closed
      where closed.kind = 'unhandled_notice' and processor_notice.connector_id = closed.connector_id
        and processor_notice.attempt_id = closed.attempt_id and processor_notice.handled_at is null
        and processor_notice.tries >= :maxFailures
    )
    update processor_attempt set
      contradiction_settled_at = case when contradiction_break_id = closed.break_id then closed.closed_at
        else contradiction_settled_at end,
      late_approval_settled_at = case when processor_attempt.break_id = closed.break_id then closed.closed_at
        else late_approval_settled_at end
    from closed
    where processor_attempt.program_id = closed.program_id and processor_attempt.attempt_id = closed.attempt_id
      and closed.break_id in (processor_attempt.break_id, contradiction_break_id)`,
);

/**
 * Closes a locked break. A contradiction or late approval is settled on its attempt, and notices that keep failing are not tried
 * again.
 */
export function closeBreak(closed: Break): Statement {
  return CLOSE({ ...closed, maxFailures: MAX_NOTICE_FAILURES });
}

/** A break from a row of {@link listBreaks} or {@link lockBreak}, and when it was read, by the database's clock. */
export function toBreak(row: Row): { readonly found: Break; readonly now: number } {
  return { found: BREAK.read(row), now: (row.now as Date).getTime() };
}
