-- Needs: 0021
-- How many transfers each hour had, by card program and type: a chart of a day, and what the switch would stop. Each process
-- stores its own counts of the hour again and again, so a count that is sent twice is counted once.

create table transfer_count (
  hour timestamptz not null,
  program_id uuid not null,
  type text not null,
  process_id uuid not null,
  count bigint not null check (count > 0),
  primary key (hour, program_id, type, process_id)
) with (fillfactor = 50);

alter table transfer_count enable row level security;
alter table transfer_count force row level security;
create policy all_programs on transfer_count to transfer_service_background using (true);
grant select, insert, update, delete on transfer_count to transfer_service_background;
