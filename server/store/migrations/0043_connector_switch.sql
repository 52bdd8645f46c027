-- Needs: 0021
-- What the switch disables at a connector. A table of its own: processes of earlier versions would take a row of `switch` with
-- a column that they do not know for one that disables a whole card program, or everything. They know no connectors.

create table connector_switch (
  switch_id uuid primary key,
  connector_id text not null,
  program_id uuid references program,
  transfer_type text check (transfer_type in ('load', 'unload')),
  disabled boolean not null,
  reason text check (char_length(reason) between 1 and 500),
  actor text not null,
  since timestamptz not null,
  until timestamptz,
  unique nulls not distinct (connector_id, program_id, transfer_type)
);
-- Every transfer reads it, with reading whole tables ruled out, as `switch` (0008).
create index connector_switch_disabled on connector_switch (connector_id) where disabled;

alter table connector_switch enable row level security;
alter table connector_switch force row level security;
create policy all_programs on connector_switch to transfer_service_background using (true);
create policy own_programs on connector_switch for select to transfer_service_application
  using (program_id is null or coalesce(program_id = any ((select own_programs())::uuid[]), false));
grant select on connector_switch to transfer_service_application;
grant select, insert, update on connector_switch to transfer_service_background;
