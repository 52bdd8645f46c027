-- The body of a response is stored once. Where it is the payload of an event of the same transaction, the row of the key
-- refers to that event by batch, index and time: the row's created_at is also the event's. Rows of earlier versions, and
-- those of operators, have a body of their own. There is no foreign key: a check per row would cost as much as the insert,
-- and a month of events can be dropped once it is old enough.
alter table idempotency
  add column batch_id uuid,
  add column event_index integer,
  add constraint idempotency_event check (
    (batch_id is null) = (event_index is null) and (batch_id is null or (body is null and subject_id is not null))
  );

-- The payload of one event; null where it is no longer stored. A function, so that a statement that finds no key, which
-- is nearly every one, neither opens nor locks the partitions. `at` leaves one of them to be read.
create function event_payload(of_batch uuid, of_index integer, at timestamptz) returns text
language plpgsql stable as $$
begin
  return (
    select payload from event where event.batch_id = of_batch and event.index = of_index and event.created_at = at
  );
end $$;

-- With the policy that is there already: the events of its own programs.
grant select on event to transfer_service_application;
