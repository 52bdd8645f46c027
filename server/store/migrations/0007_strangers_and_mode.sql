-- Errors of strangers beyond what the log spends on them are counted like all that is not recorded.
alter table error_drop
  drop constraint error_drop_reason_check,
  add constraint error_drop_reason_check
    check (reason in ('queue_full', 'spool_full', 'spool_torn', 'row_refused', 'strangers'));

-- What the ledger is for, written by the first service that starts on it. What was played with in a sandbox, its clock and
-- the keys that anybody could make there, must not be found in a live ledger; and a sandbox must not open a live one.
create table ledger_mode (
  singleton boolean primary key default true check (singleton),
  mode text not null check (mode in ('sandbox', 'live'))
);
-- The demo program is in sandboxes only.
insert into ledger_mode (mode)
  select 'sandbox' from program where program_id = '01900000-0000-7000-8000-0000000000de';

-- Whether to migrate at all depends on it, so whoever may do that must see it.
grant select on ledger_mode to public;
grant insert, update on ledger_mode to transfer_service_background;
