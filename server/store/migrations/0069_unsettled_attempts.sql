-- Needs: 0021
-- Transaction: none
-- Approved orders that no settlement file has yet are found by the time of their approval, and settled ones by their file.

create index concurrently processor_attempt_unsettled on processor_attempt (program_id, connector_id, updated_at)
  where status = 'approved' and settlement_file_id is null;

create index concurrently processor_attempt_settled on processor_attempt (program_id, settlement_file_id)
  where settlement_file_id is not null;
