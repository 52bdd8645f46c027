-- Transfers read the clock and the switch each time, with reading whole tables ruled out. Both tables have a row or a
-- few; without an index that suits the question PostgreSQL before 18 reads them anyway and counts that as a cost of 1e10,
-- and from 18 on as a plan it was told not to make.

create or replace function service_now() returns timestamptz language sql volatile as $$
  select clock_timestamp() + coalesce((select ahead from sandbox_clock where singleton), interval '0')
$$;

create index switch_disabled on switch (program_id) where disabled;
