-- Needs: 0021
-- When the event of an open break was written. Null if it is still to be written, and for a closed break, which may reopen.
alter table processor_break add column announced_at timestamptz;
update processor_break set announced_at = created_at where closed_at is null;
create index processor_break_new on processor_break (break_id) where closed_at is null and announced_at is null;
