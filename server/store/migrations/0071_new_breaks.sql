-- Needs: 0021
-- Transaction: none
-- Breaks whose event is still to be written.
create index concurrently processor_break_new on processor_break (break_id) where closed_at is null and announced_at is null;
