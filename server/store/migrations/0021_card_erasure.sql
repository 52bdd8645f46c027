-- Needs: 0018
-- Erasure of what is stored about the holder of a card. ARCHITECTURE.md says how, under "Erasure".

alter table api_key drop constraint api_key_scopes_known;
alter table api_key add constraint api_key_scopes_known check (
  scopes <@ '{transfers:read,transfers:write,cards:read,cards:write,cards:erase,errors:read,events:read,webhooks:read,webhooks:write,operator}'
    and cardinality(scopes) > 0
);

-- What operators do within a program is recorded by its requests.
drop policy own_programs on audit_entry;
create policy own_programs on audit_entry for insert to transfer_service_application with check (
  coalesce(program_id = any ((select own_programs())::uuid[]), false) and action in (
    'create_transfer', 'capture_transfer', 'cancel_transfer', 'reverse_transfer', 'update_transfer', 'create_card',
    'update_card', 'erase_card_holder', 'create_webhook', 'update_webhook', 'delete_webhook', 'roll_webhook_secret',
    'test_webhook', 'resend_event', 'replay_webhook'
  )
);

-- A row for each card whose holder was erased, kept for ever: what arrives later about the card is erased, too. The job
-- goes through `step` by `step`, each from `cursor` on, and then once more (`round` 2) for what was in flight. `next_at` is
-- the real time from which on it may go on.
create table card_erasure (
  program_id uuid not null,
  card_id uuid not null,
  card_name text not null,
  requested_at timestamptz not null,
  -- No event about the card is older.
  events_from timestamptz not null,
  completed_at timestamptz,
  round smallint not null check (round in (1, 2)),
  step text not null check (step in ('transfers', 'responses', 'events', 'errors')),
  cursor uuid,
  next_at timestamptz not null,
  -- How many had something to erase.
  transfers bigint not null default 0,
  events bigint not null default 0,
  errors bigint not null default 0,
  -- SHA-256 of the holder reference, by which errors are found that name no card. Null when all is done.
  holder_hash bytea,
  primary key (program_id, card_id),
  unique (program_id, card_name)
) with (fillfactor = 50);
create index card_erasure_open on card_erasure (next_at) where completed_at is null;

alter table card_erasure enable row level security;
alter table card_erasure force row level security;
create policy all_programs on card_erasure to transfer_service_background using (true);
create policy own_programs on card_erasure to transfer_service_application
  using (coalesce(program_id = any ((select own_programs())::uuid[]), false));
grant select, insert on card_erasure to transfer_service_application;
grant select, update on card_erasure to transfer_service_background;

grant update (description, metadata) on transfer to transfer_service_background;
grant delete on transfer_metadata to transfer_service_background;
grant update (description) on reversal to transfer_service_background;
grant update (payload) on event to transfer_service_background;
grant update (message, field, request, checks, causes) on error to transfer_service_background;

-- A reversal is never changed, except that its description is removed.
create function refuse_reversal_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.description is null then
    old.description := null;
    if old is not distinct from new then
      return new;
    end if;
  end if;
  raise exception 'reversal rows are never changed or deleted' using errcode = 'restrict_violation';
end $$;
drop trigger reversal_append_only on reversal;
create trigger reversal_append_only before update or delete on reversal
  for each row execute function refuse_reversal_change();

-- Whether a transfer is one of a card whose holder was erased.
create function is_of_erased_card(of_program uuid, of_transfer uuid) returns boolean language sql stable as $$
  select exists (
    select from transfer join card_erasure
      on card_erasure.program_id = transfer.program_id
        and card_erasure.card_id in (transfer.card_id, transfer.destination_card_id)
    where transfer.program_id = of_program and transfer.transfer_id = of_transfer
  )
$$;

-- Whether an error is about a card whose holder was erased: the card or the transfer of the error, or any text of its
-- request, such as in a row of a batch or in a misspelt field. Texts are found as they are written in JSON, because a text
-- with a null character cannot be read by PostgreSQL. A request to create a card without an id names only the holder, and a
-- search by metadata, which earlier versions stored, names nothing at all: it may be about anybody.
create function is_about_erased_card(
  of_program uuid, of_card text, of_transfer uuid, of_operation text, request json
) returns boolean language plpgsql stable as $$
begin
  if of_program is null or not exists (select from card_erasure where program_id = of_program) then
    return false;
  end if;
  if exists (select from card_erasure where program_id = of_program and card_name = of_card)
      or is_of_erased_card(of_program, of_transfer) or position('"metadata_value":' in request::text) > 0 then
    return true;
  end if;
  return exists (
    select from (
      select replace(replace(literal[1], '\"', '"'), '\\', '\') as content
      from regexp_matches(request::text, '"((?:[^"\\]|\\.)*)"', 'g') as literal
    ) as sent
    where exists (select from card_erasure where program_id = of_program and card_name = content)
      or content ~ '^tr_[0-9a-f]{32}$'
        and is_of_erased_card(of_program, case when content ~ '^tr_[0-9a-f]{32}$' then substr(content, 4)::uuid end)
      or of_card is null and of_operation = 'create_card' and exists (
        select from card_erasure
        where program_id = of_program and holder_hash = sha256(convert_to(content, 'UTF8'))
      )
  );
end $$;

-- Errors wait in memory and in files, on any machine, and may be stored long after the erasure.
create function erase_texts_of_error() returns trigger language plpgsql as $$
begin
  if is_about_erased_card(new.program_id, new.card_name, new.transfer_id, new.operation, new.request) then
    new.message := 'The texts of this error were erased, together with those about the holder of its card.';
    new.field := null;
    new.request := null;
    new.checks := null;
    new.causes := '[]';
  end if;
  return new;
end $$;
create trigger error_of_erased_card before insert on error for each row execute function erase_texts_of_error();
