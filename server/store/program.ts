import type { Limits } from '../../domain/ledger/limits.ts';
import type { Row, Statement } from './connection/database.ts';
import { fromLimits, toLimits } from './ledger/limits.ts';

/** A card program. */
export type Program = {
  readonly programId: string;
  readonly name: string;
  readonly currency: string;
  readonly timeZone: string;
  readonly createdAt: Date;
  /** What its loads and unloads may come to together; null where that is not limited. */
  readonly limits: Limits | null;
  /** What each of its cards may do, unless the card says otherwise. */
  readonly cardLimits: Limits | null;
  /** The day in its time zone, YYYY-MM-DD. */
  readonly today: string;
  /** Its funding accounts, one a currency; minor units. */
  readonly funding: readonly { readonly currency: string; readonly balance: bigint; readonly held: bigint }[];
};

const COLUMNS = `program.program_id, program.name, program.currency, program.time_zone, program.created_at,
  program.limits, program.card_limits,
  (service_now() at time zone program.time_zone)::date::text as today, (
    select coalesce(json_agg(json_build_object(
        'currency', account.currency, 'balance', account.balance::text, 'held', account.held::text
      ) order by account.currency), '[]')
    from account
    where account.owner_id = program.program_id and account.kind = 'funding'
  ) as funding`;

/** Reads one program. */
export function readProgram(programId: string): Statement {
  return {
    name: 'read_program',
    text: `select ${COLUMNS} from program where program.program_id = $1`,
    values: [programId],
  };
}

/** Reads a program's id, if there is one: all that has to be known before anybody acts in it. */
export function findProgram(programId: string): Statement {
  return { name: 'find_program', text: 'select program_id from program where program_id = $1', values: [programId] };
}

/** Reads a page of programs, newest first, that come after the program `after`. */
export function listPrograms(after: string | null, count: number): Statement {
  return {
    name: 'list_programs',
    text: `select ${COLUMNS} from program where $1::uuid is null or program.program_id < $1
      order by program.program_id desc limit $2`,
    values: [after, count],
  };
}

/** A program from a row of {@link readProgram} or {@link listPrograms}. */
export function toProgram(row: Row): Program {
  const funding = row.funding as { currency: string; balance: string; held: string }[];
  return {
    programId: row.program_id as string,
    name: row.name as string,
    currency: row.currency as string,
    timeZone: row.time_zone as string,
    createdAt: row.created_at as Date,
    limits: toLimits(row.limits),
    cardLimits: toLimits(row.card_limits),
    today: row.today as string,
    funding: funding.map(({ currency, balance, held }) => ({ currency, balance: BigInt(balance), held: BigInt(held) })),
  };
}

/** Makes a program. */
export function insertProgram(
  program: Pick<Program, 'programId' | 'name' | 'currency' | 'timeZone'>,
  now: Date,
): Statement {
  return {
    name: 'insert_program',
    text: 'insert into program (program_id, name, currency, time_zone, created_at) values ($1, $2, $3, $4, $5)',
    values: [program.programId, program.name, program.currency, program.timeZone, now],
  };
}

/** Locks a program against others that change it; what it is must be read by a later statement. */
export function lockProgram(programId: string): Statement {
  return {
    name: 'lock_program',
    text: 'select from program where program_id = $1 for no key update',
    values: [programId],
  };
}

/** Writes what a program has become; it must be locked. */
export function updateProgram(program: Pick<Program, 'programId' | 'name' | 'limits' | 'cardLimits'>): Statement {
  return {
    name: 'update_program',
    text: 'update program set name = $2, limits = $3, card_limits = $4 where program_id = $1',
    values: [program.programId, program.name, fromLimits(program.limits), fromLimits(program.cardLimits)],
  };
}

/** Whether PostgreSQL knows a time zone of this name, and the clock: columns `known` and `now`. */
export function knowsTimeZone(name: string): Statement {
  return {
    name: 'knows_time_zone',
    text: 'select exists (select from pg_timezone_names where name = $1) as known',
    values: [name],
  };
}
