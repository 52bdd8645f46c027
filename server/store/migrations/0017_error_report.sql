-- What the events error.recorded have told, and have to tell: a row for each code of Server Errors and Process Errors of a
-- program (null for errors of no program). `count` responses have not been told yet: the first was at `since`, and the
-- other columns are those of the last. `reported_at` is when the last event was written, by the real clock.
create table error_report (
  program_id uuid,
  code text not null,
  count bigint not null check (count >= 0),
  since timestamptz,
  last_at timestamptz,
  request_id uuid,
  status smallint,
  type text,
  message text,
  reported_at timestamptz,
  unique nulls not distinct (program_id, code)
) with (fillfactor = 50);

alter table error_report enable row level security;
alter table error_report force row level security;
create policy all_programs on error_report to transfer_service_background using (true);
grant select, insert, update, delete on error_report to transfer_service_background;
