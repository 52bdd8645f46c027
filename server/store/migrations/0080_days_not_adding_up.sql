-- Needs: 0021
-- A day that does not add up is kept when the next day is checked. So a card program can have several rows. The table is made
-- anew without its rows, because the last days are then checked again.

drop table day_check;
create table day_check (
  program_id uuid not null references program,
  day date not null,
  adds_up boolean not null,
  checked_at timestamptz not null,
  primary key (program_id, day)
);
alter table day_check enable row level security;
alter table day_check force row level security;
create policy all_programs on day_check to transfer_service_background using (true);
grant select, insert, update, delete on day_check to transfer_service_background;

-- Whether this server knows a time zone. Servers have different lists, so a zone can become unknown after a failover.
create function is_time_zone(zone text) returns boolean language plpgsql stable as $$
begin
  perform current_timestamp at time zone zone;
  return true;
exception when invalid_parameter_value then
  return false;
end
$$;
