/** Makes of a ledger one without migration 0015: a fence that is not partitioned, and events by month without positions. */
export const BEFORE_EVENTS = `
  drop function oldest_event_position, end_of_partition, make_event_partition, drop_event_partition,
    delete_unpartitioned_events, deletable_before, note_deleted_events;
  drop table event_position, event_head, event_day, event_deletion;
  drop policy every_program on event;
  revoke update on event from transfer_service_background;

  create temporary table fence as select batch_id, abandoned, created_at from write_batch;
  drop table write_batch;
  create table write_batch (
    batch_id uuid primary key,
    abandoned boolean not null default false,
    position bigint,
    created_at timestamptz not null
  );
  insert into write_batch (batch_id, abandoned, created_at) select * from fence;
  drop table fence;
  grant select, insert on write_batch to transfer_service_application, transfer_service_background;

  create temporary table told as select * from event;
  do $$
  declare
    name text;
    month timestamp;
  begin
    for name in select inhrelid::regclass from pg_inherits where inhparent = 'event'::regclass
      and inhrelid <> 'event_default'::regclass
    loop
      execute format('drop table %s', name);
    end loop;
    for ahead in 0 .. 3 loop
      month := date_trunc('month', clock_timestamp() at time zone 'UTC') + make_interval(months => ahead);
      execute format('create table %I partition of event for values from (%L) to (%L)', to_char(month, '"event_"YYYY_MM'),
        month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC');
    end loop;
  end $$;
  insert into event (batch_id, index, program_id, type, subject_id, payload, created_at)
    select batch_id, index, program_id, type, subject_id, payload, created_at from told;
  drop table told;
  delete from schema_migration where name ~ '^0015_';`;
