import { type AccountOfDay, DAY_PURPOSES, PROGRAM_ACCOUNTS, type ProgramAccount } from '../../../domain/ledger/day.ts';
import type { Row } from '../connection/database.ts';
import {
  BIGINT,
  CURRENCY,
  columns,
  json,
  NUMBER,
  nullable,
  type RowOf,
  statement,
  TEXT,
  TIME,
  UUID,
  word,
  wordList,
} from '../sql.ts';
import { balanceAfter } from './statement.ts';

const BOUNDS = columns({
  /** Such as 2026-01-31. */
  day: TEXT,
  /** When the day and the next day begin. */
  beginsAt: TIME,
  endsAt: TIME,
  /** The database's clock. */
  now: TIME,
  /** The report of a closed day, as it was sent. */
  report: nullable(json<object>('json')),
  /** The report of the previous day, if that day was closed. */
  reportBefore: nullable(json<object>('json')),
  /** Number of the program's open breaks. */
  openBreaks: NUMBER,
  lastClosedDay: nullable(TEXT),
});

/** The bounds of a day in a time zone, and the stored data about it. */
export type DayBounds = RowOf<typeof BOUNDS.columns>;

export const toDayBounds: (row: Row) => DayBounds = BOUNDS.read;

/** Reads the bounds of a program's day (yesterday if `day` is null), and the report of the day if it is closed. One row. */
export const readDayBounds = statement(
  'read_day_bounds',
  { programId: UUID, timeZone: TEXT, day: nullable(TEXT) },
  `select chosen.day::text, instant_of(chosen.day::timestamp, :timeZone) as begins_at,
      instant_of((chosen.day + 1)::timestamp, :timeZone) as ends_at, service_now() as now, closed_day.report,
      (select report from closed_day where program_id = :programId and closed_day.day = chosen.day - 1) as report_before,
      (select count(*) from processor_break where program_id = :programId and closed_at is null) as open_breaks,
      (select max(day)::text from closed_day where program_id = :programId and closed_day.day < chosen.day) as last_closed_day
    from (select coalesce(:day::date, (service_now() at time zone :timeZone)::date - 1) as day) as chosen
    left join closed_day on closed_day.program_id = :programId and closed_day.day = chosen.day`,
);

/** Sums without grouping, because grouping would sort all postings of the day. */
const SUMS = DAY_PURPOSES.map(
  (purpose) => `coalesce(sum(amount) filter (where purpose = '${purpose}'), 0) as ${purpose}_amount,
        count(*) filter (where counts and purpose = '${purpose}') as ${purpose}_postings`,
).join(', ');

/**
 * Reads the accounts of a program over a day. The numbers of an account's postings have no gaps and their times never go back, so a day
 * is a range of two unique indexes.
 */
export const readAccountsOfDay = statement(
  'read_accounts_of_day',
  { programId: UUID, beginsAt: TIME, endsAt: TIME },
  `with own as materialized (
      select account_id, kind, currency, last_sequence_before(:programId, account_id, :beginsAt) as first,
        last_sequence_before(:programId, account_id, :endsAt) as last
      from account where program_id = :programId and owner_id = :programId and kind in (${wordList(PROGRAM_ACCOUNTS)})
    )
    select own.kind, own.currency, ${balanceAfter('own.account_id', 'own.first')} as opening,
      ${balanceAfter('own.account_id', 'own.last')} as closing, moved.*
    from own cross join lateral (
      select ${SUMS} from (
        select purpose, -amount as amount, true as counts from posting
        where program_id = :programId and source_account_id = own.account_id
          and source_sequence > own.first and source_sequence <= own.last
        union all
        -- A posting between two of these accounts is counted only at its source.
        select purpose, amount, source_account_id <> all (select account_id from own) from posting
        where program_id = :programId and destination_account_id = own.account_id
          and destination_sequence > own.first and destination_sequence <= own.last
      ) as line
    ) as moved`,
);

const ACCOUNT = columns({ kind: word<ProgramAccount>(), currency: CURRENCY, opening: BIGINT, closing: BIGINT });

export function toAccountOfDay(row: Row): AccountOfDay {
  const moved = DAY_PURPOSES.map((purpose) => ({
    purpose,
    amount: BigInt(String(row[`${purpose}_amount`])),
    postings: Number(row[`${purpose}_postings`]),
  }));
  return { ...ACCOUNT.read(row), moved };
}

export const insertClosedDay = statement(
  'insert_closed_day',
  { programId: UUID, day: TEXT, report: json<object>('json') },
  `insert into closed_day (program_id, day, report)
    values (:programId, :day::date, :report)`,
);
