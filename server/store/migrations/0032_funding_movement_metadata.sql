-- Needs: 0021
-- Metadata of deposits and withdrawals, which never changes, and their reference: unique among those of a card program,
-- which the next migration enforces. Earlier versions write neither.

alter table funding_movement
  add column reference text,
  add column metadata jsonb not null default '{}',
  add constraint funding_movement_reference_check check (char_length(reference) between 1 and 255) not valid;

create table funding_movement_metadata (
  program_id uuid not null,
  name text not null,
  value text not null,
  movement_id uuid not null,
  primary key (program_id, name, value, movement_id)
);

alter table funding_movement_metadata enable row level security;
alter table funding_movement_metadata force row level security;
create policy all_programs on funding_movement_metadata to transfer_service_background using (true);
grant select, insert on funding_movement_metadata to transfer_service_background;
