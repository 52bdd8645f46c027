import type { TransferType } from '../../../domain/transfers/transfer.ts';
import type { Row, Statement } from '../connection/database.ts';
import {
  BOOLEAN,
  columns,
  json,
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
import { CONNECTOR_OF_TRANSFER } from '../transfers/transfer.ts';
import type { CountedScope } from './transfer-count.ts';

/** Maximum number of scheduled transfers to count. Counting that many takes about ten milliseconds. */
export const MAX_SCHEDULED = 10_000;

const MAX_NAMED = 10;

const PROGRAMS = columns({
  count: NUMBER,
  named: json<readonly { readonly programId: string; readonly name: string }[]>(),
});

export type ProgramsInScope = RowOf<typeof PROGRAMS.columns>;

const READ_PROGRAMS_IN_SCOPE = statement(
  'read_programs_in_scope',
  { programId: nullable(UUID), most: NUMBER },
  `select (select count(*) from program where :programId::uuid is null or program_id = :programId) as count, (
      select coalesce(json_agg(json_build_object('programId', program_id, 'name', name) order by program_id desc), '[]')
      from (
        select program_id, name from program where :programId::uuid is null or program_id = :programId
        order by program_id desc limit :most
      ) as newest
    ) as named`,
);

export function readProgramsInScope(programId: string | null): Statement {
  return READ_PROGRAMS_IN_SCOPE({ programId, most: MAX_NAMED });
}

export function toProgramsInScope(row: Row): ProgramsInScope {
  return PROGRAMS.read(row);
}

const SCHEDULED = columns({ transfers: NUMBER, atLeast: BOOLEAN, withinDay: NUMBER, nextAt: nullable(TIME) });

export type ScheduledInScope = RowOf<typeof SCHEDULED.columns>;

const SCOPE = { programId: nullable(UUID), type: nullable(word<TransferType>()), connectorId: nullable(TEXT) };

/** The scope of a proposed change of the switch. Null means no condition. */
export type PreviewedScope = CountedScope & { readonly connectorId: string | null };

const COUNT_SCHEDULED = statementVariants({ ...SCOPE, maxExamined: NUMBER });

/**
 * Counts at most {@link MAX_SCHEDULED} scheduled transfers of a scope. For all programs, reads them in the order of their due
 * times. For one program, reads them in the order of their ids.
 */
export function countScheduled({ programId, type, connectorId }: PreviewedScope): Statement {
  const isOne = programId !== null;
  const text = (): string => `select count(*) filter (where fits) as transfers, count(*) >= :maxExamined as at_least,
      count(*) filter (where fits and scheduled_for < service_now() + interval '24 hours') as within_day,
      min(scheduled_for) filter (where fits) as next_at
    from (
      select scheduled_for, (:type::text is null or type = :type)
          and (:connectorId::text is null or ${CONNECTOR_OF_TRANSFER} = :connectorId) as fits
      from transfer
      where status = 'scheduled' ${isOne ? 'and program_id = :programId' : 'and :programId::uuid is null'}
      order by ${isOne ? 'program_id, transfer_id' : 'scheduled_for'} limit :maxExamined
    ) as examined`;
  const name = isOne ? 'count_scheduled_of_program' : 'count_scheduled';
  return COUNT_SCHEDULED(name, text, { programId, type, connectorId, maxExamined: MAX_SCHEDULED });
}

export function toScheduledInScope(row: Row): ScheduledInScope {
  return SCHEDULED.read(row);
}

const ORDERS = columns({
  /** The number of orders from `latelyId` on, and from `firstId` on. */
  lately: NUMBER,
  inAll: NUMBER,
  /** Whether there may be more such orders than counted. */
  latelyAtLeast: BOOLEAN,
  inAllAtLeast: BOOLEAN,
  /** The number of programs with orders from `firstId` on, and the newest of these programs. */
  ...PROGRAMS.columns,
});

export type OrdersInScope = RowOf<typeof ORDERS.columns>;

/** Maximum number of orders that are examined, which takes tens of milliseconds. */
const MAX_ORDERS = 10_000;

/** Because of the upper bound, the planner uses the index even before the table has been analyzed for the first time. */
const COUNT_ORDERS = statement(
  'count_orders_at_connector',
  { ...SCOPE, firstId: UUID, latelyId: UUID, most: NUMBER, maxExamined: NUMBER },
  `with examined as materialized (
      select attempt_id, program_id, (connector_id = :connectorId and (:programId::uuid is null or program_id = :programId)
        and (:type::text is null or kind = case :type::text when 'load' then 'push' else 'pull' end)) as fits
      from processor_attempt where attempt_id between :firstId and 'ffffffff-ffff-ffff-ffff-ffffffffffff'
      order by attempt_id desc limit :maxExamined
    ), known as (
      select program_id, name from program where program_id in (select program_id from examined where fits)
    ), counted as (
      select count(*) filter (where fits and attempt_id >= :latelyId) as lately, count(*) filter (where fits) as in_all,
        count(*) >= :maxExamined and min(attempt_id::text) > :latelyId::text as lately_at_least,
        count(*) >= :maxExamined as in_all_at_least
      from examined
    )
    select counted.*, (select count(*) from known) as count, (
      select coalesce(json_agg(json_build_object('programId', program_id, 'name', name) order by program_id desc), '[]')
      from (select program_id, name from known order by program_id desc limit :most) as newest
    ) as named
    from counted`,
);

/**
 * Counts a connector's orders with ids from `firstId` on, and from `latelyId` on. Ids begin with the time. Only the newest {@link
 * MAX_ORDERS} orders of all connectors are examined.
 */
export function countOrders(scope: PreviewedScope, firstId: string, latelyId: string): Statement {
  return COUNT_ORDERS({ ...scope, firstId, latelyId, most: MAX_NAMED, maxExamined: MAX_ORDERS });
}

export function toOrdersInScope(row: Row): OrdersInScope {
  return ORDERS.read(row);
}
