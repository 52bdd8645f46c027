-- Needs: 0021
-- Transaction: none
-- Attempts are found by the processor's reference, for lines of settlement files that do not name the attempt; and breaks by the file
-- that caused them.

create index concurrently processor_attempt_reference on processor_attempt (connector_id, processor_reference)
  where processor_reference is not null;

create index concurrently processor_break_of_file on processor_break (settlement_file_id, break_id)
  where settlement_file_id is not null and closed_at is null;
