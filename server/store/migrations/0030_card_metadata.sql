-- Needs: 0021
-- Metadata of cards, as transfers have it: what the record shows, and a row per pair to search by. No row is rewritten, and
-- nothing that decides about a transfer reads the column.

alter table card add column metadata jsonb not null default '{}';

create table card_metadata (
  program_id uuid not null,
  name text not null,
  value text not null,
  card_id uuid not null,
  primary key (program_id, name, value, card_id)
);
create index card_metadata_card on card_metadata (program_id, card_id);

alter table card_metadata enable row level security;
alter table card_metadata force row level security;
create policy all_programs on card_metadata to transfer_service_background using (true);
create policy own_programs on card_metadata to transfer_service_application
  using (coalesce(program_id = any ((select own_programs())::uuid[]), false));
grant select, insert, delete on card_metadata to transfer_service_application;
grant select on card_metadata to transfer_service_background;

-- By the note of the erasure, so that it happens also where an earlier version erases, which does not know of metadata.
create function erase_metadata_of_card() returns trigger language plpgsql as $$
begin
  update card set metadata = '{}'
    where program_id = new.program_id and card_id = new.card_id and metadata <> '{}';
  delete from card_metadata where program_id = new.program_id and card_id = new.card_id;
  return new;
end $$;
create trigger metadata_of_erased_card before insert on card_erasure
  for each row execute function erase_metadata_of_card();
