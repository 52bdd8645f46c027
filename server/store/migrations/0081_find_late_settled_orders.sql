-- Needs: 0021
-- Transaction: none
-- Orders that were approved after their settlement file was compared are found by the time of their approval.

create index concurrently processor_attempt_settled_late on processor_attempt (program_id, updated_at)
  where status = 'approved' and settlement_file_id is not null;
