-- Needs: 0021
-- What a processor has said against what was known of an attempt, when, and the break with which an operator settles that.
alter table processor_attempt
  add column contradicted_at timestamptz,
  add column contradiction text,
  add column contradiction_break_id uuid,
  add column contradiction_settled_at timestamptz;
