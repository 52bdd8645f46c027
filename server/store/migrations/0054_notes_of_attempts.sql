-- Needs: 0021
-- Transaction: none
-- The notes of operators on attempts, by age: they are removed when they are old.

create index concurrently processor_attempt_noted on processor_attempt (updated_at)
  where resolved_by is not null and detail is not null;
