-- Needs: 0021
-- Which card of a processor each card is. A real card is registered once at a connector, in whichever card program: a second
-- card of it would have limits of its own, and its own program could pull its money. Processes of earlier versions add no rows.

-- 1. `token_hash` is the SHA-256 of `processor_token`: it stays after the texts of a holder were erased, so that nobody registers
-- a stolen card anew. `place` is 0; a card that was registered twice before this migration also has rows with 1, 2 and so on.
create table processor_card (
  connector_id text not null,
  token_hash bytea not null check (length(token_hash) = 32),
  place integer not null default 0 check (place >= 0),
  program_id uuid not null references program,
  card_id uuid not null,
  primary key (token_hash, connector_id, place)
);
create index processor_card_twice on processor_card (connector_id) where place > 0;

-- 2. The tokens of the simulator that begin with `sim_` name a behavior, and any number of cards may have the same.
insert into processor_card (connector_id, token_hash, place, program_id, card_id)
  select connector_id, sha256(convert_to(processor_token, 'UTF8')),
    row_number() over (partition by connector_id, processor_token order by card_id) - 1, program_id, card_id
  from card
  where connector_id is not null and processor_token is not null
    and not (connector_id = 'simulator' and starts_with(processor_token, 'sim_'));

-- 3. A request learns whether any program has the card, and nothing else about those of others.
alter table processor_card enable row level security;
alter table processor_card force row level security;
create policy all_programs on processor_card to transfer_service_background using (true);
create policy any_program on processor_card for select to transfer_service_application using (true);
create policy own_programs on processor_card for insert to transfer_service_application
  with check (coalesce(program_id = any ((select own_programs())::uuid[]), false));
grant select, insert on processor_card to transfer_service_background;
grant select (connector_id, token_hash, place, card_id), insert on processor_card to transfer_service_application;
