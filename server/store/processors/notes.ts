import type { Statement } from '../connection/database.ts';
import { INTEGER, many, statement, UUID } from '../sql.ts';

const FORGET_NOTES_OF_ATTEMPTS = statement(
  'forget_notes_of_attempts',
  { days: INTEGER, count: INTEGER },
  `with old as (
      select attempt_id from processor_attempt
      where resolved_by is not null and detail is not null and updated_at < service_now() - make_interval(days => :days)
      order by updated_at limit :count
      for no key update skip locked
    ), done as (
      update processor_attempt set detail = null where attempt_id in (select attempt_id from old) returning 1
    )
    select count(*) as forgotten from done`,
);

/**
 * Removes operators' notes from at most `count` attempts that operators ended `days` days ago or earlier. Returns the number of
 * attempts as `forgotten`.
 */
export function forgetNotesOfAttempts(days: number, count: number): Statement {
  return FORGET_NOTES_OF_ATTEMPTS({ days, count });
}

const FORGET_NOTES_OF_BREAKS = statement(
  'forget_notes_of_breaks',
  { days: INTEGER, count: INTEGER },
  `with old as (
      select break_id from processor_break
      where resolution is not null and closed_at < service_now() - make_interval(days => :days)
      order by closed_at limit :count
      for no key update skip locked
    ), done as (
      update processor_break set resolution = null where break_id in (select break_id from old) returning 1
    )
    select count(*) as forgotten from done`,
);

/**
 * Removes operators' notes from at most `count` breaks that operators closed `days` days ago or earlier. Returns the number of
 * breaks as `forgotten`.
 */
export function forgetNotesOfBreaks(days: number, count: number): Statement {
  return FORGET_NOTES_OF_BREAKS({ days, count });
}

const TRANSFERS = { programId: UUID, transferIds: many(UUID) } as const;

export const eraseNotesOfAttempts = statement(
  'erase_notes_of_attempts',
  TRANSFERS,
  `update processor_attempt set detail = null
    where program_id = :programId and transfer_id = any (:transferIds) and resolved_by is not null and detail is not null`,
);

export const eraseNotesOfBreaks = statement(
  'erase_notes_of_breaks',
  TRANSFERS,
  `update processor_break set resolution = null
    where resolution is not null and program_id = :programId and transfer_id = any (:transferIds)`,
);
