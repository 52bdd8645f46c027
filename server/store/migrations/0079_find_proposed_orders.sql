-- Needs: 0021
-- Transaction: none
-- Orders that a line of a settlement file could be about are found by their amount and the time of their approval, and orders that a
-- person has accepted by the time of that.

create index concurrently processor_attempt_proposed
  on processor_attempt (connector_id, currency, kind, amount, updated_at)
  where status = 'approved' and settlement_file_id is null;

create index concurrently processor_attempt_accepted on processor_attempt (program_id, accepted_at) where accepted_at is not null;
