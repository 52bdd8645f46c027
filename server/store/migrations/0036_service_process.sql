-- Needs: 0021
-- What each process of the service did in its last minute, so that the overview of any of them shows all together, and which
-- have stopped. A row for each process, which it stores again every few seconds and deletes when it stops.

create table service_process (
  process_id uuid primary key,
  host text not null,
  pid bigint not null,
  version text not null,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  minute json not null
) with (fillfactor = 50);

alter table service_process enable row level security;
alter table service_process force row level security;
create policy all_programs on service_process to transfer_service_background using (true);
grant select, insert, update, delete on service_process to transfer_service_background;
