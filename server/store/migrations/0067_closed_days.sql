-- Needs: 0021
-- Days of card programs that a person has closed. `report` is what get_day has returned since then.

create table closed_day (
  program_id uuid not null references program,
  day date not null,
  report json not null,
  primary key (program_id, day)
);
alter table closed_day enable row level security;
alter table closed_day force row level security;
create policy all_programs on closed_day to transfer_service_background using (true);
grant select, insert on closed_day to transfer_service_background;
