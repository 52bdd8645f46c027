-- Renames the error codes that are stored: those of refused idempotency keys, of failed transfers and their events, and
-- of the error log with its counts. A replay, a list or a look-up by code then finds old rows under the codes of the
-- catalogue. Each statement changes only rows that have an old code. The audit log is hashed and never changes. The drop
-- reason of unauthenticated errors is renamed too.

do $$
declare
  renamed constant jsonb := '{
    "card_dne": "card_not_found",
    "transfer_dne": "transfer_not_found",
    "reversal_dne": "reversal_not_found",
    "program_dne": "program_not_found",
    "key_dne": "key_not_found",
    "error_dne": "error_not_found",
    "route_dne": "route_not_found",
    "auth_err": "unauthenticated",
    "preactive_card": "card_not_activated",
    "inactive_card": "card_suspended",
    "lost_card": "card_lost",
    "closed_card": "card_closed",
    "expired_card": "card_expired",
    "card_fraud": "card_suspected_fraud",
    "small_amount": "amount_too_small",
    "large_amount": "amount_too_large"
  }';
  old_codes constant text[] := array(select jsonb_object_keys(renamed));
  failed_transfers text[];
  failed_since timestamptz;
begin
  -- Only refusals have a code, and `status = 409` is the condition of the partial index on them.
  update idempotency set code = renamed ->> code where status = 409 and code = any (old_codes);

  with failed as (
    update transfer set error = jsonb_set(error, '{Code}', renamed -> (error ->> 'Code'))
    where status = 'failed' and error ->> 'Code' = any (old_codes)
    returning 'tr_' || replace(transfer_id::text, '-', '') as subject_id, created_at
  )
  select array_agg(subject_id), min(created_at) into failed_transfers, failed_since from failed;

  -- A payload is stored as it was written, so it is changed as text. The pattern cannot match what a caller wrote: there
  -- every quote is escaped, and the values of metadata are strings. The error comes first in order of its fields as the
  -- record has them, or, in a later event, as jsonb sorts them.
  if failed_transfers is not null then
    update event
    set payload = regexp_replace(
      payload,
      '("error":\{(?:"Message":"(?:[^"\\]|\\.)*","Status":[0-9]+,)?"Code":")[a-z_]+"',
      '\1' || (renamed ->> (payload::json #>> '{error,Code}')) || '"'
    )
    where subject_id = any (failed_transfers) and created_at >= failed_since - interval '1 day'
      and type in ('transfer.failed', 'transfer.updated') and payload::json #>> '{error,Code}' = any (old_codes);
  end if;

  update error set code = renamed ->> code where code = any (old_codes);

  -- An hour may have both names, so the counts are added up.
  with old as (
    delete from error_count where code = any (old_codes) returning hour, program_id, renamed ->> code as code, count
  )
  insert into error_count (hour, program_id, code, count)
  select hour, program_id, code, sum(count) from old group by hour, program_id, code
  on conflict (hour, program_id, code) do update set count = error_count.count + excluded.count;
end $$;

alter table error_drop drop constraint error_drop_reason_check;
update error_drop set reason = 'unauthenticated' where reason = 'strangers';
-- A process of an older version that is still running writes the old reason.
alter table error_drop add constraint error_drop_reason_check
  check (reason in ('queue_full', 'spool_full', 'spool_torn', 'row_refused', 'unauthenticated', 'strangers'));
