-- Needs: 0021
-- Whether an old partition is still needed is answered by an index, and before anybody is locked out. Until now all of a month
-- of positions was read while transfers waited for the lock.

-- Whether a partition has rows that readers or the relay still need. Along the positions of a program the numbers rise, so the
-- last position of each program answers for all; programs are found one after the other by the same index.
create function is_event_partition_needed(of_table text, name text) returns boolean language plpgsql as $$
declare
  is_needed boolean;
begin
  if of_table = 'event' then
    return false;
  end if;
  if of_table = 'write_batch' then
    execute format('select exists (select from %I where not relayed and not abandoned)', name) into is_needed;
    return is_needed;
  end if;
  execute format(
    'with recursive last as (
        (select program_id, number from %1$I order by program_id desc, position desc limit 1)
        union all
        select earlier.program_id, earlier.number from last cross join lateral (
          select program_id, number from %1$I where program_id < last.program_id
          order by program_id desc, position desc limit 1
        ) as earlier
      )
      select exists (select from last where number > (select up_to_number from event_deletion))',
    name
  ) into is_needed;
  return is_needed;
end $$;

-- The oldest partition whose days have all ended before a day and that is no longer needed; null when there is none. It locks
-- nobody out, however much it has to read from the disk.
create function find_droppable_event_partition(of_table text, before date) returns text
language plpgsql security definer set enable_seqscan = off as $$
declare
  moment constant timestamptz := deletable_before(of_table, before);
  name text;
begin
  for name in
    select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = of_table::regclass and end_of_partition(relname) <= moment order by end_of_partition(relname)
  loop
    if not is_event_partition_needed(of_table, name) then
      return name;
    end if;
  end loop;
  return null;
end $$;

-- Drops the oldest partition whose days have all ended before a day, and gives its name; null when there is none. What the
-- relay has not numbered is never dropped, nor is a position whose event is there.
create or replace function drop_event_partition(of_table text, before date) returns text
-- Whoever writes to the table waits behind us while we wait for the lock: rather try again next time. They wait for what we
-- read under it, too.
language plpgsql security definer set lock_timeout = '100ms' set enable_seqscan = off as $$
declare
  moment constant timestamptz := deletable_before(of_table, before);
  candidates constant text[] := array(
    select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = of_table::regclass and end_of_partition(relname) <= moment order by end_of_partition(relname)
  );
  name text;
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
    if not is_event_partition_needed(of_table, name) then
      execute format('drop table %I', name);
      return name;
    end if;
  end loop;
  return null;
end $$;

do $$
declare
  own text;
begin
  foreach own in array array['drop_event_partition(text, date)', 'find_droppable_event_partition(text, date)'] loop
    execute format('alter function %s set search_path = %I, pg_temp', own, current_schema());
    execute format('revoke all on function %s from public', own);
    execute format('grant execute on function %s to transfer_service_background', own);
  end loop;
end $$;
