-- Needs: 0021
-- When the event of an open break was written. Null if it is still to be written, and for a closed break, which may reopen.
alter table processor_break add column announced_at timestamptz;
