-- Needs: 0021
-- Transaction: none
-- Orders that a processor has contradicted are found by the time of that.

create index concurrently processor_attempt_contradicted on processor_attempt (program_id, contradicted_at)
  where contradicted_at is not null;
