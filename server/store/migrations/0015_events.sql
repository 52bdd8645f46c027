-- Events can be read: each gets a position in its card program after its transaction has committed, and what is old is
-- dropped by the day. ARCHITECTURE.md says how, under "Events".

-- 1. The fence, by the day of the batch id, so that old rows are dropped with their partition. The table that was there
-- becomes the first partition; its rows are not copied. The name of a partition says which days it has.
do $$
declare
  -- Not today: a process may be a little ahead, and the partitions of the next days are not made yet.
  boundary constant date := (clock_timestamp() at time zone 'UTC')::date + 2;
  first constant text := 'write_batch_until_' || to_char(boundary, 'YYYY_MM_DD');
  upper_bound constant uuid := uuid_at(boundary::timestamp at time zone 'UTC');
begin
  execute format('alter table write_batch rename to %I', first);
  execute format('alter table %I rename constraint write_batch_pkey to %I', first, first || '_pkey');
  execute format('revoke all on %I from transfer_service_application, transfer_service_background', first);
  -- `events_at` is the created_at of the events of the batch, `event_programs` whose they are (the nil UUID for those of
  -- the service itself), and `event_counts` how many each has. A batch without events is relayed from the start. One that
  -- is not relayed and has no `events_at` was written by an earlier version.
  create table write_batch (
    batch_id uuid primary key,
    abandoned boolean not null default false,
    created_at timestamptz not null,
    relayed boolean not null default false,
    events_at timestamptz,
    event_programs uuid[],
    event_counts integer[]
  ) partition by range (batch_id);
  create index write_batch_waiting on write_batch (created_at, batch_id) where not relayed and not abandoned;
  -- Takes what no day does, so that a forgotten partition never stops a transfer.
  create table write_batch_default partition of write_batch default;
  execute format('alter table %I drop column position, add column relayed boolean not null default false,
    add column events_at timestamptz, add column event_programs uuid[], add column event_counts integer[]', first);
  execute format('insert into write_batch_default (batch_id, abandoned, created_at)
    select batch_id, abandoned, created_at from %I where batch_id >= %L', first, upper_bound);
  execute format('delete from %I where batch_id >= %L', first, upper_bound);
  execute format('alter table write_batch attach partition %I for values from (minvalue) to (%L)', first, upper_bound);
end $$;

-- Requests need not know whose events a batch has.
grant select (batch_id, abandoned, created_at), insert on write_batch to transfer_service_application;
grant select, insert on write_batch to transfer_service_background;
grant update (relayed, events_at, event_programs, event_counts) on write_batch to transfer_service_background;

-- 2. Events, by the day from now on. Months that have rows stay until they are dropped.
do $$
declare
  month text;
  is_empty boolean;
begin
  for month in
    select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'event'::regclass and relname ~ '^event_[0-9]{4}_[0-9]{2}$'
      and to_date(substr(relname, 7), 'YYYY_MM') at time zone 'UTC' > clock_timestamp()
  loop
    execute format('select not exists (select from %I)', month) into is_empty;
    if is_empty then
      execute format('drop table %I', month);
    end if;
  end loop;
end $$;

-- An event for every program is stored once, under this id of a program.
create policy every_program on event for select to transfer_service_application
  using (program_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff');
-- What earlier versions wrote about the switch contains the operator's reason, so it becomes the service's own.
grant update (program_id) on event to transfer_service_background;

-- With a partition a day, a plan that is made once for all times would lock every one of them for each replay.
create or replace function event_payload(of_batch uuid, of_index integer, at timestamptz) returns text
language plpgsql stable as $$
declare
  found_payload text;
begin
  execute 'select payload from event where batch_id = $1 and index = $2 and created_at = $3'
    into found_payload using of_batch, of_index, at;
  return found_payload;
end $$;

-- 3. Positions. `position` is that of the first event of the row in its program, `number` the same among the events of all
-- programs. A row that is shared is about events for every program; these have no number of their own, and the row has the
-- last one before them. Partitioned by the month in which the row was written: positions, and so partitions, are in the
-- order of that time.
create table event_position (
  program_id uuid not null,
  position bigint not null check (position > 0),
  count integer not null check (count > 0),
  batch_id uuid not null,
  events_at timestamptz not null,
  number bigint not null,
  is_shared boolean not null,
  relayed_at timestamptz not null
) partition by range (relayed_at);
create index event_position_batch on event_position (batch_id);
create index event_position_number on event_position (number) where not is_shared;
create index event_position_program on event_position (program_id, position);
create table event_position_default partition of event_position default;

-- The last position of each program; the nil UUID is the service itself, and the highest UUID has the last number.
create table event_head (
  program_id uuid primary key,
  position bigint not null
) with (fillfactor = 50);

-- The last number of the events of each day (UTC), and up to which number events are deleted.
create table event_day (
  day date primary key,
  last_number bigint not null
) with (fillfactor = 50);
create table event_deletion (
  singleton boolean primary key default true check (singleton),
  up_to_number bigint not null
);
insert into event_deletion (up_to_number) values (0);

do $$
declare
  walled text;
begin
  foreach walled in array array['event_position', 'event_head'] loop
    execute format('alter table %I enable row level security', walled);
    execute format('alter table %I force row level security', walled);
    execute format('create policy all_programs on %I to transfer_service_background using (true)', walled);
    execute format(
      'create policy own_programs on %I for select to transfer_service_application
        using (coalesce(program_id = any ((select own_programs())::uuid[]), false))',
      walled
    );
  end loop;
end $$;
grant select on event_position, event_head, event_deletion to transfer_service_application;
grant select, insert on event_position, event_head, event_day to transfer_service_background;
grant update on event_head, event_day to transfer_service_background;
grant select on event_deletion to transfer_service_background;

-- The first position of a program whose event is still stored, or the one that its next event will have. Numbers rise with
-- positions, so it is found by bisection.
create function oldest_event_position(of_program uuid) returns bigint language plpgsql stable as $$
declare
  deleted constant bigint := (select up_to_number from event_deletion);
  low bigint := 1;
  high bigint := coalesce((select position from event_head where program_id = of_program), 0) + 1;
  middle bigint;
  found_row record;
begin
  while low < high loop
    middle := (low + high) / 2;
    select position, count, number, is_shared into found_row from event_position
      where program_id = of_program and position <= middle order by position desc limit 1;
    -- The last number of the row up to the middle, or of the events before it where the row is shared.
    if not found or deleted >= (
      found_row.number + case when found_row.is_shared then 0 else least(middle - found_row.position, found_row.count - 1) end
    ) then
      low := middle + 1;
    else
      high := middle;
    end if;
  end loop;
  return low;
end $$;

-- 4. Partitions are made and dropped with the rights of the owner. First, where the days of one end, by its name.
create function end_of_partition(name text) returns timestamptz language sql stable as $$
  select case
    when name ~ '_[0-9]{4}_[0-9]{2}_[0-9]{2}$' then
      to_date(right(name, 10), 'YYYY_MM_DD') + case when name ~ '_until_' then 0 else 1 end
    when name ~ '_[0-9]{4}_[0-9]{2}$' then (to_date(right(name, 7), 'YYYY_MM') + interval '1 month')::date
  end::timestamp at time zone 'UTC'
$$;

-- Months are those of `error` only. A service of an earlier version that still runs asks for those of `event`, too.
create or replace function make_month_partition(of_table text, month date) returns void
language plpgsql security definer as $$
declare
  name text := of_table || to_char(month, '_YYYY_MM');
  first_day date := date_trunc('month', month);
begin
  if of_table = 'event' then
    return;
  end if;
  if of_table <> 'error' then
    raise exception '% has no partitions', of_table using errcode = 'invalid_parameter_value';
  end if;
  execute format(
    'create table if not exists %I partition of %I for values from (%L) to (%L)',
    name, of_table, first_day::timestamp at time zone 'UTC', (first_day + interval '1 month') at time zone 'UTC'
  );
exception
  -- The default partition holds rows of that month already; the month stays there.
  when check_violation then null;
end $$;

-- Makes the partition of a day, or of its month for event_position. To attach a table waits for no transfer, as to create
-- it as a partition would.
create function make_event_partition(of_table text, day date) returns void
language plpgsql security definer set lock_timeout = '100ms' as $$
declare
  is_month constant boolean := of_table = 'event_position';
  first_day constant date := case when is_month then date_trunc('month', day) else day end;
  lower_bound constant timestamptz := first_day::timestamp at time zone 'UTC';
  upper_bound constant timestamptz :=
    (first_day + case when is_month then interval '1 month' else interval '1 day' end) at time zone 'UTC';
  name constant text := of_table || to_char(first_day, case when is_month then '_YYYY_MM' else '_YYYY_MM_DD' end);
begin
  if of_table not in ('event', 'event_position', 'write_batch') then
    raise exception '% has no such partitions', of_table using errcode = 'invalid_parameter_value';
  end if;
  -- The day has its partition, or the month or the first partition of the table covers it.
  if exists (
    select from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = of_table::regclass and (relname = name or relname = of_table || to_char(first_day, '_YYYY_MM')
      or relname ~ '_until_' and end_of_partition(relname) >= upper_bound)
  ) then
    return;
  end if;
  execute format('create table %I (like %I including defaults including constraints including indexes)', name, of_table);
  execute format('alter table %I attach partition %I for values from (%L) to (%L)', of_table, name,
    case when of_table = 'write_batch' then uuid_at(lower_bound)::text else lower_bound::text end,
    case when of_table = 'write_batch' then uuid_at(upper_bound)::text else upper_bound::text end);
exception
  -- Its rows are in the default partition already and stay there; or another process was first, or reads everything for
  -- long, such as a backup: there are days until the partition is needed, and without it nothing stops.
  when check_violation or duplicate_table or lock_not_available then null;
end $$;

-- The moment before which rows of a table may be deleted, if asked for those before a day. However that came about:
-- responses that are stored refer to their events for 31 days, and a commit can be settled for much less than 7.
create function deletable_before(of_table text, day date) returns timestamptz language plpgsql as $$
begin
  if of_table not in ('event', 'event_position', 'write_batch') then
    raise exception '% has no such partitions', of_table using errcode = 'invalid_parameter_value';
  end if;
  return least(
    day, (clock_timestamp() at time zone 'UTC')::date - case when of_table = 'event' then 31 else 7 end
  )::timestamp at time zone 'UTC';
end $$;

-- Notes that events of before a moment are deleted, which readers are told. False where one of them has no position yet.
create function note_deleted_events(before timestamptz) returns boolean language plpgsql as $$
begin
  if exists (
    select from write_batch where not relayed and not abandoned and (events_at is null or events_at < before)
  ) then
    return false;
  end if;
  update event_deletion
    set up_to_number = greatest(
      up_to_number, (select max(last_number) from event_day where day < (before at time zone 'UTC')::date)
    );
  return true;
end $$;

-- Drops the oldest partition whose days have all ended before a day, and gives its name; null when there is none. What the
-- relay has not numbered is never dropped, nor is a position whose event is there.
create function drop_event_partition(of_table text, before date) returns text
-- Whoever writes to the table waits behind us while we wait for the lock: rather try again next time.
language plpgsql security definer set lock_timeout = '100ms' as $$
declare
  moment constant timestamptz := deletable_before(of_table, before);
  candidates constant text[] := array(
    select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = of_table::regclass and end_of_partition(relname) <= moment order by end_of_partition(relname)
  );
  name text;
  is_needed boolean;
begin
  if cardinality(candidates) = 0 then
    return null;
  end if;
  -- The table first, as everybody does who writes to it.
  execute format('lock table only %I in access exclusive mode', of_table);
  if of_table = 'event' and not note_deleted_events(moment) then
    return null;
  end if;
  foreach name in array candidates loop
    -- Another process may have been first.
    continue when to_regclass(name) is null;
    if of_table = 'event' then
      is_needed := false;
    elsif of_table = 'write_batch' then
      execute format('select exists (select from %I where not relayed and not abandoned)', name) into is_needed;
    else
      execute format(
        'select exists (select from %I where number > (select up_to_number from event_deletion))', name
      ) into is_needed;
    end if;
    if not is_needed then
      execute format('drop table %I', name);
      return name;
    end if;
  end loop;
  return null;
end $$;

-- Deletes some such rows that have no partition of their own, and gives their number.
create function delete_unpartitioned_events(of_table text, before date) returns bigint
language plpgsql security definer as $$
declare
  moment constant timestamptz := deletable_before(of_table, before);
  deleted bigint;
begin
  if of_table = 'event' and not note_deleted_events(moment) then
    return 0;
  end if;
  execute format(
    'delete from %1$I where ctid = any (array(select ctid from %1$I where %2$s limit 10000))', of_table || '_default',
    case of_table
      when 'event' then format('created_at < %L', moment)
      when 'write_batch' then format('batch_id < %L and (relayed or abandoned)', uuid_at(moment))
      else 'number <= (select up_to_number from event_deletion)'
    end
  );
  get diagnostics deleted = row_count;
  return deleted;
end $$;

do $$
declare
  own text;
begin
  foreach own in array array[
    'make_month_partition(text, date)', 'make_event_partition(text, date)', 'drop_event_partition(text, date)',
    'delete_unpartitioned_events(text, date)'
  ] loop
    execute format('alter function %s set search_path = %I, pg_temp', own, current_schema());
    execute format('revoke all on function %s from public', own);
    execute format('grant execute on function %s to transfer_service_background', own);
  end loop;
end $$;
