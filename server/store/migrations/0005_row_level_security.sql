-- Roles, and the second wall between card programs.
--
-- The first wall is that every statement names its program. The second stands in the database: whatever a statement
-- says, the role `application` sees and changes rows of those programs only that the transaction has named in the
-- setting service.programs. Who owns the tables only makes the schema; the service works under three roles that can do
-- no more than they need. Roles belong to the whole server, so they may be there already.

do $$
declare
  roles constant text[] := array[
    'transfer_service_application', 'transfer_service_background', 'transfer_service_authentication'
  ];
  missing constant text[] := array(select role from unnest(roles) as role where to_regrole(role) is null);
  wanted text;
begin
  foreach wanted in array roles loop
    if to_regrole(wanted) is null then
      begin
        execute format('create role %I nologin', wanted);
      exception
        -- Another database of this server got it at the same moment.
        when duplicate_object or unique_violation then null;
      end;
    end if;
    if not pg_has_role(current_user, wanted, 'usage') then
      execute format('grant %I to current_user', wanted);
    end if;
  end loop;
exception
  when insufficient_privilege then
    raise exception using
      errcode = 'insufficient_privilege',
      message = format('the user %s may not make the roles of the service, or give them to itself', current_user),
      hint = format('As a superuser: %sGRANT %s TO %I;',
        (select string_agg(format('CREATE ROLE %I; ', role), '' order by role) from unnest(missing) as role),
        array_to_string(roles, ', '), current_user);
end $$;

-- The programs that the transaction is about; none, when it has named none.
create function own_programs() returns uuid[] language sql stable as $$
  select coalesce(nullif(current_setting('service.programs', true), ''), '{}')::uuid[]
$$;

-- How the policy is written matters for speed. Within `coalesce` it is no condition that an index could serve: beside
-- the statement's own condition on the program it would make every index look as good as any other on a young table, and
-- the planner would take the wrong one. As a scalar subquery the setting is read once a statement, not once a row.
--
-- Forced, so that even the owner sees what a policy lets it see: that it is a member of `background` is why migrations
-- and people with psql see everything.
do $$
declare
  walled text;
begin
  foreach walled in array array[
    'program', 'account', 'card', 'transfer', 'funding_movement', 'posting', 'idempotency', 'event', 'switch',
    'api_key', 'error', 'error_count', 'hold', 'reversal', 'limit_counter', 'transfer_metadata', 'audit_entry'
  ] loop
    execute format('alter table %I enable row level security', walled);
    execute format('alter table %I force row level security', walled);
    execute format('create policy all_programs on %I to transfer_service_background using (true)', walled);
    if walled not in ('switch', 'api_key', 'error_count', 'audit_entry') then
      execute format(
        'create policy own_programs on %I to transfer_service_application
          using (coalesce(program_id = any ((select own_programs())::uuid[]), false))',
        walled
      );
    end if;
  end loop;
end $$;
-- What is disabled for everybody is disabled for a program.
create policy own_programs on switch for select to transfer_service_application
  using (program_id is null or coalesce(program_id = any ((select own_programs())::uuid[]), false));
-- What operators do within a program is recorded by its requests; nothing else is.
create policy own_programs on audit_entry for insert to transfer_service_application with check (
  coalesce(program_id = any ((select own_programs())::uuid[]), false) and action in (
    'create_transfer', 'capture_transfer', 'cancel_transfer', 'reverse_transfer', 'update_transfer', 'create_card',
    'update_card'
  )
);
-- Who is calling has to be found out before it is known for which program.
create policy find_caller on api_key for select to transfer_service_authentication using (true);
create policy find_program on program for select to transfer_service_authentication using (true);

-- Partitions are reached through their table, whose policies apply. By themselves nobody but `background` gets at
-- those that take what no month does.
grant select on
  program, account, card, transfer, posting, reversal, hold, limit_counter, transfer_metadata, idempotency, switch,
  error, write_batch, sandbox_clock
  to transfer_service_application;
grant insert on
  account, card, transfer, posting, reversal, hold, limit_counter, transfer_metadata, idempotency, event, write_batch,
  audit_entry
  to transfer_service_application;
grant update on account, card, transfer, limit_counter to transfer_service_application;
grant delete on hold, transfer_metadata to transfer_service_application;

grant select on
  program, account, card, transfer, posting, reversal, hold, limit_counter, transfer_metadata, idempotency, switch,
  funding_movement, event, api_key, error, error_default, error_count, error_drop, write_batch, sandbox_clock,
  audit_entry, audit_head
  to transfer_service_background;
grant insert on
  program, account, card, transfer, posting, funding_movement, idempotency, event, switch, api_key, error, error_count,
  error_drop, write_batch, sandbox_clock, audit_entry
  to transfer_service_background;
grant update on program, account, switch, api_key, idempotency, error_count, error_drop, sandbox_clock
  to transfer_service_background;
grant delete on idempotency, error_default, error_count, error_drop to transfer_service_background;

grant select on api_key, sandbox_clock to transfer_service_authentication;
grant select (program_id) on program to transfer_service_authentication;

do $$
begin
  execute format('grant usage on schema %I to transfer_service_application, transfer_service_background,
    transfer_service_authentication', current_schema());
end $$;

-- Names and checksums, so that any user of the service can tell whether the schema is the one it knows.
grant select on schema_migration to public;

-- What runs with the rights of the owner must not be led astray by tables that a caller made for itself.
do $$
begin
  execute format('alter function chain_audit_entry() set search_path = %I, pg_temp', current_schema());
end $$;

-- Partitions are made and dropped with the rights of the owner, by whoever keeps the tables in order.
create function make_month_partition(of_table text, month date) returns void
language plpgsql security definer as $$
declare
  name text := of_table || to_char(month, '_YYYY_MM');
  first_day date := date_trunc('month', month);
begin
  if of_table not in ('event', 'error') then
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

-- Drops the months of the error log that have ended before a moment, and gives their names.
create function drop_error_partitions(before timestamptz) returns setof text
-- Whoever looks an error up waits behind us while we wait for the lock: rather try again next time.
language plpgsql security definer set lock_timeout = '500ms' as $$
declare
  name text;
begin
  for name in
    select relname from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'error'::regclass and relname ~ '^error_[0-9]{4}_[0-9]{2}$'
    order by relname
  loop
    -- However `before` came about, what was logged since yesterday stays.
    if (to_date(substr(name, 7), 'YYYY_MM') + interval '1 month') at time zone 'UTC'
        <= least(before, clock_timestamp() - interval '1 day') then
      execute format('drop table %I', name);
      return next name;
    end if;
  end loop;
end $$;

do $$
begin
  execute format('alter function make_month_partition(text, date) set search_path = %I, pg_temp', current_schema());
  execute format('alter function drop_error_partitions(timestamptz) set search_path = %I, pg_temp', current_schema());
end $$;
revoke all on function make_month_partition(text, date), drop_error_partitions(timestamptz) from public;
grant execute on function make_month_partition(text, date), drop_error_partitions(timestamptz)
  to transfer_service_background;
