-- Needs: 0021
-- Cases and incidents: what callers ask support, what support answers, and the one cause of many errors.
-- server/subjects/support/README.md says how.

alter table api_key drop constraint api_key_scopes_known;
alter table api_key add constraint api_key_scopes_known check (
  scopes <@ '{transfers:read,transfers:write,cards:read,cards:write,cards:erase,errors:read,events:read,webhooks:read,webhooks:write,cases:read,cases:write,operator:read,funding:write,switch:write,programs:write,keys:write,operator:cases,operator}'
    and cardinality(scopes) > 0
);
alter table api_key drop constraint api_key_operator_unbound;
alter table api_key add constraint api_key_operator_unbound check (
  program_id is null
    or not scopes && '{operator:read,funding:write,switch:write,programs:write,keys:write,operator:cases,operator}'
);

-- What operators do within a program is recorded by its requests.
drop policy own_programs on audit_entry;
create policy own_programs on audit_entry for insert to transfer_service_application with check (
  coalesce(program_id = any ((select own_programs())::uuid[]), false) and action in (
    'create_transfer', 'capture_transfer', 'cancel_transfer', 'reverse_transfer', 'update_transfer', 'create_card',
    'update_card', 'erase_card_holder', 'create_webhook', 'update_webhook', 'delete_webhook', 'roll_webhook_secret',
    'test_webhook', 'resend_event', 'replay_webhook', 'create_case', 'reply_to_case', 'close_case'
  )
);

-- 1. The one cause of many errors. `codes` are empty for all. `is_settled`: every case of a resolved incident is resolved.
create table incident (
  incident_id uuid primary key,
  scope text not null check (scope in ('all', 'program', 'operation')),
  program_id uuid references program,
  operation text,
  codes text[] not null,
  title text not null,
  public_text text not null,
  internal_text text,
  created_by text not null,
  outcome text,
  resolution text,
  started_at timestamptz not null,
  updated_at timestamptz not null,
  resolved_at timestamptz,
  is_settled boolean not null default false,
  -- The last case that was resolved with it: one that its caller opens again is not resolved a second time.
  settled_up_to uuid,
  check ((scope = 'program') = (program_id is not null)),
  check ((scope = 'operation') = (operation is not null)),
  check ((resolved_at is null) = (outcome is null))
);
create index incident_unsettled on incident (incident_id) where not is_settled;

-- 2. A row for each case, kept for ever; its texts (`text`, `contact`, `resolution`, `summary`, `snapshot` and those of its
-- messages) are removed when they are old, or with the holder of a card in `card_names`. A case belongs to at most one
-- incident, so that needs no table of its own.
create table support_case (
  case_id uuid primary key,
  program_id uuid not null references program,
  status text not null check (status in ('open', 'waiting', 'resolved', 'closed')),
  severity text not null check (severity in ('critical', 'high', 'normal', 'low')),
  -- The place in the queue: domain/support/case.ts.
  urgency smallint not null,
  request_id uuid,
  transfer_id uuid,
  operation text,
  code text,
  type text,
  money_moved text,
  card_names text[] not null,
  incident_id uuid references incident,
  message_count smallint not null check (message_count between 0 and 200),
  last_message_id uuid,
  last_message_side text,
  last_external_id text,
  outcome text,
  created_by text not null,
  text text,
  contact text,
  resolution text,
  summary text,
  snapshot json,
  has_texts boolean not null default true,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  first_response_at timestamptz,
  resolved_at timestamptz,
  closed_at timestamptz,
  check ((status = 'closed') = (closed_at is not null))
) with (fillfactor = 70);
create index support_case_queue on support_case (status, urgency, case_id);
create index support_case_program on support_case (program_id, case_id);
create index support_case_request on support_case (program_id, request_id) where request_id is not null;
create index support_case_code on support_case (code, case_id) where code is not null;
create index support_case_incident on support_case (incident_id, status, urgency, case_id) where incident_id is not null;
create index support_case_resolved on support_case (resolved_at) where status = 'resolved';
create index support_case_closed on support_case (closed_at) where status = 'closed' and has_texts;
create index support_case_cards on support_case using gin (card_names) where card_names <> '{}';

-- 3. What both sides wrote, in order.
create table case_message (
  case_id uuid not null references support_case,
  place smallint not null check (place between 1 and 200),
  message_id uuid not null,
  program_id uuid not null,
  side text not null check (side in ('caller', 'support')),
  author text,
  text text,
  external_author text,
  external_id text,
  created_at timestamptz not null,
  primary key (case_id, place)
);
create unique index case_message_external on case_message (case_id, external_id) where external_id is not null;

do $$
declare
  walled text;
begin
  foreach walled in array array['support_case', 'case_message', 'incident'] loop
    execute format('alter table %I enable row level security', walled);
    execute format('alter table %I force row level security', walled);
    execute format('create policy all_programs on %I to transfer_service_background using (true)', walled);
    execute format('grant select, insert, update on %I to transfer_service_background', walled);
  end loop;
  foreach walled in array array['support_case', 'case_message'] loop
    execute format(
      'create policy own_programs on %I to transfer_service_application
        using (coalesce(program_id = any ((select own_programs())::uuid[]), false))',
      walled
    );
    execute format('grant select, insert, update on %I to transfer_service_application', walled);
  end loop;
end $$;

-- With the note of the erasure of a card's holder, the cases of the card lose their texts, and the codes stay. The messages are
-- removed by a later statement, which sees those that were written while the first waited for the row of their case.
create function erase_texts_of_cases() returns trigger language plpgsql as $$
begin
  update support_case
    set text = null, contact = null, resolution = null, summary = null, snapshot = null, has_texts = false
    where program_id = new.program_id and card_names @> array[new.card_name] and card_names <> '{}';
  update case_message set text = null, author = null, external_author = null
    where case_id in (
      select case_id from support_case
      where program_id = new.program_id and card_names @> array[new.card_name] and card_names <> '{}'
    );
  return new;
end $$;
create trigger cases_of_erased_card before insert on card_erasure
  for each row execute function erase_texts_of_cases();

-- What was known about a request may have been read before the erasure, and is stored after it.
create function erase_snapshot_of_case() returns trigger language plpgsql as $$
begin
  if new.card_names <> '{}' and exists (
    select from card_erasure where program_id = new.program_id and card_name = any (new.card_names)
  ) then
    new.snapshot := null;
    new.summary := null;
  end if;
  return new;
end $$;
create trigger case_of_erased_card before insert on support_case
  for each row execute function erase_snapshot_of_case();
