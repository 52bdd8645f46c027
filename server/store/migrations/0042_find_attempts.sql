-- Needs: 0021
-- Transaction: none
-- Attempts are found by their id alone, by operators and by notices; and listed by how they ended, where few have.

create unique index concurrently processor_attempt_id on processor_attempt (attempt_id);

create index concurrently processor_attempt_without_money on processor_attempt (status, attempt_id)
  where status in ('declined', 'failed', 'reversed');
