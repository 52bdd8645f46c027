-- Needs: 0021
-- Transaction: none
-- Approved orders that no settlement file has yet are found by the time of their approval.

create index concurrently processor_attempt_unsettled on processor_attempt (connector_id, updated_at)
  where status = 'approved' and settlement_file_id is null;
