-- Needs: 0021
-- Whether the last day of each card program adds up. A job stores the result after the day is over. The next day replaces it.

create table day_check (
  program_id uuid primary key references program,
  day date not null,
  adds_up boolean not null,
  checked_at timestamptz not null
);
alter table day_check enable row level security;
alter table day_check force row level security;
create policy all_programs on day_check to transfer_service_background using (true);
grant select, insert, update on day_check to transfer_service_background;
