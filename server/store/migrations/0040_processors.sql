-- Needs: 0021
-- Cards whose money is at a processor, and what was asked of it. server/background/processors/README.md says how.
-- Processes of earlier versions do not know such cards: create the first one when every process has been upgraded.

-- 1. A card has its connector from its creation for ever. `processor_token` is the processor's name of the card.
alter table card add column connector_id text;
alter table card add column processor_token text;

-- 2. What a processor was asked to do, written before the first byte is sent. `looks` counts inquiries and reversals since the
-- outcome is unknown, `misses` the answers "not found". `next_at`: when a process takes the attempt up again; null if nothing is
-- to be done. `late_approval_at`: when the processor said that it has executed what had failed, which is the break `break_id`.
create table processor_attempt (
  program_id uuid not null references program,
  attempt_id uuid not null,
  transfer_id uuid not null,
  card_id uuid not null,
  connector_id text not null,
  kind text not null check (kind in ('push', 'pull')),
  amount bigint not null check (amount > 0),
  currency char(3) not null,
  status text not null check (status in (
    'ready', 'sent', 'unknown', 'pending', 'approved', 'declined', 'failed', 'reversing', 'reversed', 'attention'
  )),
  tries smallint not null default 0,
  looks smallint not null default 0,
  misses smallint not null default 0,
  sent_at timestamptz,
  not_after timestamptz,
  unknown_since timestamptz,
  next_at timestamptz,
  processor_reference text,
  code text,
  retry_after_seconds integer,
  detail text,
  resolved_by text,
  late_approval_at timestamptz,
  break_id uuid,
  sandbox_behavior text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (program_id, attempt_id),
  check ((late_approval_at is null) = (break_id is null))
) with (fillfactor = 70);
create unique index processor_attempt_transfer on processor_attempt (program_id, transfer_id)
  where status not in ('declined', 'failed', 'reversed');
create index processor_attempt_of_transfer on processor_attempt (program_id, transfer_id, attempt_id);
create index processor_attempt_due on processor_attempt (next_at) where next_at is not null;
create index processor_attempt_open on processor_attempt (connector_id, status, attempt_id)
  where status not in ('approved', 'declined', 'failed', 'reversed');

-- 3. What a processor sent by itself, kept before it is acknowledged. `attempt_id` is null if it belongs to no attempt.
create table processor_notice (
  connector_id text not null,
  notice_id text not null check (char_length(notice_id) between 1 and 128),
  program_id uuid references program,
  attempt_id uuid,
  body jsonb not null,
  received_at timestamptz not null,
  handled_at timestamptz,
  primary key (connector_id, notice_id)
);
create index processor_notice_waiting on processor_notice (received_at) where handled_at is null;

-- 4. What contradicts the books. A person closes it. `sent_attempt_id`: what a notice named, if it is no attempt of the connector.
create table processor_break (
  break_id uuid primary key,
  kind text not null check (kind in ('late_approval', 'contradiction', 'unknown_attempt')),
  connector_id text not null,
  program_id uuid references program,
  attempt_id uuid,
  sent_attempt_id text,
  transfer_id uuid,
  amount bigint,
  currency char(3),
  expected text not null,
  found text not null,
  created_at timestamptz not null,
  closed_at timestamptz,
  closed_by text,
  resolution text,
  check ((closed_at is null) = (closed_by is null) and (closed_at is null) = (resolution is null))
);
create index processor_break_open on processor_break (break_id) where closed_at is null;
create unique index processor_break_once on processor_break (connector_id, attempt_id, kind) where attempt_id is not null;
create unique index processor_break_once_unknown on processor_break (connector_id, sent_attempt_id)
  where sent_attempt_id is not null;

-- 5. What all processes know about a connector: whether its breaker is open, and who tries it next.
create table connector_state (
  connector_id text primary key,
  opened_at timestamptz,
  reason text,
  probe_at timestamptz,
  updated_at timestamptz not null
);

do $$
declare
  walled text;
begin
  foreach walled in array array['processor_attempt', 'processor_notice', 'processor_break', 'connector_state'] loop
    execute format('alter table %I enable row level security', walled);
    execute format('alter table %I force row level security', walled);
    execute format('create policy all_programs on %I to transfer_service_background using (true)', walled);
    execute format('grant select, insert, update on %I to transfer_service_background', walled);
  end loop;
  execute 'create policy own_programs on processor_attempt to transfer_service_application
    using (coalesce(program_id = any ((select own_programs())::uuid[]), false))';
  grant select, insert, update on processor_attempt to transfer_service_application;
end $$;

-- What operators do within a program is recorded by its requests.
drop policy own_programs on audit_entry;
create policy own_programs on audit_entry for insert to transfer_service_application with check (
  coalesce(program_id = any ((select own_programs())::uuid[]), false) and action in (
    'create_transfer', 'capture_transfer', 'cancel_transfer', 'reverse_transfer', 'update_transfer', 'create_card',
    'update_card', 'erase_card_holder', 'create_webhook', 'update_webhook', 'delete_webhook', 'roll_webhook_secret',
    'test_webhook', 'resend_event', 'replay_webhook', 'create_case', 'reply_to_case', 'close_case', 'resolve_attempt'
  )
);
