-- Counters of limits that nobody can read or change any more are removed by a loop.

-- Finds them. On an expression, and not on day_start itself: next to the primary key that would be a second index for
-- the statements of transfers, and on a young table the planner could take the wrong one.
create index limit_counter_age on limit_counter (((day_start at time zone 'UTC')::date));

grant delete on limit_counter to transfer_service_background;
