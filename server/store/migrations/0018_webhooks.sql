-- Webhooks: where events are sent, how far each has come, and what failed. ARCHITECTURE.md says how, under "Webhooks".

alter table api_key drop constraint api_key_scopes_known;
alter table api_key add constraint api_key_scopes_known check (
  scopes <@ '{transfers:read,transfers:write,cards:read,cards:write,errors:read,events:read,webhooks:read,webhooks:write,operator}'
    and cardinality(scopes) > 0
);

-- What operators do within a program is recorded by its requests.
drop policy own_programs on audit_entry;
create policy own_programs on audit_entry for insert to transfer_service_application with check (
  coalesce(program_id = any ((select own_programs())::uuid[]), false) and action in (
    'create_transfer', 'capture_transfer', 'cancel_transfer', 'reverse_transfer', 'update_transfer', 'create_card',
    'update_card', 'create_webhook', 'update_webhook', 'delete_webhook', 'roll_webhook_secret', 'test_webhook',
    'resend_event', 'replay_webhook'
  )
);

-- 1. What callers set. `program_id` is null for a webhook of operators: it gets the events of all programs and of the
-- service itself, by their number. `types` are null for all. The values of `headers` are encrypted.
create table webhook (
  webhook_id uuid primary key,
  program_id uuid references program,
  url text not null,
  description text,
  types text[] check (cardinality(types) > 0),
  payload text not null check (payload in ('full', 'thin')),
  delivery_order text not null check (delivery_order in ('parallel', 'strict')),
  concurrency smallint not null check (concurrency between 1 and 100),
  rate integer check (rate between 1 and 10000),
  header_names text[] not null default '{}',
  headers bytea,
  version text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Raised by every change of the row or of its secrets: whoever delivers reads them again.
  revision bigint not null default 1
);
create index webhook_program on webhook (program_id, webhook_id);

-- The secrets that sign; those of the past stay until they expire. `sealed` is encrypted.
create table webhook_secret (
  secret_id uuid primary key,
  webhook_id uuid not null references webhook on delete cascade,
  program_id uuid,
  sealed bytea not null,
  created_at timestamptz not null,
  expires_at timestamptz
);
create index webhook_secret_webhook on webhook_secret (webhook_id, secret_id);

-- 2. How delivery stands. Every event up to the position `cursor` (or number, for a webhook of operators) is delivered, not
-- asked for, or has its row in webhook_delivery. `failures` are those in a row, the first of them at `failing_since`. A
-- paused webhook gets one event, the oldest, at `next_probe_at`.
create table webhook_state (
  webhook_id uuid primary key references webhook on delete cascade,
  program_id uuid,
  shard smallint not null check (shard between 0 and 15),
  cursor bigint not null check (cursor >= 0),
  -- Events after the cursor that are settled, too, while one before them is still in flight.
  ahead int8multirange not null default '{}',
  status text not null check (status in ('enabled', 'paused', 'disabled')),
  status_reason text,
  failures integer not null default 0 check (failures >= 0),
  failing_since timestamptz,
  last_failure_at timestamptz,
  last_success_at timestamptz,
  probe_tries smallint not null default 0,
  next_probe_at timestamptz,
  -- Whether webhook.failing was written for the failures in a row.
  is_failing_told boolean not null default false
) with (fillfactor = 50);
create index webhook_state_shard on webhook_state (shard);

-- What is sent beside the cursor: events that failed, tests, and events that somebody asked to have sent once more. `body`
-- is the text of what is no stored event. `dead`: no attempt is left.
create table webhook_delivery (
  webhook_id uuid not null references webhook on delete cascade,
  kind text not null check (kind in ('event', 'resend', 'test')),
  event_id uuid not null,
  program_id uuid,
  shard smallint not null,
  position bigint,
  body text,
  tries smallint not null default 0,
  state text not null check (state in ('waiting', 'dead')),
  created_at timestamptz not null,
  next_at timestamptz,
  primary key (webhook_id, kind, event_id),
  check ((state = 'waiting') = (next_at is not null))
) with (fillfactor = 80);
create index webhook_delivery_due on webhook_delivery (webhook_id, next_at) where state = 'waiting' and kind = 'event';
create index webhook_delivery_asked on webhook_delivery (shard, next_at) where kind <> 'event';
create index webhook_delivery_position on webhook_delivery (webhook_id, position) where kind = 'event';

-- A replay is a second cursor: events after `cursor` up to `until_position` whose time is in the range, or those of them
-- that are dead.
create table webhook_replay (
  replay_id uuid primary key,
  webhook_id uuid not null references webhook on delete cascade,
  program_id uuid,
  selection text not null check (selection in ('failed', 'all')),
  from_at timestamptz not null,
  to_at timestamptz not null,
  cursor bigint not null,
  until_position bigint not null,
  sent bigint not null default 0,
  state text not null check (state in ('running', 'completed', 'canceled')),
  created_at timestamptz not null,
  finished_at timestamptz
) with (fillfactor = 80);
create unique index webhook_replay_running on webhook_replay (webhook_id) where state = 'running';
create index webhook_replay_webhook on webhook_replay (webhook_id, replay_id);

-- 3. What was sent and answered, by the day of the real clock.
create table webhook_attempt (
  attempt_id uuid not null,
  webhook_id uuid not null,
  program_id uuid,
  event_id uuid not null,
  event_type text not null,
  position bigint,
  kind text not null check (kind in ('event', 'retry', 'probe', 'replay', 'resend', 'test')),
  -- 1 for the first attempt.
  try smallint not null,
  started_at timestamptz not null,
  milliseconds integer not null,
  succeeded boolean not null,
  status smallint,
  address text,
  error text,
  message text,
  response_start text
) partition by range (started_at);
-- Unique, so that what was stored although the response was lost is not stored twice.
create unique index webhook_attempt_webhook on webhook_attempt (webhook_id, attempt_id, started_at);
create index webhook_attempt_failed on webhook_attempt (webhook_id, attempt_id) where not succeeded;
create index webhook_attempt_event on webhook_attempt (event_id, webhook_id);
create table webhook_attempt_default partition of webhook_attempt default;

-- 4. Who delivers. The webhooks are divided into 16 shards; a process holds some of them for as long as it renews its
-- lease. Each change of hands raises `epoch`, and whoever writes for a shard says which epoch it holds.
create table webhook_shard (
  shard smallint primary key check (shard between 0 and 15),
  epoch bigint not null default 0,
  owner uuid,
  expires_at timestamptz
) with (fillfactor = 50);
insert into webhook_shard (shard) select generate_series(0, 15);
create table webhook_worker (
  owner uuid primary key,
  seen_at timestamptz not null
) with (fillfactor = 50);

do $$
declare
  walled text;
begin
  foreach walled in array array[
    'webhook', 'webhook_secret', 'webhook_state', 'webhook_delivery', 'webhook_replay', 'webhook_attempt'
  ] loop
    execute format('alter table %I enable row level security', walled);
    execute format('alter table %I force row level security', walled);
    execute format('create policy all_programs on %I to transfer_service_background using (true)', walled);
    execute format(
      'create policy own_programs on %I to transfer_service_application
        using (coalesce(program_id = any ((select own_programs())::uuid[]), false))',
      walled
    );
    execute format('grant select, insert, update, delete on %I to transfer_service_background', walled);
  end loop;
end $$;
grant select, insert, update, delete on webhook, webhook_secret, webhook_state, webhook_delivery, webhook_replay
  to transfer_service_application;
grant select on webhook_attempt to transfer_service_application;
grant select, insert, update, delete on webhook_shard, webhook_worker to transfer_service_background;

-- 5. The partitions of attempts, made and dropped with the rights of the owner. Only deliveries wait for their locks.
create function make_attempt_partition(day date) returns void
language plpgsql security definer set lock_timeout = '100ms' as $$
declare
  name constant text := 'webhook_attempt' || to_char(day, '_YYYY_MM_DD');
begin
  if to_regclass(name) is not null then
    return;
  end if;
  execute format('create table %I (like webhook_attempt including defaults including constraints including indexes)', name);
  execute format('alter table webhook_attempt attach partition %I for values from (%L) to (%L)', name,
    day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC');
exception
  when check_violation or duplicate_table or lock_not_available then null;
end $$;

-- Drops the partitions whose days have all ended before a day, and gives their names.
create function drop_attempt_partitions(before date) returns text[]
language plpgsql security definer set lock_timeout = '100ms' as $$
declare
  moment constant timestamptz := before::timestamp at time zone 'UTC';
  dropped constant text[] := array(
    select relname::text from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'webhook_attempt'::regclass and end_of_partition(relname) <= moment order by relname
  );
  name text;
begin
  if cardinality(dropped) > 0 then
    lock table only webhook_attempt in access exclusive mode;
  end if;
  foreach name in array dropped loop
    execute format('drop table if exists %I', name);
  end loop;
  delete from webhook_attempt_default where started_at < moment;
  return dropped;
exception
  -- Others read or write for long; next time.
  when lock_not_available then return '{}';
end $$;

do $$
declare
  own text;
begin
  foreach own in array array['make_attempt_partition(date)', 'drop_attempt_partitions(date)'] loop
    execute format('alter function %s set search_path = %I, pg_temp', own, current_schema());
    execute format('revoke all on function %s from public', own);
    execute format('grant execute on function %s to transfer_service_background', own);
  end loop;
end $$;
