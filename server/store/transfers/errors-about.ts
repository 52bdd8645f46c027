import type { Row, Statement } from '../connection/database.ts';
import { LISTED_ERROR, type LoggedError, toLoggedError } from '../error.ts';
import { DATE, many, NUMBER, nullable, statement, TEXT, UUID } from '../sql.ts';

/** SQL: at most `maxExamined` errors from one end of an index, and whether each is about the transfer. */
const examined = (from: string, where: string, order: 'asc' | 'desc'): string => `
  select ${from}, request_id, created_at,
    program_id = :programId and (transfer_id = :transferId or idempotency_key = :key::text) as matches
  from (
    select * from error where ${where} and created_at >= :since
    order by created_at ${order}, request_id ${order} limit :maxExamined
  ) as error`;

const OF_CARD = 'card_name = :cardName';
const OF_OPERATION = 'program_id = :programId and operation = wanted.operation';

const READ_ERRORS_ABOUT = statement(
  'read_errors_about_transfer',
  {
    programId: UUID,
    transferId: UUID,
    cardName: TEXT,
    key: nullable(TEXT),
    operations: many(TEXT),
    since: DATE,
    maxExamined: NUMBER,
    count: NUMBER,
  },
  // Errors have no index by transfer or key, so this searches the errors near the transfer and the latest errors, which people
  // usually ask about.
  `with examined as materialized (
      (${examined("'card, first' as part", OF_CARD, 'asc')})
      union all (${examined("'card, last' as part", OF_CARD, 'desc')})
      union all select found.* from unnest(:operations) as wanted (operation) cross join lateral (
        (${examined("wanted.operation || ', first' as part", OF_OPERATION, 'asc')})
        union all (${examined("wanted.operation || ', last'", OF_OPERATION, 'desc')})
      ) as found
    ), found as materialized (
      select distinct created_at, request_id from examined where matches
      order by created_at, request_id limit :count
    )
    select error.*, walk.examined
    from (
      select coalesce(max(count), 0) as examined from (select count(*) from examined group by part) as counted
    ) as walk
    left join found on true
    left join lateral (
      select ${LISTED_ERROR.names} from error
      where error.request_id = found.request_id and error.created_at = found.created_at limit 1
    ) as error on true
    order by found.created_at, found.request_id`,
);

export type ErrorsAbout = {
  readonly programId: string;
  /** Inner UUID. */
  readonly transferId: string;
  /** The wire id of the transfer's card. */
  readonly cardName: string;
  /** The idempotency key of the transfer's request, or null if it had none. */
  readonly key: string | null;
  /** Operations whose errors name only the transfer, and no card. */
  readonly operations: readonly string[];
  readonly since: Date;
  /** Maximum number of errors that are compared from either end, for the card and for each operation. */
  readonly maxExamined: number;
  readonly count: number;
};

/** Reads errors that are about a transfer or have its idempotency key, oldest first. */
export function readErrorsAbout(about: ErrorsAbout): Statement {
  return READ_ERRORS_ABOUT(about);
}

/** Returns the errors from the rows of {@link readErrorsAbout}, and whether there were more errors than could be compared. */
export function toErrorsAbout(
  rows: readonly Row[],
  { maxExamined }: Pick<ErrorsAbout, 'maxExamined'>,
): { readonly errors: readonly LoggedError[]; readonly isCutShort: boolean } {
  const errors = rows.filter((row) => row.request_id !== null).map(toLoggedError);
  return { errors, isCutShort: Number(rows[0]?.examined) >= maxExamined };
}
