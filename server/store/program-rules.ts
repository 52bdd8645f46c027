import type { Calendar, CountedDay, Period, ProgramRules } from '../../domain/ledger/limits.ts';
import type { Row, Statement } from './connection/database.ts';
import { countedDays, toCountedDays } from './ledger/limit-counter.ts';
import { toLimits } from './ledger/limits.ts';
import { plainArray } from './texts.ts';

/** A program's rules at the moment of a decision, and what its loads and unloads of the last weeks came to. */
export type RulesNow = {
  readonly rules: ProgramRules;
  /** The database's clock, in milliseconds since 1970; the same in all rows of one reading. */
  readonly now: number;
  readonly days: { readonly in: readonly CountedDay[]; readonly out: readonly CountedDay[] };
};

const milliseconds = (time: string): string => `(extract(epoch from ${time}) * 1000)::bigint`;

const boundsOf = (period: Period): string => `
  ${milliseconds(`instant_of(date_trunc('${period}', local.now), program.time_zone)`)} as ${period}_start,
  ${milliseconds(`instant_of(date_trunc('${period}', local.now) + interval '1 ${period}', program.time_zone)`)}
    as ${period}_end`;

/**
 * Reads what programs say about limits, their calendars and the clock. Must come after the locks: the clock is read
 * once for all of them, so that what a group decides has one moment and one day.
 */
export function readProgramRules(programIds: readonly string[]): Statement {
  return {
    name: 'read_program_rules',
    text: `with moment as materialized (select service_now() as now)
      select ${milliseconds('moment.now')} as now, program.program_id, program.currency, program.limits,
        program.card_limits, local.now::date::text as today, ${boundsOf('day')}, ${boundsOf('week')}, ${boundsOf('month')},
        case when program.limits is not null then (
          select ${countedDays('account.program_id', 'account.account_id')} from account
          where account.owner_id = program.program_id and account.kind = 'funding'
            and account.currency = program.currency
        ) end as used
      from moment
      cross join unnest($1::uuid[]) as asked(program_id)
      cross join lateral (select * from program where program.program_id = asked.program_id limit 1) as program
      cross join lateral (select moment.now at time zone program.time_zone as now) as local`,
    values: [plainArray([...new Set(programIds)])],
  };
}

/** Rules from a row of {@link readProgramRules}. */
export function toRulesNow(row: Row): RulesNow {
  const boundOf = (name: string): number => Number(row[name]);
  const calendar: Calendar = {
    day: { start: boundOf('day_start'), end: boundOf('day_end') },
    week: { start: boundOf('week_start'), end: boundOf('week_end') },
    month: { start: boundOf('month_start'), end: boundOf('month_end') },
  };
  return {
    now: Number(row.now),
    days: toCountedDays(row.used),
    rules: {
      programId: row.program_id as string,
      currency: row.currency as string,
      today: row.today as string,
      calendar,
      limits: toLimits(row.limits),
      cardLimits: toLimits(row.card_limits),
    },
  };
}
