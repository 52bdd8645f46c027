import { type Calendar, type Limits, PERIODS, type Period, type ProgramRules } from '../../domain/ledger/limits.ts';
import type { Metadata } from '../../domain/metadata.ts';
import type { SwitchSetting } from '../../domain/switch.ts';
import type { Row, Statement } from './connection/database.ts';
import { type CountedDays, countedDays, LIMITS, toCountedDays } from './ledger/limits.ts';
import {
  BIGINT,
  BOOLEAN,
  CURRENCY,
  columns,
  DATE,
  insertRow,
  json,
  many,
  NUMBER,
  nullable,
  statement,
  TEXT,
  UUID,
} from './sql.ts';
import { DISABLED_SCOPES, toDisabledScopes } from './switch.ts';

export type Program = {
  readonly programId: string;
  readonly name: string;
  readonly currency: string;
  readonly timeZone: string;
  readonly createdAt: Date;
  /** Limits of the program's loads and unloads together. Null if there are none. */
  readonly limits: Limits | null;
  /** Limits of each card of the program, unless the card has its own. */
  readonly cardLimits: Limits | null;
  /** The funding is low if less than this amount is available, in minor units of the program's currency. Null means never. */
  readonly fundingLowThreshold: bigint | null;
  readonly metadata: Metadata;
  /** The current day in the program's time zone, YYYY-MM-DD. */
  readonly today: string;
  /** The program's funding accounts, one for each currency, in minor units. */
  readonly funding: readonly { readonly currency: string; readonly balance: bigint; readonly held: bigint }[];
};

const PROGRAM = columns({
  programId: UUID,
  name: TEXT,
  currency: CURRENCY,
  timeZone: TEXT,
  createdAt: DATE,
  limits: nullable(LIMITS),
  cardLimits: nullable(LIMITS),
  fundingLowThreshold: nullable(BIGINT),
  metadata: json<Metadata>(),
});

const DETAILS = columns({
  ...PROGRAM.columns,
  today: TEXT,
  funding: json<readonly { readonly currency: string; readonly balance: string; readonly held: string }[]>(),
});

const COLUMNS = `${PROGRAM.of('program')}, (service_now() at time zone program.time_zone)::date::text as today, (
    select coalesce(json_agg(json_build_object(
        'currency', account.currency, 'balance', account.balance::text, 'held', account.held::text
      ) order by account.currency), '[]')
    from account
    where account.owner_id = program.program_id and account.kind = 'funding'
  ) as funding`;

const READ_PROGRAM = statement(
  'read_program',
  { programId: UUID },
  `select ${COLUMNS} from program where program.program_id = :programId`,
);

export function readProgram(programId: string): Statement {
  return READ_PROGRAM({ programId });
}

const FIND_PROGRAM = statement(
  'find_program',
  { programId: UUID },
  'select program_id from program where program_id = :programId',
);

/** Reads the id of a program, if it exists. A request in the program needs no other data about it. */
export function findProgram(programId: string): Statement {
  return FIND_PROGRAM({ programId });
}

const LIST_PROGRAMS = statement(
  'list_programs',
  { after: nullable(UUID), metadataName: nullable(TEXT), metadataValue: nullable(TEXT), count: NUMBER },
  `select ${COLUMNS} from program
    where (:after::uuid is null or program.program_id < :after)
      and (:metadataName::text is null or program.metadata ->> :metadataName = :metadataValue)
    order by program.program_id desc limit :count`,
);

/** Reads a page of programs, newest first, after the program `after`. If a pair is given, only programs with this metadata. */
export function listPrograms(
  pair: { readonly name: string; readonly value: string } | null,
  after: string | null,
  count: number,
): Statement {
  return LIST_PROGRAMS({ metadataName: pair?.name ?? null, metadataValue: pair?.value ?? null, after, count });
}

export function toProgram(row: Row): Program {
  const { funding, ...program } = DETAILS.read(row);
  return {
    ...program,
    funding: funding.map(({ currency, balance, held }) => ({ currency, balance: BigInt(balance), held: BigInt(held) })),
  };
}

const INSERT_PROGRAM = insertRow('insert_program', 'program', PROGRAM.omit('limits', 'cardLimits'));

export function insertProgram(
  program: Pick<Program, 'programId' | 'name' | 'currency' | 'timeZone' | 'fundingLowThreshold' | 'metadata'>,
  now: Date,
): Statement {
  return INSERT_PROGRAM({ ...program, createdAt: now });
}

const LOCK_PROGRAM = statement(
  'lock_program',
  { programId: UUID },
  'select from program where program_id = :programId for no key update',
);

/** Locks a program against other changes. A later statement must read its values. */
export function lockProgram(programId: string): Statement {
  return LOCK_PROGRAM({ programId });
}

/** Updates a program, which must be locked. */
export const updateProgram = statement(
  'update_program',
  PROGRAM.pick('programId', 'name', 'limits', 'cardLimits', 'fundingLowThreshold', 'metadata').columns,
  `update program set name = :name, limits = :limits, card_limits = :cardLimits,
      funding_low_threshold = :fundingLowThreshold, metadata = :metadata
    where program_id = :programId`,
);

const READ_FUNDING_THRESHOLD = statement(
  'read_funding_threshold',
  { programId: UUID },
  'select funding_low_threshold from program where program_id = :programId',
);

/** Reads the threshold below which a program's funding is low. The funding accounts must be locked. */
export function readFundingThreshold(programId: string): Statement {
  return READ_FUNDING_THRESHOLD({ programId });
}

export function toFundingThreshold([row]: readonly Row[]): bigint | null {
  return row === undefined ? null : PROGRAM.pick('fundingLowThreshold').read(row).fundingLowThreshold;
}

const READ_TIME_ZONE = statement(
  'read_time_zone',
  { name: TEXT },
  "select set_config('TimeZone', :name, true) as name",
);

/**
 * Reads a time zone by its name, in the server's spelling. Reads no other time zone, unlike `pg_timezone_names`, which reads the
 * files of all. Fails with the SQLSTATE 22023 if there is none. The setting is local to the statement's transaction.
 */
export function readTimeZone(name: string): Statement {
  return READ_TIME_ZONE({ name });
}

export type RulesNow = {
  readonly rules: ProgramRules;
  /** The time of the database's clock, in milliseconds since 1970. It is the same in all rows of a query. */
  readonly now: number;
  /** The disabled scopes, of any program. */
  readonly switches: readonly SwitchSetting[];
  /** The funding is low if less than this amount is available, in minor units of the program's currency. Null means never. */
  readonly fundingLowThreshold: bigint | null;
  /**
   * The counted days of the funding account in the last weeks. Null if the program has no limits or the days were not requested.
   */
  readonly days: CountedDays | null;
};

const milliseconds = (time: string): string => `(extract(epoch from ${time}) * 1000)::bigint`;

const boundsOf = (period: Period): string => `
  ${milliseconds(`instant_of(date_trunc('${period}', local.now), local.time_zone)`)} as ${period}_start,
  ${milliseconds(`instant_of(date_trunc('${period}', local.now) + interval '1 ${period}', local.time_zone)`)}
    as ${period}_end`;

/** SQL: the calendar of a time zone, at the time in `local`. */
const CALENDAR_OF_ZONE = `local.now::date::text as today, ${PERIODS.map(boundsOf).join(', ')}`;

const MOMENT = `moment as materialized (
      select date_trunc('milliseconds', service_now()) as now, ${DISABLED_SCOPES}
    )`;

/** SQL: the rules of `program` without its calendar. */
const RULES_BUT_CALENDAR = `${milliseconds('moment.now')} as now, moment.disabled, moment.disabled_at_connectors, program.program_id,
      program.currency, program.limits, program.card_limits, program.funding_low_threshold,
      case when program.limits is not null and :withDays::boolean then (
        select ${countedDays('account.program_id', 'account.account_id')} from account
        where account.owner_id = program.program_id and account.kind = 'funding'
          and account.currency = program.currency
      ) end as used`;

const WANTED = `unnest(:programIds) as wanted(program_id)
        cross join lateral (select * from program where program.program_id = wanted.program_id limit 1) as program`;

const RULES_PARAMETERS = { programIds: many(UUID), withDays: BOOLEAN };

const READ_PROGRAM_RULES = statement(
  'read_program_rules',
  RULES_PARAMETERS,
  `with ${MOMENT}
    select ${RULES_BUT_CALENDAR}, ${CALENDAR_OF_ZONE}
    from moment
    cross join ${WANTED}
    cross join lateral (select program.time_zone, moment.now at time zone program.time_zone as now) as local`,
);

// Computing a calendar takes 5 to 15 µs, so it is done once for all programs of a time zone. For a single program, the additional
// steps cost more than they save.
const READ_RULES_OF_PROGRAMS = statement(
  'read_rules_of_programs',
  RULES_PARAMETERS,
  `with ${MOMENT}, found as materialized (
      select program.program_id, program.currency, program.time_zone, program.limits, program.card_limits,
        program.funding_low_threshold
      from ${WANTED}
    ), calendar as materialized (
      select local.time_zone, ${CALENDAR_OF_ZONE}
      from moment
      cross join (select distinct time_zone from found) as zone
      cross join lateral (select zone.time_zone, moment.now at time zone zone.time_zone as now) as local
    )
    select ${RULES_BUT_CALENDAR}, today, ${PERIODS.flatMap((period) => [`${period}_start`, `${period}_end`]).join(', ')}
    from moment cross join found as program join calendar using (time_zone)`,
);

/**
 * Reads the limits of programs, their calendars, the switch and the clock. Must come after the switch was locked, in a separate
 * statement, and after the accounts were locked or read. The clock is read once for all programs, so that the decisions of a group
 * have the same time and day. The time is cut to milliseconds, as in records, and the day is the day of that time. `withDays` also
 * reads the counted days of the funding accounts, which takes a third of the time.
 */
export function readProgramRules(programIds: readonly string[], withDays = true): Statement {
  const wanted = new Set(programIds);
  const read = wanted.size === 1 ? READ_PROGRAM_RULES : READ_RULES_OF_PROGRAMS;
  return read({ programIds: [...wanted], withDays });
}

const RULES = columns({
  ...PROGRAM.pick('programId', 'currency', 'limits', 'cardLimits', 'fundingLowThreshold').columns,
  today: TEXT,
});
const CALENDAR = columns({
  now: NUMBER,
  dayStart: NUMBER,
  dayEnd: NUMBER,
  weekStart: NUMBER,
  weekEnd: NUMBER,
  monthStart: NUMBER,
  monthEnd: NUMBER,
});

export function toRulesNow(row: Row): RulesNow {
  const { now, dayStart, dayEnd, weekStart, weekEnd, monthStart, monthEnd } = CALENDAR.read(row);
  // Written out, because every group of transfers needs it, and a version built from PERIODS took four times as long.
  const calendar: Calendar = {
    day: { start: dayStart, end: dayEnd },
    week: { start: weekStart, end: weekEnd },
    month: { start: monthStart, end: monthEnd },
  };
  const switches = toDisabledScopes(row);
  const { fundingLowThreshold, ...rules } = RULES.read(row);
  return { now, switches, fundingLowThreshold, days: toCountedDays(row.used), rules: { ...rules, calendar } };
}
